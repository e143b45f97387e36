//! Cases that chance does not bring: a namespace that goes, names that the server makes, a quota that is used up, a node that
//! is not there; what watches are told of the past and of the future, and a store that does not answer, are beside it.

use std::time::Duration;

use gangline::core::base::ids::{Key, Uid};
use gangline::shim::dialect::koordinator::TIMEOUT;
use gangline::shim::observation::{Body, Outcome};
use gangline::shim::op::{Kind, Op};
use gangline::shim::wire;
use gangline::sim::admission::Verdict;
use gangline::sim::api::Api;
use gangline::sim::store::Store;
use http::Method;
use k8s_openapi::api::core::v1::{Namespace, Pod, ResourceQuota};
use serde_json::{Value, json};

use super::model::{Model, NOW};
use super::place::Place;
use super::server::{Asked, Server, ask, collection, exchange, send};
use super::steps::{Deed, Form, Step, Whose, object};
use super::view::{Lives, answer};
use super::{history, play_one, slow};
use crate::breakage::until;
use crate::harness::Context;
use crate::support::error::{During, Error, Result};
use crate::support::objects::Objects;

/// No case takes so long: most take milliseconds.
const LONG: Duration = Duration::from_secs(30);
/// What generated names are made of.
const LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";

/// All of them, each in a place of its own.
pub(super) async fn cases(t: &mut Context) -> Result<()> {
    let [namespace, names, quota, past, future, binding, slow] =
        super::fixtures::install(t, 7).await?.try_into().map_err(|_| Error::new("seven places"))?;
    in_time("a namespace goes", a_namespace_goes(t, namespace)).await?;
    in_time("names", the_server_makes_names(t, &names)).await?;
    in_time("a quota", a_quota_is_used_up(t, &quota)).await?;
    in_time("a Binding", a_node_need_not_exist(t, &binding)).await?;
    in_time("an annotation", an_annotation_is_merged(t, &binding)).await?;
    in_time("a slow store", slow::a_write_takes_too_long(t, slow)).await?;
    in_time("the future", history::has_not_happened(t, &future)).await?;
    in_time("the past", history::is_forgotten(t, &past)).await
}

async fn in_time(name: &str, case: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::time::timeout(LONG, case).await.during(name)?.during(name)
}

/// Nobody finishes the deletion of a namespace here: it terminates, refuses what is new, and what is in it lives on.
async fn a_namespace_goes(t: &Context, place: Place) -> Result<()> {
    let mut model = Model::new(&place);
    let goes = place.namespaces[0].clone();
    let mut server = Server { client: t.client.clone(), place, lives: Lives::default() };
    let step = |kind, deed| Step { kind, second: false, deed };
    for kind in [Kind::Pod, Kind::TaskGroup] {
        play_one(&mut server, &mut model, step(kind, Deed::Create(Form::PLAIN)), false).await?;
    }
    t.everywhere::<Namespace>().delete(&goes).await?;
    model.api.namespaces.delete(&goes);
    wait_until_it_refuses(t, &goes).await?;
    let steps = [
        step(Kind::Pod, Deed::Create(Form::PLAIN)),
        step(Kind::ResourceQuota, Deed::Create(Form::PLAIN)),
        step(Kind::Pod, Deed::Event { nowhere: false }),
        step(Kind::Pod, Deed::Bind(Whose::Own)),
        step(Kind::Pod, Deed::Condition(Whose::Own, true)),
        step(Kind::Pod, Deed::Fail { whose: Whose::Own, is_latest: true }),
        step(Kind::TaskGroup, Deed::Status(Whose::Own, 1)),
        step(Kind::Pod, Deed::Delete(Whose::Own)),
        step(Kind::Pod, Deed::End),
        step(Kind::TaskGroup, Deed::Drop),
        step(Kind::TaskGroup, Deed::Create(Form::PLAIN)),
    ];
    for step in steps {
        play_one(&mut server, &mut model, step, false).await?;
    }
    Ok(())
}

/// The server's admission hears of a deletion by a watch of its own.
async fn wait_until_it_refuses(t: &Context, namespace: &str) -> Result<()> {
    let path = format!("{}?dryRun=All", collection(Kind::ResourceQuota, namespace));
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {}});
    until(&format!("{namespace} takes no objects any more"), async || {
        let body = quota.to_string().into_bytes();
        let (code, said) = exchange(&t.client, Method::POST, &path, "application/json", body).await?;
        let said: Value = serde_json::from_slice(&said).during(&path)?;
        Ok((code, said["details"]["causes"][0]["reason"].as_str()) == (403, Some("NamespaceTerminating")))
    })
    .await
}

async fn the_server_makes_names(t: &Context, place: &Place) -> Result<()> {
    let mut api = Api::default();
    // Its random letters are never an `a`: of a prefix that is cut it can be told where it ends.
    for prefix in ["made-", &"a".repeat(80), ""] {
        let namespace = place.namespaces[0].as_str();
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace},
            "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "i"}]}});
        pod["metadata"]["generateName"] = json!(prefix);
        let path = collection(Kind::Pod, namespace);
        let body = pod.to_string().into_bytes();
        let (code, said) = exchange(&t.client, Method::POST, &path, "application/json", body).await?;
        let said: Value = serde_json::from_slice(&said).during(&path)?;
        let there = if code == 201 { shape(prefix, said["metadata"]["name"].as_str()) } else { json!(code) };
        let pod: Pod = serde_json::from_value(pod).during("a pod")?;
        let here = match api.create(&Key::new(namespace, ""), Body::Pod(pod.into()), NOW) {
            Ok(seen) => shape(prefix, seen.as_ref().map(|seen| &*seen.key.name)),
            Err(Outcome::Refused { code, .. }) => json!(code),
            Err(Outcome::Ok(_) | Outcome::Removed | Outcome::Pruned | Outcome::Unknown | Outcome::NotSent) => {
                Value::Null
            }
        };
        same(&here, &there)?;
    }
    Ok(())
}

/// How much of the prefix is in a name, and whether the rest is made of the right letters.
fn shape(prefix: &str, name: Option<&str>) -> Value {
    let name = name.unwrap_or_default();
    let own = name.chars().zip(prefix.chars()).take_while(|(one, other)| one == other).count();
    json!([own, name.len(), name[own..].chars().all(|letter| LETTERS.contains(letter))])
}

/// The status is the quota controller's; here it is written by hand. Admission counts on from it.
async fn a_quota_is_used_up(t: &Context, place: &Place) -> Result<()> {
    let namespace = place.namespaces[0].as_str();
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods"}, "spec": {"hard": {"pods": "1"}}});
    let path = collection(Kind::ResourceQuota, namespace);
    let asked = |method, path, content, body| Asked { method, path, content, body };
    ask(&t.client, &asked(Method::POST, path.clone(), "application/json", quota)).await?;
    let status = |status| {
        let path = format!("{path}/pods/status");
        asked(Method::PATCH, path, "application/merge-patch+json", json!({"status": status}))
    };
    ask(&t.client, &status(json!({"hard": {"pods": "1"}}))).await?;
    // Until admission has heard of the quota it counts nothing; it refuses everything while nobody says what is used.
    until_unknown(t, namespace).await?;
    ask(&t.client, &status(json!({"used": {"pods": "0"}}))).await?;
    let mut api = Api::default();
    api.admission = Some(one_pod);
    let (mut here, mut there) = (Lives::default(), Lives::default());
    for name in ["first", "second"] {
        let op = Op::CreatePod(Box::new(plain_pod(namespace, name)));
        let mut told = send(&t.client, &op).await?;
        // Until the server's own watch has the status, it does not know what is used.
        until("the server knows what is used", async || {
            let unknown = matches!(&told, Outcome::Refused { message, .. } if message.contains("status unknown"));
            if unknown {
                told = send(&t.client, &op).await?;
            }
            Ok(!unknown)
        })
        .await?;
        let said = answer(&api.call(&op, NOW), Kind::Pod, &mut here);
        same(&said, &answer(&told, Kind::Pod, &mut there))?;
    }
    let used = Objects::<ResourceQuota>::of(&t.client, namespace).get("pods").await?.and_then(|quota| quota.status);
    let used = used.and_then(|status| status.used).and_then(|used| used.get("pods").cloned());
    if used.as_ref().map(|used| used.0.as_str()) == Some("1") {
        Ok(())
    } else {
        Err(Error::new(format!("{used:?} used")))
    }
}

async fn until_unknown(t: &Context, namespace: &str) -> Result<()> {
    let path = format!("{}?dryRun=All", collection(Kind::Pod, namespace));
    let pod = object(Kind::Pod, &Key::new(namespace, "try"), Form::PLAIN).to_string().into_bytes();
    until("the server counts by the quota", async || {
        Ok(exchange(&t.client, Method::POST, &path, "application/json", pod.clone()).await?.0 == 403)
    })
    .await
}

/// A pod of nobody.
pub(super) fn plain_pod(namespace: &str, name: &str) -> Pod {
    let plain = object(Kind::Pod, &Key::new(namespace, name), Form::PLAIN);
    serde_json::from_value(plain).expect("a pod")
}

/// A quota of one pod.
fn one_pod(store: &Store, _: &Pod) -> Verdict {
    match store.of_kind(Kind::Pod).count() {
        0 => Verdict::Allow,
        _ => Verdict::Deny { code: 403, reason: "Forbidden" },
    }
}

/// 201, and what is about it is on the pod.
async fn a_node_need_not_exist(t: &Context, place: &Place) -> Result<()> {
    let namespace = place.namespaces[0].as_str();
    let made = send(&t.client, &Op::CreatePod(Box::new(plain_pod(namespace, "p")))).await?;
    let Outcome::Ok(Some(seen)) = made else { return Err(Error::new(format!("{made:?}"))) };
    let annotations = [("gangline.dev/binding".to_owned(), "queue=root.q".to_owned())].into();
    let bind = Op::Bind { pod: seen.key.clone(), uid: seen.uid.clone(), node: "no-such-node".into(), annotations };
    let request = wire::request(&bind, wire::TRIES_SECONDS).map(kube::client::Body::from);
    let code = t.client.send(request).await.during("binding")?.status().as_u16();
    let left = Objects::<Pod>::of(&t.client, namespace).get("p").await?;
    let node = left.as_ref().and_then(|pod| pod.spec.as_ref()).and_then(|spec| spec.node_name.clone());
    let marked =
        left.and_then(|pod| pod.metadata.annotations).is_some_and(|all| all.contains_key("gangline.dev/binding"));
    same(&json!([201, "no-such-node", true]), &json!([code, node, marked]))
}

/// Another UID is a 422; what is to be taken away need not be there.
async fn an_annotation_is_merged(t: &Context, place: &Place) -> Result<()> {
    let namespace = place.namespaces[0].as_str();
    let mut api = Api::default();
    let create = Op::CreatePod(Box::new(plain_pod(namespace, "q")));
    let (here, there) = (api.call(&create, NOW), send(&t.client, &create).await?);
    let (Outcome::Ok(Some(here)), Outcome::Ok(Some(there))) = (here, there) else {
        return Err(Error::new("a pod is made"));
    };
    for (is_other, timed_out) in [(true, true), (false, true), (false, false), (false, false)] {
        let call = |uid: &Uid| {
            let uid = if is_other { Uid::new("other") } else { uid.clone() };
            Op::AnnotateTimeout { pod: there.key.clone(), uid, timed_out }
        };
        let said = api.call(&call(&here.uid), NOW);
        let told = send(&t.client, &call(&there.uid)).await?;
        let code = |outcome: &Outcome| if let Outcome::Refused { code, .. } = outcome { *code } else { 200 };
        let left = Objects::<Pod>::of(&t.client, namespace).get("q").await?;
        let says = left.and_then(|pod| pod.metadata.annotations).is_some_and(|all| all.contains_key(TIMEOUT));
        same(&json!([code(&said), !is_other && timed_out]), &json!([code(&told), says]))?;
    }
    Ok(())
}

/// The model and the server say the same.
pub(super) fn same(here: &Value, there: &Value) -> Result<()> {
    if here == there { Ok(()) } else { Err(Error::new(format!("the model: {here}\nthe server: {there}"))) }
}
