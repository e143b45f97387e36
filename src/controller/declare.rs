//! TaskGroups that pods declare in another system's words are made for them (design 03, 3.2 and 3.4): each once, as long as a
//! pod that waits for a node declares it and it is not there. The core knows of it when it is seen, as of any other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::Controller;
use super::outbox::{Slot, Want};
use super::target::Target;
use crate::api::task_group::TaskGroup;
use crate::core::base::ids::{AskId, Key, Text};
use crate::core::codes::Code;
use crate::core::event::Event;
use crate::core::reason::Refusal;
use crate::shim::dialect::Declared;
use crate::shim::escape;
use crate::shim::op::{Kind, Op};
use crate::shim::submitter;
use crate::shim::task_group::blueprint;

/// Which pods declare which TaskGroups.
#[derive(Clone, Debug, Default)]
pub(super) struct Declarations {
    by_pod: BTreeMap<AskId, (Text, Vec<Key>)>,
    /// The pods by name, since of several the first counts: each pod of a gang may declare it, and of these there are thousands.
    by_group: BTreeMap<Key, BTreeSet<(Text, AskId)>>,
    /// Those that are there with another spec, and the pods that were told.
    different: BTreeSet<(Key, AskId)>,
}

impl Declarations {
    /// A pod declares these from now on, under its name, and no others. Returns whether it says something new, and what nobody
    /// declares any more.
    fn note(&mut self, ask: AskId, declared: Option<(Text, &[Key])>) -> (bool, Vec<Key>) {
        let groups = declared.as_ref().map_or(&[][..], |(_, groups)| *groups);
        let before = self.by_pod.remove(&ask);
        let is_new = declared.is_some() && before.as_ref().map(|(_, groups)| &**groups) != Some(groups);
        let mut over = Vec::new();
        for (name, group) in before.iter().flat_map(|(name, before)| before.iter().map(move |group| (name, group))) {
            if groups.contains(group) {
                continue;
            }
            self.different.remove(&(group.clone(), ask));
            let pods = self.by_group.entry(group.clone()).or_default();
            pods.remove(&(name.clone(), ask));
            if pods.is_empty() {
                self.by_group.remove(group);
                over.push(group.clone());
            }
        }
        if let Some((name, groups)) = declared {
            for group in groups {
                self.by_group.entry(group.clone()).or_default().insert((name.clone(), ask));
            }
            self.by_pod.insert(ask, (name, groups.to_vec()));
        }
        (is_new, over)
    }

    /// How many pods declare something.
    pub(super) fn len(&self) -> usize {
        self.by_pod.len()
    }
}

impl Controller {
    /// What an event means for TaskGroups that are declared.
    pub(super) fn hear_of_declarations(&mut self, event: &Event) {
        match event {
            Event::Ask(ask, _) => self.note_declared(*ask),
            Event::AskGone(ask) => drop(self.note_groups(*ask, None)),
            Event::Group(key, _) | Event::GroupRead(key, _) => {
                self.outbox.settle(Slot::Declare, &Target::Group(key.clone()));
                self.compare_with_declared(key);
            }
            Event::GroupGone(key) => {
                self.declarations.different.retain(|(other, _)| other != key);
                self.want_declared(key);
            }
            Event::Queue(..)
            | Event::QueueGone(_)
            | Event::QueueDisplaced(..)
            | Event::Node(..)
            | Event::NodeGone(_)
            | Event::Namespace(..)
            | Event::NamespaceGone(_)
            | Event::NamespaceLimit(..)
            | Event::Bind(..)
            | Event::CreateRefused(..)
            | Event::ReleaseRefused(..)
            | Event::ReleaseHeldUp(..)
            | Event::GroupsListed
            | Event::QueuesListed
            | Event::Synced => {}
        }
    }

    fn note_declared(&mut self, ask: AskId) {
        let Some(pod) = self.ledger.pod(ask) else { return };
        let Key { namespace, name } = pod.key.clone();
        let key = |declared: &Arc<Declared>| Key::new(namespace.clone(), declared.name.clone());
        let groups: Option<Vec<Key>> = pod.declaration().map(|declared| declared.iter().map(key).collect());
        if !self.note_groups(ask, groups.as_deref().map(|groups| (name, groups))) {
            return;
        }
        let warnings = self.ledger.pod(ask).map(|pod| pod.warnings().join("; ")).unwrap_or_default();
        if !warnings.is_empty() {
            self.tell_pod(ask, Code::DeclarationAdjusted, escape::message(&warnings));
        }
        for key in groups.into_iter().flatten() {
            self.want_declared(&key);
            self.tell_of_difference(ask, &key);
            self.compare(ask, &key);
        }
    }

    /// Whether a pod says something new by declaring these.
    fn note_groups(&mut self, ask: AskId, declared: Option<(Text, &[Key])>) -> bool {
        let (is_new, over) = self.declarations.note(ask, declared);
        for key in over {
            let target = Target::Group(key);
            self.outbox.cancel(Slot::Declare, &target);
            if self.announced.get(&target) == Some(&Some(Code::DeclarationRefused)) {
                self.announced.remove(&target);
            }
        }
        is_new
    }

    /// Wants a TaskGroup to be made, if it is declared and not there.
    pub(super) fn want_declared(&mut self, key: &Key) {
        if self.declarations.by_group.contains_key(key) && !self.is_there(key) {
            let want = Want::new(Slot::Declare, Target::Group(key.clone()), Some((Kind::TaskGroup, key.clone())));
            self.outbox.want(self.now.mono, want);
        }
    }

    fn is_there(&self, key: &Key) -> bool {
        self.ledger.group(key).is_some() || self.ledger.problem(Kind::TaskGroup, key).is_some()
    }

    /// The declaration that counts: of several pods that of the first by name, which is the same after a restart.
    fn declared(&self, key: &Key) -> Option<(AskId, Arc<Declared>)> {
        let mut pods = self.declarations.by_group.get(key)?.iter();
        let (ask, pod) = pods.find_map(|(_, ask)| Some((*ask, self.ledger.pod(*ask)?)))?;
        let declared = pod.declares().iter().find(|declared| declared.name == key.name)?;
        Some((ask, Arc::clone(declared)))
    }

    /// The TaskGroup as it is made now; `None` if it is there, or nobody declares it any more.
    pub(super) fn make_declared(&self, key: &Key) -> Option<Op> {
        let (ask, declared) = self.declared(key).filter(|_| !self.is_there(key))?;
        let submitter = self.core.books.asks.get(ask).and_then(|ask| ask.spec.submitter.as_deref());
        let metadata = ObjectMeta {
            name: Some(key.name.to_string()),
            namespace: Some(key.namespace.to_string()),
            owner_references: Some(vec![declared.owner.clone()]),
            annotations: submitter.map(|submitter| BTreeMap::from([submitter::annotation(submitter)])),
            ..ObjectMeta::default()
        };
        Some(Op::CreateTaskGroup(Box::new(TaskGroup { metadata, spec: declared.spec.clone(), status: None })))
    }

    /// Of two pods that wait and declare a TaskGroup in different ways one is not heeded when it is made, and is told so.
    fn tell_of_difference(&mut self, ask: AskId, key: &Key) {
        let first = self.declared(key).filter(|(heeded, _)| *heeded != ask && !self.is_there(key));
        let Some((heeded, first)) = first else { return };
        let own = self.ledger.pod(ask).into_iter().flat_map(|pod| pod.declares()).find(|own| own.name == key.name);
        if own.is_some_and(|own| !own.agrees_with(&first)) {
            let other = self.pod_key(heeded).name;
            let message =
                format!("TaskGroup {} is made as pod {other} declares it, which differs from this one", key.name);
            self.tell_pod(ask, Code::DeclarationAdjusted, message.into());
        }
    }

    /// A TaskGroup that a pod declares is there with another spec: of an earlier run under the same ID, say, or made by hand.
    /// It counts as it is, and the pod that is heeded is told, once.
    fn compare_with_declared(&mut self, key: &Key) {
        if let Some((ask, _)) = self.declared(key) {
            self.compare(ask, key);
        }
    }

    /// The same for one pod that declares it.
    fn compare(&mut self, ask: AskId, key: &Key) {
        let own = self.ledger.pod(ask).into_iter().flat_map(|pod| pod.declares()).find(|own| own.name == key.name);
        let there = self.ledger.group(key).and_then(|facts| facts.blueprint.as_ref());
        let Some((own, there)) = own.zip(there) else { return };
        let metadata = ObjectMeta { name: Some(key.name.to_string()), ..ObjectMeta::default() };
        let mut fields = blueprint(&TaskGroup { metadata, spec: own.spec.clone(), status: None }).differs_in(there);
        fields.retain(|field| *field != "minResource" || own.says_sizes());
        if fields.is_empty() {
            self.declarations.different.remove(&(key.clone(), ask));
        } else if self.declarations.different.insert((key.clone(), ask)) {
            let fields = fields.join(", ");
            let message = format!("TaskGroup {} is there with another {fields}: it counts as it is", key.name);
            self.tell_pod(ask, Code::DeclarationAdjusted, message.into());
        }
    }

    /// The API server refuses to make a TaskGroup for now: the pod that declares it says so, once.
    pub(super) fn declaration_held_up(&mut self, key: &Key, refusal: &Refusal) {
        let (target, code) = (Target::Group(key.clone()), Code::DeclarationRefused);
        if self.announced.get(&target) == Some(&Some(code)) {
            return;
        }
        if let Some((ask, _)) = self.declared(key) {
            let message = format!("the API server refused to make TaskGroup {}: {refusal}; trying again", key.name);
            self.tell_pod(ask, code, message.into());
            self.announced.insert(target, Some(code));
        }
    }
}
