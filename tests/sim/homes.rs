//! Namespaces, the queues that choose them, and where work goes that names no queue (01, 1.12; 03, 3.4; ADR 33): as plans have them,
//! and as judges read them, by themselves and not as the scheduler reads them.

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::queue::{ChildTemplate, NamespaceSelector, Queue};
use gangline::core::base::ids::Key;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::store::metadata_mut;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::acts::QueueAct;
use super::amount::Amount;
use super::people::{ABROAD, NS, levels};
use super::plan::is_default;
use super::world::World;

/// The label by which queues choose namespaces.
const TEAM: &str = "team";
/// What a Namespace says of its own queue, in YuniKorn's words.
const QUOTA: &str = "yunikorn.apache.org/namespace.quota";
const OLD_QUOTA: &str = "yunikorn.apache.org/namespace.max.cpu";
const GUARANTEED: &str = "yunikorn.apache.org/namespace.guaranteed";
const MAX_APPS: &str = "yunikorn.apache.org/namespace.maxApps";
const PARENT: &str = "yunikorn.apache.org/parentqueue";
/// Where work goes whose namespace no queue chooses.
pub(crate) const USUAL_QUEUE: &str = "root.default";

/// The namespace of all gangs, or another one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NamespaceAct {
    /// It is the other one.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) abroad: bool,
    /// Whose it is: queues choose it by that.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) team: Option<String>,
    /// So many cores its own queue may use.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) cpu: Option<u32>,
    /// That stands in the older annotation.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) old: bool,
    /// So many cores its own queue is promised.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) guaranteed: Option<u32>,
    /// So many applications at a time.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) apps: Option<u32>,
    /// Below which queue its own is.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) above: Option<String>,
    /// What its queue may use cannot be read.
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) wrong: bool,
}

impl NamespaceAct {
    const fn name(&self) -> &'static str {
        if self.abroad { ABROAD } else { NS }
    }

    fn labels(&self) -> BTreeMap<String, String> {
        self.team.iter().map(|team| (TEAM.to_owned(), team.clone())).collect()
    }

    fn annotations(&self) -> BTreeMap<String, String> {
        let amount = |cores: u32| json!({"cpu": cores.to_string()}).to_string();
        let quota = |cores: u32| if self.old { (OLD_QUOTA, cores.to_string()) } else { (QUOTA, amount(cores)) };
        let quota = self.cpu.map(quota);
        let promised = self.guaranteed.map(|cores| (GUARANTEED, amount(cores)));
        let apps = self.apps.map(|apps| (MAX_APPS, apps.to_string()));
        let above = self.above.clone().map(|above| (PARENT, above));
        // In the place of what is right.
        let wrong = self.wrong.then(|| (QUOTA, "{".to_owned()));
        let all = quota.into_iter().chain(promised).chain(apps).chain(above).chain(wrong);
        all.map(|(key, text)| (key.to_owned(), text)).collect()
    }
}

/// What a Namespace says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Says {
    labels: BTreeMap<String, String>,
    /// What its own queue may use, if it says so.
    most: Option<Amount>,
    /// Below which queue its own is, if it says so.
    above: Option<String>,
}

impl Says {
    /// Where what it says of its queue is wrong, what it said last counts.
    pub(crate) fn of(namespace: &Namespace, last: Option<&Self>) -> Self {
        let labels = namespace.metadata.labels.clone().unwrap_or_default();
        let said = |key: &str| namespace.metadata.annotations.as_ref()?.get(key).cloned();
        let cores = |cpu: String| Amount::of(Some(&[("cpu".to_owned(), Quantity(cpu))].into()), Amount::ENDLESS);
        let most = match said(QUOTA).map(|text| serde_json::from_str::<BTreeMap<String, String>>(&text)) {
            Some(Ok(mut amounts)) => Some(amounts.remove("cpu").map_or(Amount::ENDLESS, cores)),
            Some(Err(_)) => {
                let Self { most, above, .. } = last.cloned().unwrap_or_default();
                return Self { labels, most, above };
            }
            None => said(OLD_QUOTA).map(cores),
        };
        Self { labels, most, above: said(PARENT) }
    }
}

/// What a queue does for namespaces.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Door {
    /// Labels of those that it chooses: nobody else has work in it or below it.
    chooses: BTreeMap<String, String>,
    /// What it gives to the own queue of each of these, if it gives them one.
    gives: Option<Amount>,
}

impl Door {
    /// Of a queue that chooses namespaces.
    pub(crate) fn of(queue: &Queue) -> Option<Self> {
        let selector = queue.spec.namespace_selector.as_ref()?;
        let template = queue.spec.child_template.as_ref();
        let gives = template.map(|template| Amount::of(Some(&template.max), Amount::ENDLESS));
        Some(Self { chooses: selector.match_labels.clone(), gives })
    }

    fn lets_in(&self, says: &Says) -> bool {
        self.chooses.iter().all(|(key, value)| says.labels.get(key) == Some(value))
    }
}

/// All queues by path, each with what it does for namespaces.
pub(crate) type Doors = BTreeMap<String, Option<Door>>;

fn door<'a>(doors: &'a Doors, path: &str) -> Option<&'a Door> {
    doors.get(path).and_then(Option::as_ref)
}

fn lets_in(doors: &Doors, path: &str, says: &Says) -> bool {
    levels(path).filter_map(|level| door(doors, level)).all(|door| door.lets_in(says))
}

/// What a queue is to a namespace that it chooses.
fn home_in(doors: &Doors, path: &str, (name, says): (&str, &Says)) -> Option<String> {
    let door = door(doors, path).filter(|_| lets_in(doors, path, says))?;
    let below = format!("{path}.");
    let is_leaf = !doors.keys().any(|other| other.starts_with(&below));
    match door.gives {
        Some(_) => Some(format!("{below}{name}")),
        None => is_leaf.then(|| path.to_owned()),
    }
}

/// Where work of a namespace goes that names no queue; nowhere, where its Namespace is not known or names a queue that gives none.
pub(crate) fn home(doors: &Doors, name: &str, says: Option<&Says>) -> Option<String> {
    if doors.values().all(Option::is_none) {
        return Some(USUAL_QUEUE.to_owned());
    }
    let says = says?;
    match &says.above {
        Some(above) => {
            let gives = door(doors, above).is_some_and(|door| door.gives.is_some());
            home_in(doors, above, (name, says)).filter(|_| gives)
        }
        None => {
            let first = doors.keys().find_map(|path| home_in(doors, path, (name, says)));
            Some(first.unwrap_or_else(|| USUAL_QUEUE.to_owned()))
        }
    }
}

/// The own queues of a namespace, and what each may use by what its users wrote.
pub(crate) fn own_queues(doors: &Doors, name: &str, says: &Says) -> BTreeMap<String, Amount> {
    let given = |(path, door): (&String, &Option<Door>)| {
        let gives = door.as_ref().filter(|door| door.lets_in(says))?.gives?;
        Some((format!("{path}.{name}"), says.most.unwrap_or(gives)))
    };
    doors.iter().filter_map(given).collect()
}

/// As a Queue has them.
pub(super) fn of_queue(queue: &QueueAct) -> (Option<NamespaceSelector>, Option<ChildTemplate>) {
    let selector = queue.chooses.as_ref().map(|team| NamespaceSelector {
        match_labels: [(TEAM.to_owned(), team.clone())].into(),
        ..NamespaceSelector::default()
    });
    let template = queue.gives.map(|cores| ChildTemplate {
        max: [("cpu".to_owned(), Quantity(cores.to_string()))].into(),
        ..ChildTemplate::default()
    });
    (selector, template)
}

impl World {
    /// All queues that have an object.
    pub(crate) fn doors(&self) -> Doors {
        let queues = self.api.store.of_kind(Kind::Queue);
        let door = |body: &Body| if let Body::Queue(queue) = body { Door::of(queue) } else { None };
        queues.map(|(key, body)| (key.name.to_string(), door(body))).collect()
    }

    fn says(&self, name: &str) -> Option<Says> {
        let Some(Body::Namespace(there)) = self.api.store.get(Kind::Namespace, &Key::cluster(name)) else {
            return None;
        };
        Some(Says::of(there, None))
    }

    /// Where work of a namespace goes that names no queue.
    pub(crate) fn home(&self, name: &str) -> Option<String> {
        home(&self.doors(), name, self.says(name).as_ref())
    }

    /// Paths of the queues that namespaces have of their own.
    pub(crate) fn own_paths(&self) -> BTreeSet<String> {
        let doors = self.doors();
        let own = |name: &str| self.says(name).map(|says| own_queues(&doors, name, &says).into_keys());
        [NS, ABROAD].into_iter().filter_map(own).flatten().collect()
    }

    /// Whether a queue is the own one of a namespace.
    pub(crate) fn is_own(&self, path: &str) -> bool {
        self.own_paths().contains(path)
    }

    /// Whether work of a namespace may be in a queue.
    pub(crate) fn is_for(&self, path: &str, name: &str) -> bool {
        let doors = self.doors();
        doors.values().all(Option::is_none) || self.says(name).is_some_and(|says| lets_in(&doors, path, &says))
    }

    /// A Namespace comes, or is edited. One that was deleted comes again as was said of it last.
    pub(super) fn set_namespace(&mut self, act: &NamespaceAct) {
        let (name, labels, annotations) = (act.name(), act.labels(), act.annotations());
        let was_there = self.namespaces.insert(name.to_owned(), act.clone()).is_some();
        let key = Key::cluster(name);
        if self.api.store.get(Kind::Namespace, &key).is_some() {
            self.rehome();
            let edited = self.api.edit(Kind::Namespace, &key, |body| {
                let metadata = metadata_mut(body);
                (metadata.labels, metadata.annotations) = (Some(labels), Some(annotations));
            });
            assert!(edited.is_ok(), "{name} can be edited");
        } else if !was_there {
            self.rehome();
            let metadata = json!({"name": name, "labels": labels, "annotations": annotations});
            self.apply(Kind::Namespace, &json!({"metadata": metadata}));
        }
    }

    /// Somebody makes the namespace of all gangs again.
    pub(super) fn found_again(&mut self) {
        self.api.namespaces.set_exists(NS, true);
        if let Some(act) = self.namespaces.remove(NS) {
            self.set_namespace(&act);
        }
    }

    /// Where a queue chooses namespaces there are some, as in every cluster.
    pub(super) fn found_all(&mut self) {
        for abroad in [false, true] {
            let act = NamespaceAct { abroad, ..NamespaceAct::default() };
            if !self.namespaces.contains_key(act.name()) {
                self.set_namespace(&act);
            }
        }
    }

    /// Work may go to another queue from now on: who is about to start may be called off, and a gang that has started is where it
    /// was bound for one process, and for the next one, when nothing is left of it, where its namespace is then.
    pub(super) fn rehome(&mut self) {
        self.unfinished().iter().for_each(|group| self.disturb(group));
        let all = self.groups().into_iter().map(|(name, _)| name);
        self.rehomed.extend(all);
    }

    /// Namespaces say nothing any more of what their queues may use; nor where these are, if that is not to count.
    pub(crate) fn lift_namespaces(&mut self, keeps_place: bool) {
        let keys: Vec<Key> = self.api.store.of_kind(Kind::Namespace).map(|(key, _)| key.clone()).collect();
        for key in keys {
            let edited = self.api.edit(Kind::Namespace, &key, |body| {
                let annotations = metadata_mut(body).annotations.iter_mut();
                annotations.for_each(|all| all.retain(|key, _| keeps_place && key == PARENT));
            });
            assert!(edited.is_ok(), "{key} can be edited");
        }
    }
}

impl Door {
    /// Whether each of those that it chooses has a queue of its own.
    pub(crate) const fn gives(&self) -> bool {
        self.gives.is_some()
    }

    /// As it was, but that nobody has a queue of its own.
    pub(crate) fn without_own(&self, path: &str, cpu: u32) -> QueueAct {
        QueueAct { gives: None, ..self.with_plenty(path, cpu) }
    }

    /// As it was, with plenty for everybody.
    pub(crate) fn with_plenty(&self, path: &str, cpu: u32) -> QueueAct {
        let (chooses, gives) = (self.chooses.get(TEAM).cloned(), self.gives.map(|_| cpu));
        QueueAct { path: path.to_owned(), cpu, chooses, gives, ..QueueAct::default() }
    }
}
