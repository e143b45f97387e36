//! A ResourceQuota on CPU, with the controller that counts what is used: who is refused, and whose share is free again.

use gangline::core::base::ids::Key;
use gangline::shim::observation::Outcome;
use gangline::shim::op::Kind;
use gangline::shim::quantity::Quantity;
use gangline::sim::api::Api;
use gangline::sim::{kubelet, quota};
use http::Method;
use k8s_openapi::api::core::v1::ResourceQuota;
use serde_json::{Value, json};

use super::model::{NOW, body};
use super::server::{Asked, ask, collection};
use super::steps::{Form, object};
use super::view::{Lives, answer};
use crate::breakage::until;
use crate::harness::Context;
use crate::support::error::{Error, Result};
use crate::support::objects::Objects;

/// Somebody holds it, and it never has a node: deleted, it only waits to be let go.
const HELD: &str = "held";

/// A namespace with quotas, on both sides.
struct Play<'a> {
    t: &'a Context,
    api: Api,
}

/// The same pods are refused; in between the controller counts as the model does.
pub(super) async fn counted(t: &mut Context) -> Result<()> {
    let mut api = Api::default();
    api.admission = Some(quota::admit);
    let mut play = Play { t, api };
    play.set_quota("wide", "3").await?;
    play.set_quota("narrow", "1").await?;
    play.codes(&[("a", "600m"), ("b", "401m"), ("b", "400m"), (HELD, "1m")], &[200, 403, 200, 403]).await?;
    play.end("a", "Succeeded").await?;
    play.codes(&[(HELD, "601m"), (HELD, "600m")], &[403, 200]).await?;
    play.end("b", "Failed").await?;
    play.set_quota("narrow", "100m").await?;
    play.codes(&[("c", "1m"), ("c", "0"), ("d", "")], &[403, 200, 403]).await?;
    play.delete(HELD).await?;
    play.codes(&[("d", "101m"), ("d", "100m"), ("e", "1m")], &[403, 200, 403]).await?;
    play.drop_quota("narrow").await?;
    play.codes(&[("e", "2901m"), ("e", "2900m")], &[403, 200]).await?;
    // Its node has not ended it yet; that another one has ended makes the controller count anew.
    play.bind("e").await?;
    play.delete("e").await?;
    play.end("d", "Succeeded").await?;
    play.codes(&[("f", "101m"), ("f", "100m")], &[403, 200]).await?;
    play.t.pods().patch(HELD, json!({"metadata": {"finalizers": null}})).await.map(drop)
}

impl Play<'_> {
    fn key(&self, name: &str) -> Key {
        Key::new(self.t.namespace.as_str(), name)
    }

    fn quotas(&self) -> Objects<ResourceQuota> {
        self.t.objects()
    }

    /// Pods come that ask for so much, or say nothing of it: what both sides say, and that it is that.
    async fn codes(&mut self, pods: &[(&str, &str)], expected: &[u16]) -> Result<()> {
        for ((name, cpu), expected) in pods.iter().zip(expected) {
            self.is_counted().await?;
            let pod = pod(&self.key(name), cpu);
            let said = self.api.create(&self.key(name), body(Kind::Pod, &pod), NOW);
            let said = view(&said.map_or_else(|refusal| refusal, |_| Outcome::Ok(None)));
            self.server_says(name, &pod, &said).await?;
            if code(&said) != Some(u64::from(*expected)) {
                return Err(Error::new(format!("{name} with {cpu:?}: {said}, not {expected}")));
            }
        }
        Ok(())
    }

    /// Admission hears of what is counted by a watch of its own.
    async fn server_says(&self, name: &str, pod: &Value, said: &Value) -> Result<()> {
        let asked = |query: &str| {
            let path = format!("{}{query}", collection(Kind::Pod, &self.t.namespace));
            Asked { method: Method::POST, path, content: "application/json", body: pod.clone() }
        };
        let what = format!("the server says {said} of {name} as the model does");
        until(&what, async || Ok(view(&ask(&self.t.client, &asked("?dryRun=All")).await?) == *said)).await?;
        let told = view(&ask(&self.t.client, &asked("")).await?);
        if told == *said { Ok(()) } else { Err(Error::new(format!("the model: {said}\nthe server: {told}"))) }
    }

    /// The controller has counted what there is, and it is what the model counts.
    async fn is_counted(&self) -> Result<()> {
        let used = quota::used_milli(&self.api.store, &self.t.namespace);
        let what = format!("{used}m are used");
        self.quotas().wait_all("", &what, |all| all.iter().all(|quota| says(quota, used))).await.map(drop)
    }

    async fn set_quota(&mut self, name: &str, cpu: &str) -> Result<()> {
        let spec = json!({"hard": {"requests.cpu": cpu}});
        if self.api.store.get(Kind::ResourceQuota, &self.key(name)).is_some() {
            self.quotas().patch(name, json!({"spec": spec})).await?;
        } else {
            self.quotas().create(json!({"metadata": {"name": name}, "spec": spec})).await?;
        }
        let quota = json!({"metadata": {"name": name}, "spec": spec});
        self.api.store.put(&self.key(name), body(Kind::ResourceQuota, &quota));
        Ok(())
    }

    async fn drop_quota(&mut self, name: &str) -> Result<()> {
        self.api.store.remove(Kind::ResourceQuota, &self.key(name));
        self.quotas().delete(name).await
    }

    async fn end(&mut self, name: &str, phase: &str) -> Result<()> {
        let key = self.key(name);
        kubelet::set_phase(&mut self.api, &key, phase);
        self.t.pods().patch_status(name, json!({"phase": phase})).await.map(drop)
    }

    async fn bind(&mut self, name: &str) -> Result<()> {
        let key = self.key(name);
        let bound = self.api.change_pod(&key, |pod| {
            pod.spec.get_or_insert_default().node_name = Some("nowhere".to_owned());
            Ok(())
        });
        drop(bound);
        self.t.bind(name, "nowhere").await
    }

    async fn delete(&mut self, name: &str) -> Result<()> {
        let key = self.key(name);
        drop(self.api.delete_pod(&key, None, NOW));
        self.t.pods().delete(name).await
    }
}

/// Whether a quota is in force as it is, and says that so much is used.
fn says(quota: &ResourceQuota, milli: i64) -> bool {
    let (spec, status) = (quota.spec.as_ref(), quota.status.as_ref());
    let used = status.and_then(|status| status.used.as_ref()?.get("requests.cpu")?.0.parse::<Quantity>().ok());
    let is_in_force = spec.and_then(|spec| spec.hard.as_ref()) == status.and_then(|status| status.hard.as_ref());
    is_in_force && used.map(Quantity::milli_value) == Some(milli)
}

fn pod(key: &Key, cpu: &str) -> Value {
    let mut pod = object(Kind::Pod, key, Form::PLAIN);
    if &*key.name == HELD {
        pod["metadata"]["finalizers"] = json!(["e2e.gangline.dev/keep"]);
    }
    if !cpu.is_empty() {
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}});
    }
    pod
}

/// What is compared of an answer: not the object that may come with it.
fn view(outcome: &Outcome) -> Value {
    answer(outcome, Kind::Pod, &mut Lives::default())
}

fn code(view: &Value) -> Option<u64> {
    view.as_u64().or_else(|| view[0].as_u64())
}
