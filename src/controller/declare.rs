//! TaskGroups that pods declare in another system's words, or objects of it that they name, are made for them (design 03, 3.2 and
//! 3.4): each once, as long as a pod that waits for a node declares it and it is not there. The core knows of it when it is seen, as
//! of any other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::Controller;
use super::cadence::NUMBERS_EVERY_MS;
use super::outbox::{Slot, Urgency, Want};
use super::target::Target;
use crate::api::task_group::{TaskGroup, TaskGroupSpec};
use crate::core::base::ids::{AskId, Key, Text};
use crate::core::codes::Code;
use crate::core::event::{Event, GroupSpec};
use crate::core::model::countdown::Deadline;
use crate::core::model::lifecycle::AppState;
use crate::core::reason::Refusal;
use crate::shim::dialect::Declared;
use crate::shim::dialect::pod_group::{LET_IN, System};
use crate::shim::escape;
use crate::shim::kinds::MadeOf;
use crate::shim::op::{GroupEdit, Kind, Op};
use crate::shim::submitter;
use crate::shim::task_group::{self, blueprint};

/// Which pods declare which TaskGroups.
#[derive(Clone, Debug, Default)]
pub(super) struct Declarations {
    by_pod: BTreeMap<AskId, (Place, Vec<Key>)>,
    /// The pods in their order, since of several the first counts: each pod of a gang may declare it, and of these there are
    /// thousands.
    by_group: BTreeMap<Key, BTreeSet<(Place, AskId)>>,
    /// Those that are there with another spec, and the pods that were told.
    different: BTreeSet<(Key, AskId)>,
    /// What was last told of the object of which each is made.
    told: BTreeMap<Key, Text>,
    /// Those of which the core knows that they are edited before their gang starts.
    behind: BTreeSet<Key>,
}

/// Where a pod stands among those that declare a TaskGroup: whether it says that its gang has timed out, and its name. Of one that
/// says so nothing is made; it follows its TaskGroup like the others.
type Place = (bool, Text);

/// What a pod says of TaskGroups, compared with what it said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    /// The same, or nothing.
    Nothing,
    /// The same, but not any more that its gang has timed out.
    Again,
    /// Something else.
    New,
}

/// So many pods of a gang are asked for what they declare, at most: nearly always all say the same.
const ASKED: usize = 8;

impl Declarations {
    /// A pod declares these from now on, in this place, and no others. Returns what is new of what it says, and of what another pod
    /// is the first, or nobody.
    fn note(&mut self, ask: AskId, declared: Option<(Place, &[Key])>) -> (Says, Vec<Key>) {
        if let (Some((was, before)), Some((is, groups))) = (self.by_pod.get(&ask), &declared)
            && was == is
            && before.as_slice() == *groups
        {
            // As most of the times that a pod is seen.
            return (Says::Nothing, Vec::new());
        }
        let groups = declared.as_ref().map_or(&[][..], |(_, groups)| *groups);
        let before = self.by_pod.remove(&ask);
        let says = match (&before, &declared) {
            (_, None) => Says::Nothing,
            (Some((was, before)), Some((is, _))) if **before == *groups => {
                if was.0 && !is.0 {
                    Says::Again
                } else {
                    Says::Nothing
                }
            }
            (Some(_) | None, Some(_)) => Says::New,
        };
        let mut turned = Vec::new();
        for (place, group) in before.iter().flat_map(|(place, before)| before.iter().map(move |group| (place, group))) {
            let pods = self.by_group.entry(group.clone()).or_default();
            let was_first = pods.first().is_some_and(|(_, first)| *first == ask);
            pods.remove(&(place.clone(), ask));
            if was_first {
                turned.push(group.clone());
            }
            if !groups.contains(group) {
                self.different.remove(&(group.clone(), ask));
                if pods.is_empty() {
                    self.by_group.remove(group);
                }
            }
        }
        if let Some((place, groups)) = declared {
            for group in groups {
                let pods = self.by_group.entry(group.clone()).or_default();
                pods.insert((place.clone(), ask));
                if pods.first().is_some_and(|(_, first)| *first == ask) {
                    turned.push(group.clone());
                }
            }
            self.by_pod.insert(ask, (place, groups.to_vec()));
        }
        (says, turned)
    }

    /// The pod whose declaration of a TaskGroup counts.
    fn first(&self, key: &Key) -> Option<AskId> {
        self.by_group.get(key)?.first().map(|(_, ask)| *ask)
    }

    /// How many pods declare something, and of how many objects something was told, or is known to the core.
    pub(super) fn len(&self) -> usize {
        self.by_pod.len() + self.told.len() + self.behind.len()
    }
}

impl Controller {
    /// What an event means for TaskGroups that are declared.
    pub(super) fn hear_of_declarations(&mut self, event: &Event) {
        match event {
            Event::Ask(ask, _) => self.note_declared(*ask),
            Event::AskGone(ask) => _ = self.note_groups(*ask, None),
            Event::Group(key, _) | Event::GroupRead(key, _) => {
                if self.edited(key).is_none() {
                    self.outbox.settle(Slot::Declare, &Target::Group(key.clone()));
                }
                self.want_declared(key);
                self.compare_with_declared(key);
            }
            Event::GroupGone(key) => {
                self.declarations.different.retain(|(other, _)| other != key);
                self.declarations.behind.remove(key);
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
        let (own, has_timed_out) = (pod.key.clone(), pod.timed_out == Some(true));
        let names = self.ledger.declares(ask);
        let groups: Option<Vec<Key>> = names.map(|names| names.iter().map(|name| own.beside(name)).collect());
        let declared = groups.as_deref().map(|groups| ((has_timed_out, own.name), groups));
        match self.note_groups(ask, declared) {
            // What it says of a gang that a PodGroup declares may be another thing now.
            Says::Nothing => {
                let is_first = |key: &&Key| self.declarations.first(key) == Some(ask);
                let keys: Vec<Key> = groups.iter().flatten().filter(is_first).cloned().collect();
                return keys.iter().for_each(|key| self.want_declared(key));
            }
            Says::Again => return groups.iter().flatten().for_each(|key| self.want_declared(key)),
            Says::New => {}
        }
        let warnings = self.ledger.pod(ask).map_or_else(String::new, |pod| pod.warnings().join("; "));
        if !warnings.is_empty() {
            self.tell_pod(ask, Code::DeclarationAdjusted, escape::message(&warnings));
        }
        for key in groups.into_iter().flatten() {
            self.want_declared(&key);
            self.tell_of_difference(ask, &key);
            self.compare(ask, &key);
            self.tell_of_object(&key);
        }
    }

    /// An object of another system came, changed or went, of which TaskGroups of its name are made.
    pub(super) fn hear_of_object(&mut self, system: System, key: &Key) {
        if self.ledger.pod_group(system, key).is_none() {
            for slot in [Slot::Status, Slot::Declare] {
                self.outbox.cancel(slot, &Target::PodGroup(system, key.clone()));
            }
        }
        self.want_declared(key);
        self.compare_with_declared(key);
        self.tell_of_object(key);
        self.let_in(system, key);
        if system.lets_in() {
            self.tell_of_refusal(system, key);
        }
    }

    /// Whoever wrote a PodGroup of Volcano's may make no pods before its phase says that it is let in: it is at once, since nothing
    /// is held for pods that are not there, and each waits for its gang. What was said of a gang that goes on is not said again. Who
    /// was let in and is put back is let in once more, at the pace of numbers: another scheduler may put it back each time.
    pub(super) fn let_in(&mut self, system: System, key: &Key) {
        let waiting = self.ledger.pod_group(system, key).filter(|there| there.waits(system));
        let Some(wrote) = waiting.map(|there| there.wrote) else { return };
        if self.pod_group_status(system, key).is_some_and(|(_, status)| status.phase == LET_IN) {
            let rest = wrote.map_or(0, |at| NUMBERS_EVERY_MS.saturating_sub(self.now.mono.since(at)));
            self.want_status(&Target::PodGroup(system, key.clone()), Urgency::Ordinary, rest);
        }
    }

    /// Nobody makes pods that could say what is wrong with a PodGroup that is not let in: it says so itself, once.
    fn tell_of_refusal(&mut self, system: System, key: &Key) {
        let unreadable = self.ledger.problem(system.kind(), key).map(|problem| format!("the object: {problem}"));
        let Some(there) = self.ledger.pod_group_mut(system, key) else { return };
        let problems = there.found.iter().flat_map(|found| &found.problems).map(ToString::to_string);
        let problems: Vec<String> = unreadable.into_iter().chain(problems).collect();
        let message = (!problems.is_empty()).then(|| escape::message(&problems.join("; ")));
        let is_told = there.told == message;
        there.told.clone_from(&message);
        if let Some(message) = message.filter(|_| !is_told) {
            self.tell_pod_group(system, key, Code::InvalidDeclaration, message);
        }
    }

    /// No gang starts by what is known to be out of date, nor by what the API server does not have yet: with a TaskGroup the core
    /// hears whether it is edited first.
    pub(super) fn follow_object(&mut self, event: &mut Event) {
        if let Event::Group(key, spec) | Event::GroupRead(key, spec) = event {
            spec.awaits_edit = self.is_behind(key);
            self.note_behind(key, spec.awaits_edit);
        }
    }

    /// The same when something else was seen than the TaskGroup.
    pub(super) fn hold_back(&mut self, key: &Key) {
        let Some(made) = self.ledger.group(key).and_then(|facts| facts.made_of.as_ref()) else { return };
        let awaits_edit = self.is_behind(key);
        if awaits_edit != self.declarations.behind.contains(key) {
            let spec = Box::new(GroupSpec { awaits_edit, ..(*made.spec).clone() });
            self.events.push(Event::Group(key.clone(), spec));
            self.note_behind(key, awaits_edit);
        }
    }

    fn note_behind(&mut self, key: &Key, is_behind: bool) {
        if is_behind {
            self.declarations.behind.insert(key.clone());
        } else {
            self.declarations.behind.remove(key);
        }
    }

    /// Whether the object of which a TaskGroup was made says something else than it, which is more than a time, or an edit is under way:
    /// who knows what it says by then.
    fn is_behind(&self, key: &Key) -> bool {
        self.followed(key).is_some_and(|(made, _, spec)| !made.spec.differs_in_timeouts_only(&spec))
            || self.outbox.is_under_way(Slot::Declare, &Target::Group(key.clone()))
    }

    /// Objects of another system are listed, or forgotten: which of the TaskGroups that are edited first still are.
    pub(super) fn look_at_those_behind(&mut self) {
        let behind: Vec<Key> = self.declarations.behind.iter().cloned().collect();
        behind.iter().for_each(|key| self.hold_back(key));
    }

    /// An object that pods name is wrong, so that nothing is made of it, or is read otherwise than it is written: the first of them
    /// says so, once.
    fn tell_of_object(&mut self, key: &Key) {
        let first = self.declarations.first(key);
        let Some((ask, (object, read))) = first.and_then(|ask| Some((ask, self.ledger.object_of(ask)?))) else {
            return;
        };
        let (code, words) = match read {
            // What was made of it was told when it was.
            Ok(_) if self.is_there(key) => (Code::DeclarationAdjusted, String::new()),
            Ok(warnings) => (Code::DeclarationAdjusted, warnings.join("; ")),
            Err(problems) => {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                (Code::InvalidDeclaration, problems.join("; "))
            }
        };
        let message = escape::message(&format!("{}: {words}", object.words()));
        if words.is_empty() {
            self.declarations.told.remove(key);
        } else if self.declarations.told.insert(key.clone(), message.clone()).as_ref() != Some(&message) {
            self.tell_pod(ask, code, message);
        }
    }

    /// What is new of what a pod says by declaring these.
    fn note_groups(&mut self, ask: AskId, declared: Option<(Place, &[Key])>) -> Says {
        let (says, turned) = self.declarations.note(ask, declared);
        for key in turned {
            self.want_declared(&key);
            if self.declarations.by_group.contains_key(&key) {
                continue;
            }
            let target = Target::Group(key.clone());
            self.outbox.cancel(Slot::Declare, &target);
            self.declarations.told.remove(&key);
            if self.announced.get(&target) == Some(&Some(Code::DeclarationRefused)) {
                self.announced.remove(&target);
            }
        }
        says
    }

    /// Wants a TaskGroup to be made, if it is declared and not there; or edited, if the object of which it was made has been.
    pub(super) fn want_declared(&mut self, key: &Key) {
        self.hold_back(key);
        let is_declared = self.declarations.by_group.contains_key(key);
        if is_declared && (!self.is_there(key) || self.edited(key).is_some()) {
            let want = Want::new(Slot::Declare, Target::Group(key.clone()), Some((Kind::TaskGroup, key.clone())));
            self.outbox.want(self.now.mono, want);
        }
    }

    fn is_there(&self, key: &Key) -> bool {
        self.ledger.group(key).is_some() || self.ledger.problem(Kind::TaskGroup, key).is_some()
    }

    /// The declaration that counts: of several pods that of the first by name, which is the same after a restart. One that names an
    /// object which is not there or wrong, or says that its gang has timed out, says nothing.
    fn declared(&self, key: &Key) -> Option<(AskId, Arc<Declared>)> {
        let mut pods = self.declarations.by_group.get(key)?.iter().take(ASKED);
        pods.find_map(|(_, ask)| Some((*ask, self.ledger.declared(*ask, &key.name)?)))
    }

    /// What the object of which a TaskGroup was made makes of it now, if that is something else: the TaskGroup as it is, the edit, and
    /// what it will be. Only where the first pod that names the object says nothing itself, and not with whom it starts, which makes
    /// another application of it.
    fn followed(&self, key: &Key) -> Option<(&MadeOf, GroupEdit, Box<GroupSpec>)> {
        let (made, declared) = self.ledger.follows(self.declarations.first(key)?, key)?;
        let (edit, spec) = follow(made, &declared.spec);
        (spec != made.spec).then_some((made, edit, spec))
    }

    /// The call that changes a TaskGroup as the object says now of which it was made: not once it has started.
    fn edited(&self, key: &Key) -> Option<Op> {
        let (made, edit, _) = self.followed(key)?;
        let (group, uid, generation) = (key.clone(), made.spec.uid.clone(), made.spec.generation);
        (!self.has_started(key, made)).then_some(Op::EditTaskGroup { group, uid, generation, edit })
    }

    /// Whether the gang of a TaskGroup goes on. What this process has not judged yet is as its status says; of a life of which nobody
    /// lives any more the next one is about to begin.
    fn has_started(&self, key: &Key, made: &MadeOf) -> bool {
        let group = self.core.books.group_ids.get(key).map(|id| &self.core.books.groups[*id]);
        let app = group.and_then(|group| group.app).map(|app| &self.core.books.apps[app]);
        let judged = app.filter(|app| app.state() != AppState::New);
        let state = judged.map(|app| app.state()).or(made.spec.remembered.state);
        let is_over = judged.is_some_and(|app| app.living == 0);
        matches!(state, Some(AppState::Resuming | AppState::Running | AppState::Waiting)) && !is_over
    }

    /// The TaskGroup as it is made or edited now; `None` if it is there and right, or nobody declares it any more.
    pub(super) fn make_declared(&self, key: &Key) -> Option<Op> {
        if let Some(edit) = self.edited(key) {
            return Some(edit);
        }
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
        let own = self.ledger.declared(ask, &key.name);
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
        if self.edited(key).is_some() {
            return;
        }
        let own = self.ledger.declared(ask, &key.name);
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

    /// Whether a call that is refused was to edit a TaskGroup which cannot be edited any more, as its gang has just started. There
    /// is nothing to tell; when it is tried again it is no edit any more.
    pub(super) fn is_edit_too_late(&self, slot: Slot, target: &Target, refusal: &Refusal) -> bool {
        let is_edit = matches!((slot, target), (Slot::Declare, Target::Group(key)) if self.is_there(key));
        is_edit && matches!(refusal.code, 409 | 422)
    }

    /// The API server refuses to make or edit a TaskGroup for now: the pod that declares it says so, once.
    pub(super) fn declaration_held_up(&mut self, key: &Key, refusal: &Refusal) {
        let (target, code) = (Target::Group(key.clone()), Code::DeclarationRefused);
        if self.announced.get(&target) == Some(&Some(code)) {
            return;
        }
        if let Some((ask, _)) = self.declared(key) {
            let deed = if self.is_there(key) { "edit" } else { "make" };
            let message = format!("the API server refused to {deed} TaskGroup {}: {refusal}; trying again", key.name);
            self.tell_pod(ask, code, message.into());
            self.announced.insert(target, Some(code));
        }
    }
}

/// What a TaskGroup is to say by what the object says now of which it was made. Where its system has no word for something, whatever
/// somebody else makes of that counts.
fn follow(made: &MadeOf, said: &TaskGroupSpec) -> (GroupEdit, Box<GroupSpec>) {
    let (min_member, wait_timeout_seconds) = (said.min_member, said.wait_timeout_seconds);
    let says_more = made.system.has_annotations();
    let (mode, match_policy) = (says_more.then_some(said.mode), says_more.then_some(said.match_policy));
    let total = if says_more { said.total_member } else { made.spec.total_member };
    let total_member = total.filter(|total| *total > min_member);
    let wait = wait_timeout_seconds.map(|seconds| u64::from(seconds) * 1_000);
    let timeouts = wait.map_or(made.spec.timeouts, |wait| made.spec.timeouts.with(Deadline::Wait, Some(wait)));
    let spec = GroupSpec {
        min_member,
        total_member,
        mode: mode.map_or(made.spec.mode, task_group::mode),
        match_policy: match_policy.map_or(made.spec.match_policy, task_group::match_policy),
        timeouts,
        ..(*made.spec).clone()
    };
    let total_member = total_member.unwrap_or(min_member);
    (GroupEdit { min_member, total_member, mode, match_policy, wait_timeout_seconds }, Box::new(spec))
}
