//! The garbage collector, which is not the API server's but the controller manager's: what it takes, and what it leaves.

use gangline::api::names::{GROUP, VERSION};
use gangline::api::task_group::TaskGroup;
use gangline::core::base::ids::Key;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::Api;
use gangline::sim::garbage;
use gangline::sim::store::metadata;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::model::{NOW, typed};
use super::steps::{Form, object};
use crate::breakage::until;
use crate::harness::Context;
use crate::support::error::{During, Error, Result};

/// Pods, and the TaskGroups that own them: one of these goes, and one has another UID now.
const PODS: [(&str, &[&str]); 5] = [
    ("of-one-that-goes", &["goes"]),
    ("of-one-that-lives", &["lives"]),
    ("of-both", &["goes", "lives"]),
    ("of-an-earlier-one", &["earlier"]),
    ("of-nobody", &[]),
];

/// The model takes the same pods.
pub(super) async fn collected(t: &mut Context) -> Result<()> {
    let mut api = Api::default();
    // No placeholders.
    let spec = json!({"minMember": 1, "minResource": {"cpu": "1"}, "reservation": "Direct"});
    for name in ["goes", "lives"] {
        let group = json!({"metadata": {"name": name}, "spec": spec});
        t.objects::<TaskGroup>().create(group).await?;
        make(&mut api, Kind::TaskGroup, &Key::new(t.namespace.as_str(), name), &[])?;
    }
    for (name, owners) in PODS {
        let key = Key::new(t.namespace.as_str(), name);
        let here: Vec<Value> = owners.iter().map(|owner| reference(owner, &uid_here(&api, &key, owner))).collect();
        make(&mut api, Kind::Pod, &key, &here)?;
        let mut there = Vec::new();
        for owner in owners {
            there.push(reference(owner, &uid_there(t, owner).await?));
        }
        let mut pod = object(Kind::Pod, &key, Form::PLAIN);
        pod["metadata"]["ownerReferences"] = json!(there);
        t.pods().create(pod).await?;
    }
    t.objects::<TaskGroup>().delete("goes").await?;
    api.store.remove(Kind::TaskGroup, &Key::new(t.namespace.as_str(), "goes"));
    let stays = |name: &&str| !garbage::is_garbage(&api, &Key::new(t.namespace.as_str(), *name));
    let mut expected: Vec<&str> = PODS.iter().map(|(name, _)| *name).filter(stays).collect();
    expected.sort_unstable();
    until(&format!("only {expected:?} are left"), async || {
        let left = t.pods().list("").await?;
        let mut left: Vec<_> = left.iter().filter_map(|pod: &Pod| pod.metadata.name.as_deref()).collect();
        left.sort_unstable();
        Ok(left == expected)
    })
    .await
}

fn make(api: &mut Api, kind: Kind, key: &Key, owners: &[Value]) -> Result<()> {
    let mut json = object(kind, key, Form::PLAIN);
    json["metadata"]["ownerReferences"] = json!(owners);
    let body = typed(kind, json.to_string().as_bytes()).during("an object")?;
    api.create(key, body, NOW).map(drop).map_err(|refusal| Error::new(format!("{refusal:?}")))
}

/// `earlier` is one of the name that lives, with a UID that nobody has.
fn reference(owner: &str, uid: &str) -> Value {
    let name = if owner == "earlier" { "lives" } else { owner };
    json!({"apiVersion": format!("{GROUP}/{VERSION}"), "kind": "TaskGroup", "name": name, "uid": uid})
}

fn uid_here(api: &Api, pod: &Key, owner: &str) -> String {
    let found =
        api.store.get(Kind::TaskGroup, &pod.beside(&owner.into())).map(|body: &Body| metadata(body).uid.clone());
    found.flatten().unwrap_or_else(|| "nobody".to_owned())
}

async fn uid_there(t: &Context, owner: &str) -> Result<String> {
    let found = t.objects::<TaskGroup>().get(owner).await?.and_then(|group| group.metadata.uid);
    Ok(found.unwrap_or_else(|| "nobody".to_owned()))
}
