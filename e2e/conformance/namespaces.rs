//! A namespace that is deleted, with the controllers that finish it: what goes, in which order, and what stays until it is
//! let go.

use gangline::core::base::ids::{Key, Uid};
use gangline::shim::observation::{Outcome, Seen};
use gangline::shim::op::{Kind, Op};
use gangline::sim::{kubelet, namespace};
use http::Method;
use k8s_openapi::api::core::v1::Namespace;
use serde_json::{Value, json};

use super::model::{Model, NOW, body};
use super::place::Place;
use super::play_one;
use super::server::{Asked, Server, ask, collection};
use super::steps::{Deed, Form, Step, Whose, object};
use super::view::{Lives, whole};
use crate::breakage::until;
use crate::harness::Context;
use crate::support::error::{Error, Result};

/// What is in it, and whether somebody holds it.
const OBJECTS: [(Kind, &str, bool); 6] = [
    (Kind::Pod, "waits", false),
    (Kind::Pod, "bound", false),
    (Kind::Pod, "held", true),
    (Kind::TaskGroup, "free", false),
    (Kind::TaskGroup, "held", true),
    (Kind::ResourceQuota, "quota", false),
];

/// The namespace, on both sides.
struct Play<'a> {
    t: &'a Context,
    name: String,
    model: Model,
    server: Server,
}

/// What is left is the same at each stage.
pub(super) async fn emptied(t: &mut Context) -> Result<()> {
    let name = t.namespace.clone();
    let place = Place { namespaces: [name.clone(), name.clone()], prefix: t.id.clone() };
    let model = Model::new(&place);
    let server = Server { client: t.client.clone(), place, lives: Lives::default() };
    let mut play = Play { t, name, model, server };
    play.fill().await?;
    play.t.everywhere::<Namespace>().delete(&play.name).await?;
    play.model.api.namespaces.delete(&play.name);
    play.agree("pods are deleted, and who has no node is said to have failed").await?;
    play.refuses(403).await?;
    play.end("bound").await?;
    play.agree("one pod is held").await?;
    play.let_go(Kind::Pod).await?;
    play.agree("what is no pod is deleted").await?;
    play.let_go(Kind::TaskGroup).await?;
    play.ends().await?;
    play.refuses(404).await
}

impl Play<'_> {
    fn key(&self, name: &str) -> Key {
        Key::new(self.name.as_str(), name)
    }

    async fn fill(&mut self) -> Result<()> {
        for (kind, name, held) in OBJECTS {
            let key = self.key(name);
            let object = made(kind, &key, held);
            let asked = Asked {
                method: Method::POST,
                path: collection(kind, &self.name),
                content: "application/json",
                body: object.clone(),
            };
            fine(&ask(&self.server.client, &asked).await?)?;
            self.model.api.create(&key, body(kind, &object), NOW).map(drop).or_else(|refusal| fine(&refusal))?;
        }
        let bound = self.key("bound");
        let uid = self.model.get(Kind::Pod, &bound).map_or_else(|| Uid::new(""), |seen| seen.uid);
        let bind = Op::Bind { pod: bound, uid, node: "nowhere".into(), annotations: [].into() };
        fine(&self.model.api.call(&bind, NOW))?;
        self.t.bind("bound", "nowhere").await
    }

    /// The controllers have done what they do by themselves: that of namespaces, and that of pods without a node.
    async fn agree(&mut self, what: &str) -> Result<()> {
        let held = self.key("held");
        namespace::collect(&mut self.model.api, &self.name, NOW);
        kubelet::act(&mut self.model.api, &held, NOW);
        let here = left(OBJECTS.iter().map(|(kind, name, _)| self.model.get(*kind, &self.key(name))));
        let mut there = Value::Null;
        let result = until(what, async || {
            let mut all = Vec::new();
            for (kind, name, _) in OBJECTS {
                all.push(self.server.get(kind, &self.key(name)).await?);
            }
            there = left(all.into_iter());
            Ok(here == there)
        });
        result.await.map_err(|error| Error::new(format!("{error}\nthe model: {here}\nthe server: {there}")))
    }

    /// Nothing new comes into it. The server's admission hears of that by a watch of its own.
    async fn refuses(&mut self, expected: u16) -> Result<()> {
        let path = format!("{}?dryRun=All", collection(Kind::ResourceQuota, &self.name));
        let body = made(Kind::ResourceQuota, &self.key("p"), false);
        let asked = Asked { method: Method::POST, path, content: "application/json", body };
        until(&format!("{expected}"), async || {
            let said = ask(&self.t.client, &asked).await?;
            Ok(matches!(said, Outcome::Refused { code, .. } if code == expected))
        })
        .await?;
        let create = Deed::Create(Form::PLAIN);
        let steps = [
            (Kind::Pod, create),
            (Kind::TaskGroup, create),
            (Kind::ResourceQuota, create),
            (Kind::Pod, Deed::Event { nowhere: false }),
            (Kind::Pod, Deed::Bind(Whose::Own)),
        ];
        for (kind, deed) in steps {
            play_one(&mut self.server, &mut self.model, Step { kind, second: false, deed }, false).await?;
        }
        Ok(())
    }

    /// The node of a pod ends it.
    async fn end(&mut self, name: &str) -> Result<()> {
        let key = self.key(name);
        self.model.api.end_pod(&key, NOW).map(drop).or_else(|refusal| fine(&refusal))?;
        self.server.force(Kind::Pod, &key, Deed::End).await
    }

    async fn let_go(&mut self, kind: Kind) -> Result<()> {
        let key = self.key("held");
        self.model.api.let_go(kind, &key).map(drop).or_else(|refusal| fine(&refusal))?;
        self.server.force(kind, &key, Deed::LetGo).await
    }

    async fn ends(&mut self) -> Result<()> {
        namespace::collect(&mut self.model.api, &self.name, NOW);
        self.t.everywhere::<Namespace>().wait_gone(&self.name).await
    }
}

/// An object, without the placeholders that the scheduler would make for it, and without a long grace.
fn made(kind: Kind, key: &Key, held: bool) -> Value {
    let mut object = object(kind, key, Form::PLAIN);
    if held {
        object["metadata"]["finalizers"] = json!(["e2e.gangline.dev/keep"]);
    }
    match kind {
        Kind::Pod => object["spec"]["terminationGracePeriodSeconds"] = json!(1),
        Kind::TaskGroup => object["spec"]["reservation"] = json!("Direct"),
        Kind::Node
        | Kind::Queue
        | Kind::ResourceQuota
        | Kind::Namespace
        | Kind::KoordinatorPodGroup
        | Kind::CoschedulingPodGroup
        | Kind::VolcanoPodGroup
        | Kind::KubernetesPodGroup => {}
    }
    object
}

/// What is left, as far as the scheduler does not write it.
fn left(all: impl Iterator<Item = Option<Seen>>) -> Value {
    let mut lives = Lives::default();
    let mut view = |seen: Seen| {
        let whole = whole(&seen, &mut lives);
        let is = &whole["is"];
        json!([whole["name"], is["leaves"], is["generation"], whole["finalizers"], whole["grace"], is["pod"]])
    };
    all.flatten().map(&mut view).collect()
}

fn fine(outcome: &Outcome) -> Result<()> {
    match outcome {
        Outcome::Ok(_) | Outcome::Removed => Ok(()),
        Outcome::Refused { .. } | Outcome::Pruned | Outcome::Unknown | Outcome::NotSent => {
            Err(Error::new(format!("{outcome:?}")))
        }
    }
}
