//! What a watch can ask for: changes that are still known, and of the future nothing.
//!
//! Pods are served from the server's memory, as every kind is by default, ResourceQuotas here from the store itself, so
//! that both can be seen to forget: the store when it is compacted, the memory when the server begins anew.

use gangline::core::base::ids::Key;
use gangline::shim::op::Kind;
use gangline::sim::store::{Store, TooOld};
use http::Method;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::model::{Model, NOW, body};
use super::place::Place;
use super::scripted::same;
use super::server::{collection, exchange};
use super::steps::{Form, object};
use super::watches::{follow, list, watch};
use crate::harness::Context;
use crate::support::components::Component;
use crate::support::error::{During, Error, Result};

/// The kind that is read from the store itself.
const FROM_STORE: Kind = Kind::ResourceQuota;
/// What makes it so.
pub(super) const FLAG: &str = "--watch-cache-sizes=resourcequotas#0";
/// So many changes do not happen meanwhile.
const FAR: u64 = 1_000_000;
/// What ends a watch of somebody who has read too little.
const GONE: &str = "\"code\":410";

/// A change, as the model and the server number it.
#[derive(Clone, Copy, Debug)]
struct Revision {
    here: u64,
    there: u64,
}

impl Revision {
    /// Where somebody stands who has read everything up to the change before.
    const fn before(self) -> Self {
        Self { here: self.here - 1, there: self.there - 1 }
    }
}

/// A store that is compacted has forgotten what was before, for whom it serves itself: who has read too little is told so,
/// and a watch that follows goes on. Who is served from memory notices nothing, until the server begins anew.
pub(super) async fn is_forgotten(t: &mut Context, place: &Place) -> Result<()> {
    let mut model = Model::new(place);
    let mut all = Vec::new();
    for (name, kind) in [("a", FROM_STORE), ("a", Kind::Pod), ("b", FROM_STORE), ("b", Kind::Pod)] {
        all.push(create(t, &mut model, place, kind, name).await?);
    }
    let [first, first_pod, last, last_pod] = all.try_into().map_err(|_| Error::new("four changes"))?;
    goes_on_over_a_compaction(t, &mut model, place, (first.before(), last)).await?;
    let memory = model.api.store.clone();
    model.api.store.forget(last.before().here);
    for from in [first.before(), first, last.before(), last] {
        tells(t, place, &model.api.store, (FROM_STORE, "c"), from).await?;
    }
    for from in [first_pod.before(), first_pod, last_pod] {
        tells(t, place, &memory, (Kind::Pod, "c"), from).await?;
    }

    t.plane()?.restart(Component::ApiServer).await?;
    tells(t, place, &model.api.store, (FROM_STORE, "c"), last).await?;
    model.api.store.forget(u64::MAX);
    let listed = Revision { here: model.api.store.revision(), there: list(&t.client, Kind::Pod, place).await?.0 };
    create(t, &mut model, place, Kind::Pod, "d").await?;
    // The first is older than the compaction, the other is not: of that the server's own memory has nothing.
    for from in [first_pod, last_pod, listed] {
        tells(t, place, &model.api.store, (Kind::Pod, "d"), from).await?;
    }
    Ok(())
}

/// The store is compacted at a revision while a watch follows that has heard of it, and of what comes after.
async fn goes_on_over_a_compaction(
    t: &mut Context,
    model: &mut Model,
    place: &Place,
    (from, at): (Revision, Revision),
) -> Result<()> {
    let etcd = t.plane()?.store()?;
    let (heard, mut news) = unbounded_channel();
    let follows = follow(&t.client, FROM_STORE, from.there, |told| heard.send(told.seen.key).is_err());
    let compaction = async {
        until(&mut news, "b").await?;
        compact(&etcd, at.there).await?;
        for kind in [FROM_STORE, Kind::Pod] {
            create(t, model, place, kind, "c").await?;
        }
        until(&mut news, "c").await
    };
    tokio::select! {
        ended = follows => ended.and_then(|()| Err(Error::new("the watch ended over it"))),
        told = compaction => told,
    }
}

/// Somebody makes an object, of which the model hears too.
async fn create(t: &Context, model: &mut Model, place: &Place, kind: Kind, name: &str) -> Result<Revision> {
    let key = named(place, kind, name);
    let object = object(kind, &key, Form::PLAIN);
    let path = collection(kind, &key.namespace);
    let asked = object.to_string().into_bytes();
    let (code, said) = exchange(&t.client, Method::POST, &path, "application/json", asked).await?;
    let said: Value = serde_json::from_slice(&said).during(&path)?;
    let there = said["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
    let there = there.ok_or_else(|| Error::new(format!("{path}: {code} {said}")))?;
    let made = model.api.create(&key, body(kind, &object), NOW);
    made.map_err(|refusal| Error::new(format!("the model refuses {key}: {refusal:?}")))?;
    Ok(Revision { here: model.api.store.revision(), there })
}

/// Each kind is where it does not meet the other.
fn named(place: &Place, kind: Kind, name: &str) -> Key {
    Key::new(place.namespaces[usize::from(kind == FROM_STORE)].as_str(), name)
}

/// What was said to be `name` has been heard.
async fn until(news: &mut UnboundedReceiver<Key>, name: &str) -> Result<()> {
    while let Some(heard) = news.recv().await {
        if &*heard.name == name {
            return Ok(());
        }
    }
    Err(Error::new(format!("{name} was not heard of")))
}

/// Compacts the store at a revision.
async fn compact(etcd: &Client, revision: u64) -> Result<()> {
    let asked = json!({"revision": revision.to_string(), "physical": true}).to_string().into_bytes();
    match exchange(etcd, Method::POST, "/v3/kv/compaction", "application/json", asked).await? {
        (200, _) => Ok(()),
        (code, said) => Err(Error::new(format!("compaction: {code} {}", String::from_utf8_lossy(&said)))),
    }
}

/// Who has read up to a revision is told the same by the server as by a store of the model, up to an object of the kind; or
/// by both that it has read too little.
async fn tells(t: &Context, place: &Place, store: &Store, (kind, last): (Kind, &str), from: Revision) -> Result<()> {
    let last = named(place, kind, last);
    let here = store.after(kind, from.here).map(|changes| changes.map(|change| change.seen.key.to_string()).collect());
    let here: Value = here.map_or_else(|TooOld| json!(410), |names: Vec<String>| json!(names));
    let there = match watch(&t.client, kind, place, from.there, &last).await {
        Ok(told) => {
            json!(told.iter().map(|told| &told.seen.key).chain([&last]).map(Key::to_string).collect::<Vec<_>>())
        }
        Err(error) if error.to_string().contains(GONE) => json!(410),
        Err(error) => return Err(error),
    };
    same(&here, &there)
}

/// One from the future says nothing of what happens until then.
pub(super) async fn has_not_happened(t: &mut Context, place: &Place) -> Result<()> {
    let mut model = Model::new(place);
    let now = list(&t.client, Kind::Pod, place).await?.0;
    let mut heard = 0;
    let future = follow(&t.client, Kind::Pod, now + FAR, |_| {
        heard += 1;
        false
    });
    // Another watch, from the present, has told of both when this one is asked what it heard.
    let writes = async {
        for name in ["a", "b"] {
            create(t, &mut model, place, Kind::Pod, name).await?;
        }
        watch(&t.client, Kind::Pod, place, now, &named(place, Kind::Pod, "b")).await
    };
    let told = tokio::select! {
        ended = future => return ended.and_then(|()| Err(Error::new("a watch from the future ended"))),
        told = writes => told?.len(),
    };
    let here = |from| model.api.store.after(Kind::Pod, from).map(Iterator::count).ok();
    // That of the present ends with the second.
    same(&json!([here(0), here(FAR)]), &json!([told + 1, heard]))
}
