//! Wants become calls at the moment they leave, with the UID and text of that moment.

use std::collections::BTreeMap;

use super::outbox::{NotMade, Slot, Urgency};
use super::target::Target;
use super::{Controller, Follow};
use crate::api::names;
use crate::core::base::ids::{AskId, Key, Text, Uid};
use crate::core::event::PlaceholderName;
use crate::core::reason::AskReason;
use crate::core::show::queues::QueueReport;
use crate::shim::dialect::kubernetes::InitiallyScheduled;
use crate::shim::dialect::pod_group::{LET_IN, PodGroupStatus, System};
use crate::shim::mark;
use crate::shim::op::{Call, Op};
use crate::shim::placeholder::{PlaceholderConfig, pod};
use crate::shim::show;
use crate::shim::submitter;

impl Controller {
    /// The calls that leave now. None before everything is synced: nothing is written on half a picture (01, 1.11).
    pub(super) fn calls(&mut self) -> Vec<Call> {
        if !self.core.is_synced() {
            return Vec::new();
        }
        let mut outbox = std::mem::replace(&mut self.outbox, super::Outbox::new(self.settings.instance));
        let mut calls = outbox.next(self.now.mono, &mut |slot, target| self.make(slot, target));
        self.outbox = outbox;
        let follows = std::mem::take(&mut self.follows);
        if !follows.is_empty() {
            for follow in follows {
                match follow {
                    Follow::Pod(ask) => self.announce_pod(ask),
                    Follow::Group(key, reason) => self.announce_group(&key, reason),
                    Follow::Headroom(queue) => self.show_headroom_below(&queue),
                    Follow::PodGroup(system, key) => {
                        self.want_status(&Target::PodGroup(system, key), Urgency::Numbers, 0);
                    }
                }
            }
            calls.extend(self.calls());
        }
        calls
    }

    fn make(&mut self, slot: Slot, target: &Target) -> Result<Op, NotMade> {
        if slot.is_text() {
            self.texts = self.texts.and_then(|left| left.checked_sub(1));
            self.texts.ok_or(NotMade::Later)?;
        }
        self.make_now(slot, target).ok_or(NotMade::Moot)
    }

    fn make_now(&mut self, slot: Slot, target: &Target) -> Option<Op> {
        match (slot, target) {
            (Slot::Bind, Target::Ask(ask)) => self.make_bind(*ask),
            (Slot::Delete, Target::Ask(ask)) => {
                let pod = self.ledger.pod(*ask)?;
                Some(Op::DeletePod { pod: pod.key.clone(), uid: pod.uid.clone() })
            }
            (Slot::Fail, Target::Ask(ask)) => self.make_fail(*ask),
            (Slot::Create, Target::Placeholder(name)) => self.make_placeholder(name),
            (Slot::Declare, Target::Group(key)) => self.make_declared(key),
            (Slot::Condition, Target::Ask(ask)) => self.make_condition(*ask),
            (Slot::Annotate, Target::Ask(ask)) => self.make_timeout(*ask),
            (Slot::Status, Target::Group(key)) => self.make_group_status(key),
            (Slot::Status, Target::Queue(path)) => self.make_queue_status(path),
            (Slot::Declare | Slot::Status, Target::PodGroup(system, key)) => self.make_pod_group_status(*system, key),
            (Slot::Event, Target::Event(number)) => self.make_event(*number),
            (
                Slot::Bind
                | Slot::Delete
                | Slot::Fail
                | Slot::Create
                | Slot::Declare
                | Slot::Condition
                | Slot::Annotate
                | Slot::Status
                | Slot::Event,
                Target::Ask(_)
                | Target::Placeholder(_)
                | Target::Group(_)
                | Target::Queue(_)
                | Target::PodGroup(..)
                | Target::Event(_),
            ) => None,
        }
    }

    fn make_placeholder(&self, name: &PlaceholderName) -> Option<Op> {
        let blueprint = self.ledger.group(&name.group)?.blueprint.as_ref()?;
        let id = *self.core.books.group_ids.get(&name.group)?;
        let config = PlaceholderConfig {
            scheduler_name: self.settings.scheduler_names.first()?.clone(),
            image: self.settings.placeholder_image.clone(),
            queue: self.core.queue_shown(id)?,
            submitter: self.core.submitter_shown(id).cloned(),
        };
        Some(Op::CreatePod(Box::new(pod(name, blueprint, &config))))
    }

    fn make_bind(&mut self, ask: AskId) -> Option<Op> {
        let pod = self.ledger.pod(ask)?;
        let (node, mark) = self.bindings.get(&ask)?;
        // Facts that no other object holds, written ahead (design 02, 2.1).
        let mut annotations = BTreeMap::from([(names::BINDING.to_owned(), mark::write(mark))]);
        annotations.extend(self.core.counted_for_another(ask).as_ref().map(submitter::annotation));
        Some(Op::Bind { pod: pod.key.clone(), uid: pod.uid.clone(), node: node.clone(), annotations })
    }

    fn make_condition(&mut self, ask: AskId) -> Option<Op> {
        let reason = self.core.ask_reason(ask)?;
        let sentence = self.sentence(&reason);
        let condition = show::pod_condition(reason.code(), &sentence, self.now.wall);
        let pod = self.ledger.pod(ask)?;
        if pod.says(&condition) {
            // An earlier process left the pod with this very condition.
            return None;
        }
        let (pod, uid) = (pod.key.clone(), pod.uid.clone());
        self.ledger.forget_said(ask);
        self.follows.push(Follow::Pod(ask));
        Some(Op::PatchPodCondition { pod, uid, condition: Box::new(condition) })
    }

    /// The sentence of a pod's reason. It may take a look at every node and every member, so pods that wait for the
    /// same thing share one sentence until something changes.
    pub(super) fn sentence(&mut self, reason: &AskReason) -> Text {
        let revision = self.core.revision();
        if let Some((then, last, sentence)) = &self.sentence
            && (*then, last) == (revision, reason)
        {
            debug_assert_eq!(**sentence, *self.core.ask_message(reason), "nothing has changed");
            return sentence.clone();
        }
        let sentence: Text = self.core.ask_message(reason).into();
        self.sentence = Some((revision, reason.clone(), sentence.clone()));
        sentence
    }

    fn make_group_status(&mut self, key: &Key) -> Option<Op> {
        let group = *self.core.books.group_ids.get(key)?;
        let report = self.core.group_report(group)?;
        let message = self.core.group_message(group);
        let facts = self.ledger.group_mut(key)?;
        let status = show::group_status(&report, &message, (&key.name, facts), self.now.wall);
        let is_news = show::is_urgent(facts.status.latest(), &report, &message);
        // Also where the status itself says nothing new: an earlier process may not have come to this.
        self.follows.extend(facts.made_of.as_ref().map(|made| Follow::PodGroup(made.system, key.clone())));
        if !facts.status.send(&status) {
            return None;
        }
        let uid = facts.uid.clone();
        self.note_written(Target::Group(key.clone()), self.core.may_pass_soon(group), is_news);
        if !self.core.is_in_progress(group) {
            self.follows.push(Follow::Group(key.clone(), report.reason));
        }
        Some(Op::PatchTaskGroupStatus { group: key.clone(), uid, status: Box::new(status) })
    }

    /// What the system of a PodGroup would say there of its gang. Whoever else writes it is left alone: nothing is written again
    /// that is as we wrote it.
    fn make_pod_group_status(&mut self, system: System, key: &Key) -> Option<Op> {
        let (uid, status) = self.pod_group_status(system, key)?;
        let facts = self.ledger.pod_group_mut(system, key).filter(|facts| facts.uid == uid)?;
        // What was sent and refused has made no place for fields.
        let is_first = facts.status.last_seen().is_none();
        let is_news = facts.status.send(&Some(status.clone()));
        if is_news {
            facts.wrote = Some(self.now.mono);
        }
        is_news.then(|| Op::PatchPodGroupStatus { system, group: key.clone(), uid, status, is_first })
    }

    /// What is to be said of a PodGroup, and its UID: how far the gang is of the TaskGroup that was made of it; where there is none,
    /// that its pods may be made, if somebody waits for that.
    pub(super) fn pod_group_status(&self, system: System, key: &Key) -> Option<(Uid, PodGroupStatus)> {
        let made_of = self.ledger.group(key).and_then(|facts| facts.made_of.as_ref());
        let Some(made) = made_of.filter(|made| made.system == system && !made.is_left) else {
            let there = self.ledger.pod_group(system, key).filter(|there| there.waits(system))?;
            return Some((there.uid.clone(), PodGroupStatus { phase: LET_IN.to_owned(), ..PodGroupStatus::default() }));
        };
        let group = *self.core.books.group_ids.get(key)?;
        let report = self.core.group_report(group)?;
        let status = match system {
            System::Koordinator | System::Coscheduling | System::Volcano => show::pod_group_status(system, &report),
            System::Kubernetes => {
                let shown = self.ledger.pod_group(system, key).and_then(|there| there.status.latest().as_ref());
                let before = shown.and_then(|shown| shown.condition.as_ref());
                let message = self.core.group_message(group);
                let condition = InitiallyScheduled::of(&report, &message, before, self.now.wall)?;
                PodGroupStatus { condition: Some(condition), ..PodGroupStatus::default() }
            }
        };
        Some((made.uid.clone(), status))
    }

    fn make_queue_status(&mut self, path: &Text) -> Option<Op> {
        let report = match self.core.books.queues.find(path) {
            Some(queue) => self.core.queue_report(queue)?,
            None => QueueReport::default(),
        };
        let problems = self.ledger.queue_problems(path).to_vec();
        let keeps = self.ledger.keeps_earlier_spec(path);
        let facts = self.ledger.queue_mut(path)?;
        let status =
            show::queue_status(&report, &problems, (facts.generation, keeps), facts.status.latest(), self.now.wall);
        let is_news = status.conditions != facts.status.latest().conditions;
        if !status.headroom.is_empty() {
            // Also if the status itself says nothing new: the headroom may have changed and changed back, and the
            // status of a queue below may have been written in between.
            self.follows.push(Follow::Headroom(path.clone()));
        }
        if !facts.status.send(&status) {
            return None;
        }
        let uid = facts.uid.clone();
        self.note_written(Target::Queue(path.clone()), false, is_news);
        Some(Op::PatchQueueStatus { queue: path.clone(), uid, status: Box::new(status) })
    }
}
