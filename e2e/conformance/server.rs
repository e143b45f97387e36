//! The real API server's side of a sequence: what ships makes the requests and reads the answers.

use gangline::api::names::{GROUP, VERSION};
use gangline::core::base::ids::Key;
use gangline::shim::dialect::pod_group::System;
use gangline::shim::observation::{Outcome, Seen};
use gangline::shim::op::{Kind, Op};
use gangline::shim::wire;
use gangline::sim::store::seen;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::model::{self, Model};
use super::place::{PLAYED, Place};
use super::steps::{Deed, Step, object, op, patch, phase};
use super::view::Lives;
use crate::support::error::{During, Error, Result};

/// The server, and what was seen in it.
pub(super) struct Server {
    pub(super) client: Client,
    pub(super) place: Place,
    pub(super) lives: Lives,
}

/// How somebody else than the scheduler asks.
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) content: &'static str,
    pub(super) body: Value,
}

impl Server {
    /// Carries out a step.
    pub(super) async fn ask(&self, key: &Key, step: Step) -> Result<Outcome> {
        match op(key, &self.lives, step) {
            Some(op) => send(&self.client, &op).await,
            None => ask(&self.client, &others(key, step)).await,
        }
    }

    /// An object as it is now, with all that it has.
    pub(super) async fn get(&self, kind: Kind, key: &Key) -> Result<Option<Seen>> {
        let path = path(kind, key);
        let (code, json) = exchange(&self.client, Method::GET, &path, "application/json", Vec::new()).await?;
        match code {
            200 => Ok(Some(seen(key, &model::typed(kind, &json).during(path)?))),
            404 => Ok(None),
            code => Err(Error::new(format!("GET {path}: {code}"))),
        }
    }

    /// Makes an object that is not there.
    pub(super) async fn make(&self, key: &Key, step: Step) -> Result<()> {
        match self.ask(key, step).await? {
            Outcome::Ok(_) => Ok(()),
            other @ (Outcome::Removed
            | Outcome::Refused { .. }
            | Outcome::Pruned
            | Outcome::Unknown
            | Outcome::NotSent) => Err(Error::new(format!("making {key}: {other:?}"))),
        }
    }

    /// Takes everything away that a sequence left: what the model has, the server has.
    pub(super) async fn clean_up(&self, model: &Model) -> Result<()> {
        for kind in PLAYED {
            for (key, _) in model.api.store.of_kind(kind) {
                self.remove(kind, key).await?;
            }
        }
        for namespace in &self.place.namespaces {
            let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
            exchange(&self.client, Method::DELETE, &path, "application/json", Vec::new()).await?;
        }
        Ok(())
    }

    /// Takes an object away, whatever holds it.
    pub(super) async fn remove(&self, kind: Kind, key: &Key) -> Result<()> {
        self.force(kind, key, Deed::LetGo).await?;
        self.force(kind, key, Deed::End).await
    }

    /// What somebody does, whatever the answer: it may be gone.
    pub(super) async fn force(&self, kind: Kind, key: &Key, deed: Deed) -> Result<()> {
        ask(&self.client, &others(key, Step { kind, second: false, deed })).await.map(drop)
    }
}

/// The path of objects of a kind in a namespace, or everywhere.
pub(super) fn collection(kind: Kind, namespace: &str) -> String {
    let root = match kind {
        Kind::Pod | Kind::Node | Kind::ResourceQuota | Kind::Namespace => "/api/v1".to_owned(),
        Kind::TaskGroup | Kind::Queue => format!("/apis/{GROUP}/{VERSION}"),
        Kind::KoordinatorPodGroup => format!("/apis/{}", System::Koordinator.api_version()),
        Kind::CoschedulingPodGroup => format!("/apis/{}", System::Coscheduling.api_version()),
        Kind::VolcanoPodGroup => format!("/apis/{}", System::Volcano.api_version()),
        Kind::KubernetesPodGroup => format!("/apis/{}", System::Kubernetes.api_version()),
    };
    let inside = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
    let plural = kind.plural().split('.').next().unwrap_or_default();
    format!("{root}{inside}/{plural}")
}

fn path(kind: Kind, key: &Key) -> String {
    format!("{}/{}", collection(kind, &key.namespace), key.name)
}

/// What others do.
fn others(key: &Key, step: Step) -> Asked {
    let at = path(step.kind, key);
    let (json, merge) = ("application/json", "application/merge-patch+json");
    let asked = |method, path, content, body| Asked { method, path, content, body };
    match step.deed {
        Deed::Create(form) => {
            let body = object(step.kind, key, form);
            asked(Method::POST, collection(step.kind, &key.namespace), json, body)
        }
        Deed::Drop => asked(Method::DELETE, at, json, json!({})),
        Deed::End => asked(Method::DELETE, at, json, json!({"gracePeriodSeconds": 0})),
        Deed::Finish(well) => {
            asked(Method::PATCH, format!("{at}/status"), merge, json!({"status": {"phase": phase(well)}}))
        }
        Deed::Edit(_) | Deed::Label(_) | Deed::LetGo | Deed::Ungate => {
            asked(Method::PATCH, at, merge, patch(step).expect("an edit is a patch"))
        }
        Deed::Resize(_) => {
            let patch = patch(step).expect("a resize is a patch");
            asked(Method::PATCH, format!("{at}/resize"), "application/strategic-merge-patch+json", patch)
        }
        Deed::Bind(_)
        | Deed::Delete(_)
        | Deed::Get
        | Deed::Condition(..)
        | Deed::Fail { .. }
        | Deed::Status(..)
        | Deed::Event { .. } => unreachable!("an op"),
    }
}

/// Sends what somebody asks.
pub(super) async fn ask(client: &Client, asked: &Asked) -> Result<Outcome> {
    let Asked { method, path, content, body } = asked;
    let (code, json) = exchange(client, method.clone(), path, content, body.to_string().into_bytes()).await?;
    Ok(if code < 300 { Outcome::Ok(None) } else { refused(code, &json) })
}

fn refused(code: u16, json: &[u8]) -> Outcome {
    let status: Value = serde_json::from_slice(json).unwrap_or_default();
    let text = |field: &str| status[field].as_str().unwrap_or_default().into();
    Outcome::Refused { code, reason: text("reason"), message: text("message"), retry_after: None }
}

/// Status code and body of a request.
pub(super) async fn exchange(
    client: &Client,
    method: Method,
    path: &str,
    content: &str,
    body: Vec<u8>,
) -> Result<(u16, Vec<u8>)> {
    let step = format!("{method} {path}");
    let request = Request::builder().method(method).uri(path).header("Content-Type", content);
    let answer = client.send(request.body(Body::from(body)).during(&step)?).await.during(&step)?;
    let code = answer.status().as_u16();
    Ok((code, answer.into_body().collect().await.during(&step)?.to_bytes().to_vec()))
}

/// Sends a request of the scheduler as its executor does.
pub(super) async fn send(client: &Client, op: &Op) -> Result<Outcome> {
    answered(client, op, wire::request(op, wire::TRIES_SECONDS)).await
}

/// Sends a request for an operation of the scheduler, and reads the answer as it does.
pub(super) async fn answered(client: &Client, op: &Op, request: Request<Vec<u8>>) -> Result<Outcome> {
    let step = format!("{:?}", op.rule());
    let (head, body) = client.send(request.map(Body::from)).await.during(&step)?.into_parts();
    let body = body.collect().await.during(&step)?.to_bytes();
    Ok(wire::response(op, head.status.as_u16(), &head.headers, &body))
}
