//! Waiting for the world to be as expected: by watch, with a deadline, and with an account of what was seen instead.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{Error, Result};

/// An object that can be watched and shown.
pub trait Watched: Resource + Clone + DeserializeOwned + Serialize + Debug + Send + 'static {}
impl<K: Resource + Clone + DeserializeOwned + Serialize + Debug + Send + 'static> Watched for K {}

/// The objects of one kind, by namespace and name.
pub type Seen<K> = BTreeMap<(String, String), K>;

/// Waits until the object with this name is as `expected` says (called with none while it does not exist).
pub async fn wait_for<K: Watched>(
    api: &Api<K>,
    name: &str,
    deadline: Duration,
    what: &str,
    expected: impl Fn(Option<&K>) -> bool,
) -> Result<Option<K>> {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut seen =
        wait(api, config, deadline, &format!("{name}: {what}"), |seen| expected(seen.values().next())).await?;
    Ok(seen.pop_first().map(|(_, object)| object))
}

/// Waits until the objects that a label selector names are together as `expected` says.
pub async fn wait_for_all<K: Watched>(
    api: &Api<K>,
    labels: &str,
    deadline: Duration,
    what: &str,
    expected: impl Fn(&[&K]) -> bool,
) -> Result<Vec<K>> {
    let config = watcher::Config::default().labels(labels);
    let seen = wait(api, config, deadline, what, |seen| expected(&seen.values().collect::<Vec<_>>())).await?;
    Ok(seen.into_values().collect())
}

/// Checks every state that a watch shows while `during` runs; the first broken one is the error.
///
/// States that a watch does not show, because they lasted too short a time to be written, are not checked.
pub async fn always<K: Watched, T>(
    api: &Api<K>,
    labels: &str,
    what: &str,
    holds: impl Fn(&[&K]) -> bool,
    during: impl Future<Output = Result<T>>,
) -> Result<T> {
    let config = watcher::Config::default().labels(labels);
    let broken = |seen: &Seen<K>| !holds(&seen.values().collect::<Vec<_>>());
    let (mut seen, mut trouble) = (BTreeMap::new(), None);
    tokio::select! {
        biased;
        seen = follow(api, config, &mut seen, &mut trouble, broken) =>
            Err(Error::new(format!("broken: {what}")).with_tail("objects", &describe(&seen))),
        result = during => result,
    }
}

/// Waits until the objects of a watch are as `expected` says.
async fn wait<K: Watched>(
    api: &Api<K>,
    config: watcher::Config,
    deadline: Duration,
    what: &str,
    expected: impl Fn(&Seen<K>) -> bool,
) -> Result<Seen<K>> {
    let (mut seen, mut trouble) = (BTreeMap::new(), None);
    match tokio::time::timeout(deadline, follow(api, config, &mut seen, &mut trouble, expected)).await {
        Ok(seen) => Ok(seen),
        Err(_) => {
            let trouble = trouble.map_or(String::new(), |error| format!("; the watch said: {error}"));
            let text = format!("not within {} s: {what}{trouble}", deadline.as_secs_f64());
            Err(Error::new(text).with_tail("objects", &describe(&seen)))
        }
    }
}

/// Follows a watch until `enough`; errors of the watch are kept for the report and outlived.
async fn follow<K: Watched>(
    api: &Api<K>,
    config: watcher::Config,
    seen: &mut Seen<K>,
    trouble: &mut Option<watcher::Error>,
    enough: impl Fn(&Seen<K>) -> bool,
) -> Seen<K> {
    let mut events = pin!(watcher(api.clone(), config).default_backoff());
    let mut listing = BTreeMap::new();
    while let Some(event) = events.next().await {
        // While a list is on its way the state is not known as a whole.
        let whole = matches!(event, Ok(Event::InitDone | Event::Apply(_) | Event::Delete(_)));
        match event {
            Ok(Event::Init) => listing.clear(),
            Ok(Event::InitApply(object)) => drop(listing.insert(key(&object), object)),
            Ok(Event::InitDone) => *seen = std::mem::take(&mut listing),
            Ok(Event::Apply(object)) => drop(seen.insert(key(&object), object)),
            Ok(Event::Delete(object)) => drop(seen.remove(&key(&object))),
            Err(error) => *trouble = Some(error),
        }
        if whole {
            *trouble = None;
        }
        if whole && enough(seen) {
            return seen.clone();
        }
    }
    // A watcher never ends.
    std::future::pending().await
}

fn key<K: Resource>(object: &K) -> (String, String) {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// Each object in one line: name, then status or everything.
fn describe<K: Serialize>(seen: &Seen<K>) -> String {
    if seen.is_empty() {
        return "(none)".to_owned();
    }
    let lines = seen.iter().map(|((namespace, name), object)| {
        let object = serde_json::to_value(object).unwrap_or_default();
        format!("{namespace}/{name} {}", object.get("status").unwrap_or(&object))
    });
    lines.collect::<Vec<_>>().join("\n")
}
