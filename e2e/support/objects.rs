//! Objects of one kind: make, read, change, and above all wait for them, by watch and with a deadline.
//!
//! Everything travels as untyped objects and is given its type at the end: the client's code is then compiled once and
//! not for each kind, which makes the difference between seconds and minutes after an edit of a test.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{During, Error, Result};

/// How long anything is waited for, unless said otherwise. It takes well below a second on an idle machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A kind known to the compiler.
pub trait Kind: Resource<DynamicType = ()> + DeserializeOwned + Clone {}
impl<K: Resource<DynamicType = ()> + DeserializeOwned + Clone> Kind for K {}

/// The objects of one kind in one namespace or everywhere.
#[derive(Clone)]
pub struct Objects<K> {
    api: Api<DynamicObject>,
    deadline: Duration,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> Objects<K> {
    /// Those of one namespace.
    pub fn of(client: &Client, namespace: &str) -> Self {
        Self::new(Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<K>(&())))
    }

    /// Those of all namespaces, or of the cluster.
    pub fn all(client: &Client) -> Self {
        Self::new(Api::all_with(client.clone(), &ApiResource::erase::<K>(&())))
    }

    fn new(api: Api<DynamicObject>) -> Self {
        Self { api, deadline: DEADLINE, kind: PhantomData }
    }

    /// The same with another deadline for waiting.
    pub fn within(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The same without types, for what is not offered here.
    pub fn untyped(&self) -> &Api<DynamicObject> {
        &self.api
    }

    /// Creates an object; apiVersion and kind may be missing.
    pub async fn create(&self, object: Value) -> Result<K> {
        let object = untyped::<K>(object)?;
        let step = format!("creating {} {}", K::kind(&()), object.name_any());
        typed(&self.api.create(&PostParams::default(), &object).await.during(step)?)
    }

    /// Reads an object.
    pub async fn get(&self, name: &str) -> Result<Option<K>> {
        let found = self.api.get_opt(name).await.during(format!("reading {} {name}", K::kind(&())))?;
        found.as_ref().map(typed).transpose()
    }

    /// Reads those that a label selector names; all, if it is empty.
    pub async fn list(&self, labels: &str) -> Result<Vec<K>> {
        let found = self.api.list(&ListParams::default().labels(labels)).await;
        found.during(format!("listing {}", K::plural(&())))?.items.iter().map(typed).collect()
    }

    /// Changes an object by a JSON merge patch.
    pub async fn patch(&self, name: &str, patch: Value) -> Result<K> {
        let step = format!("patching {} {name}", K::kind(&()));
        typed(&self.api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.during(step)?)
    }

    /// Changes the status of an object by a strategic merge patch (conditions are merged by type), as a kubelet would;
    /// `status` is the content of `.status`. For built-in kinds only.
    pub async fn patch_status(&self, name: &str, status: Value) -> Result<K> {
        let step = format!("patching the status of {} {name}", K::kind(&()));
        let patch = Patch::Strategic(serde_json::json!({"status": status}));
        typed(&self.api.patch_status(name, &PatchParams::default(), &patch).await.during(step)?)
    }

    /// Asks for the deletion of an object.
    pub async fn delete(&self, name: &str) -> Result<()> {
        self.delete_with(name, &DeleteParams::default()).await
    }

    /// Asks for the deletion of an object with a grace period, preconditions or propagation.
    pub async fn delete_with(&self, name: &str, params: &DeleteParams) -> Result<()> {
        self.api.delete(name, params).await.during(format!("deleting {} {name}", K::kind(&()))).map(drop)
    }

    /// Waits until the object with this name is as expected and returns it.
    pub async fn wait(&self, name: &str, what: &str, expected: impl Fn(&K) -> bool) -> Result<K> {
        let fine = |seen: &Seen<K>| seen.values().next().is_some_and(&expected);
        let mut seen = self.follow(by_name(name), &format!("{} {name} {what}", K::kind(&())), &fine).await?;
        seen.pop_first().map(|(_, object)| object).ok_or_else(|| Error::new(format!("{name} is gone")))
    }

    /// Waits until no object has this name.
    pub async fn wait_gone(&self, name: &str) -> Result<()> {
        self.follow(by_name(name), &format!("{} {name} is gone", K::kind(&())), &BTreeMap::is_empty).await.map(drop)
    }

    /// Waits until the objects that a label selector names (all, if empty) are together as expected.
    pub async fn wait_all(&self, labels: &str, what: &str, expected: impl Fn(&[&K]) -> bool) -> Result<Vec<K>> {
        let fine = |seen: &Seen<K>| expected(&seen.values().collect::<Vec<_>>());
        let seen = self.follow(watcher::Config::default().labels(labels), what, &fine).await?;
        Ok(seen.into_values().collect())
    }

    /// Checks every state that a watch shows while `during` runs; the first broken one is the error.
    ///
    /// A watch shows every write, so only states between two writes of different objects can look older than they are.
    pub async fn always<T>(
        &self,
        labels: &str,
        what: &str,
        holds: impl Fn(&[&K]) -> bool,
        during: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let broken = |seen: &Seen<K>| !holds(&seen.values().collect::<Vec<_>>());
        // `during` has deadlines of its own.
        let unlimited = Self { api: self.api.clone(), deadline: Duration::from_secs(24 * 3600), kind: PhantomData };
        let watching = unlimited.follow(watcher::Config::default().labels(labels), what, &broken);
        tokio::select! {
            biased;
            found = watching => {
                let names = found?.into_keys().map(|(namespace, name)| format!("{namespace}/{name}"));
                Err(Error::new(format!("broken: {what}")).with_tail("seen", &names.collect::<Vec<_>>().join("\n")))
            }
            result = during => result,
        }
    }

    /// Follows a watch until the objects seen are `enough`.
    async fn follow(&self, which: watcher::Config, what: &str, enough: &dyn Fn(&Seen<K>) -> bool) -> Result<Seen<K>> {
        let (mut seen, mut typed_ones) = (Untyped::new(), Seen::new());
        let mut handle = |change: Change<'_>| {
            match change {
                Change::All(all) => {
                    let all = all.iter().map(|(key, object)| Ok((key.clone(), typed(object)?)));
                    typed_ones = all.collect::<Result<_>>()?;
                }
                Change::One(key, object) => drop(typed_ones.insert(key.clone(), typed(object)?)),
                Change::Gone(key) => drop(typed_ones.remove(key)),
            }
            Ok(enough(&typed_ones))
        };
        match watch(&self.api, which, self.deadline, &mut seen, &mut handle).await? {
            None => Ok(typed_ones),
            Some(trouble) => Err(late(what, self.deadline, &trouble, &seen)),
        }
    }
}

/// Objects by namespace and name.
type Seen<K> = BTreeMap<(String, String), K>;
type Untyped = Seen<DynamicObject>;

/// What a watch has shown.
enum Change<'a> {
    All(&'a Untyped),
    One(&'a (String, String), &'a DynamicObject),
    Gone(&'a (String, String)),
}

/// Feeds a watch to `handle` until it says that it has enough (then none is returned) or the deadline is over (then what
/// the watch complained about last, perhaps nothing). Errors of the watch are outlived. `seen` is the state at the end.
async fn watch(
    api: &Api<DynamicObject>,
    which: watcher::Config,
    deadline: Duration,
    seen: &mut Untyped,
    handle: &mut dyn FnMut(Change<'_>) -> Result<bool>,
) -> Result<Option<String>> {
    let mut events = pin!(watcher(api.clone(), which).default_backoff());
    let give_up = tokio::time::Instant::now() + deadline;
    let (mut listing, mut trouble) = (Untyped::new(), String::new());
    loop {
        let event = match tokio::time::timeout_at(give_up, events.next()).await {
            Err(_) | Ok(None) => return Ok(Some(trouble)),
            Ok(Some(Err(error))) => {
                trouble = format!("; the watch said: {error}");
                continue;
            }
            Ok(Some(Ok(event))) => event,
        };
        let enough = match event {
            // While a list is on its way the state is not known as a whole.
            Event::Init => {
                listing.clear();
                false
            }
            Event::InitApply(object) => {
                listing.insert(key(&object), object);
                false
            }
            Event::InitDone => {
                *seen = std::mem::take(&mut listing);
                handle(Change::All(seen))?
            }
            Event::Apply(object) => {
                let enough = handle(Change::One(&key(&object), &object))?;
                seen.insert(key(&object), object);
                enough
            }
            Event::Delete(object) => {
                seen.remove(&key(&object));
                handle(Change::Gone(&key(&object)))?
            }
        };
        if enough {
            return Ok(None);
        }
    }
}

/// Waits until the object with this name is as expected, whatever its kind.
pub async fn wait_untyped(
    api: &Api<DynamicObject>,
    name: &str,
    deadline: Duration,
    what: &str,
    expected: &dyn Fn(&DynamicObject) -> bool,
) -> Result<()> {
    let mut seen = Untyped::new();
    let mut handle = |change: Change<'_>| match change {
        Change::All(all) => Ok(all.values().any(expected)),
        Change::One(_, object) => Ok(expected(object)),
        Change::Gone(_) => Ok(false),
    };
    match watch(api, by_name(name), deadline, &mut seen, &mut handle).await? {
        None => Ok(()),
        Some(trouble) => Err(late(&format!("{name} {what}"), deadline, &trouble, &seen)),
    }
}

fn late(what: &str, deadline: Duration, trouble: &str, seen: &Untyped) -> Error {
    let text = format!("not within {} s: {what}{trouble}", deadline.as_secs_f64());
    Error::new(text).with_tail("seen", &describe(seen))
}

fn by_name(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}"))
}

fn key(object: &DynamicObject) -> (String, String) {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// An object without its type, of the kind that the type says.
fn untyped<K: Kind>(mut object: Value) -> Result<DynamicObject> {
    object["apiVersion"] = Value::from(K::api_version(&()));
    object["kind"] = Value::from(K::kind(&()));
    serde_json::from_value(object).during("describing an object")
}

/// An object with its type.
fn typed<K: Kind>(object: &DynamicObject) -> Result<K> {
    let step = format!("reading {} {}", K::kind(&()), object.name_any());
    serde_json::to_value(object).and_then(serde_json::from_value).during(step)
}

/// Each object in one line: name, then status or everything.
fn describe(seen: &Untyped) -> String {
    if seen.is_empty() {
        return "(none)".to_owned();
    }
    let line = |((namespace, name), object): (&(String, String), &DynamicObject)| {
        format!("{namespace}/{name} {}", object.data.get("status").unwrap_or(&object.data))
    };
    seen.iter().map(line).collect::<Vec<_>>().join("\n")
}
