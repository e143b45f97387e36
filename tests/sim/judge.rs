//! Judges what leaves a process, by what that process was told until then (design 04, 4.2).

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::task_group::Counts;
use gangline::core::base::ids::{Key, Uid};
use gangline::core::time::Now;
use gangline::shim::op::{CallId, Kind, Op};
use k8s_openapi::api::events::v1::Event;

use super::{EXCUSED_MS, GroupSeen, Intent, PodSeen, Process, Sent, is_within};
use crate::sim::amount::Amount;
use crate::sim::limits::Submitter;
use crate::sim::marks::{group_in, member_of, queue_in};
use crate::sim::oracle::Violation;
use crate::sim::people::levels;
use crate::sim::words::kind_of;

impl Process {
    /// Judges a call as it leaves, by what was observed until then.
    pub(crate) fn judge(&mut self, now: Now, id: CallId, op: &Op, made: &BTreeSet<String>) -> Result<(), Violation> {
        self.now_ms = now.mono.0;
        if !self.is_synced() {
            return Err(Violation::new("I10", format!("{op:?} leaves before everything is listed")));
        }
        self.forget_overdrawn();
        match op {
            Op::Bind { pod, uid, node, annotations } => {
                self.calls.insert(id, Sent::Bind(uid.clone()));
                self.judge_mark(pod, annotations)?;
                self.judge_bind(pod, uid, node, annotations)?;
                self.judge_own_queue(pod, annotations)
            }
            Op::DeletePod { pod, uid } if !made.contains(&*uid.0) => {
                Err(Violation::new("I8", format!("{pod} is deleted, and is no placeholder of ours")))
            }
            Op::DeletePod { pod, uid } => {
                self.calls.insert(id, Sent::Delete(pod.clone(), uid.clone()));
                let held = self.pods.get(pod).and_then(|pod| Some((pod.life_of.clone()?, pod.life?, pod.seat?)));
                held.into_iter().for_each(|seat| _ = self.swapped.entry(seat).or_insert(self.now_ms));
                Ok(())
            }
            Op::FailPod { pod, uid, .. } => self.judge_failure(pod, uid, made),
            Op::CreatePod(pod) => self.judge_create(pod),
            Op::PatchTaskGroupStatus { group, uid, status } => {
                self.judge_uid(Kind::TaskGroup, group, uid)?;
                self.judge_counts(group, &status.counts)
            }
            Op::PatchPodCondition { pod, uid, condition: _ } => self.judge_uid(Kind::Pod, pod, uid),
            Op::AnnotateTimeout { pod, uid, timed_out: _ } => self.judge_uid(Kind::Pod, pod, uid),
            Op::PatchQueueStatus { queue, uid, status: _ } => {
                self.judge_uid(Kind::Queue, &Key::cluster(queue.clone()), uid)
            }
            Op::PatchPodGroupStatus { system, group, uid, .. } => self.judge_uid(system.kind(), group, uid),
            Op::GetPod { pod } => {
                self.calls.insert(id, Sent::Get(pod.clone()));
                Ok(())
            }
            Op::CreateEvent(event) => self.judge_event(event),
            Op::CreateTaskGroup(group) => self.judge_declared(group),
            Op::EditTaskGroup { group, uid, edit, .. } => {
                self.judge_uid(Kind::TaskGroup, group, uid)?;
                self.judge_edit(group, uid, edit)
            }
        }
    }

    /// I8: who fails is ours and no placeholder, whatever it says of itself, and had no node and no end when it was seen last
    /// (01, 1.7).
    fn judge_failure(&self, key: &Key, uid: &Uid, made: &BTreeSet<String>) -> Result<(), Violation> {
        self.judge_uid(Kind::Pod, key, uid)?;
        let has_node = |pod: &PodSeen| pod.node.is_some() || self.answered.contains(&pod.uid);
        let is_placeholder = made.contains(&*uid.0);
        let may = |pod: &PodSeen| pod.ours && !is_placeholder && !pod.ended && !pod.terminating && !has_node(pod);
        if self.pods.get(key).is_some_and(may) {
            return Ok(());
        }
        Err(Violation::new("I8", format!("{key} is failed, and is no pod of ours that waits for a node")))
    }

    /// I9: a placeholder goes with a TaskGroup that is there, by its UID. One that may have been made is made again, to know.
    fn judge_create(&mut self, pod: &k8s_openapi::api::core::v1::Pod) -> Result<(), Violation> {
        let mut owners = pod.metadata.owner_references.iter().flatten();
        let owner = owners.find(|owner| owner.kind == "TaskGroup").map(|owner| Uid::new(owner.uid.as_str()));
        let is_there =
            |uid: &Uid| self.groups.get(uid).is_some_and(|group| self.group_uids.get(&group.key) == Some(uid));
        let is_known = owner.as_ref().is_some_and(is_there);
        let is_again = !self.created.insert((pod.metadata.name.clone(), owner));
        if is_known || is_again {
            return Ok(());
        }
        Err(Violation::new("I9", format!("{:?} is made for nobody", pod.metadata.name)))
    }

    /// I9: an event is about an object that was seen. It may be gone since: an event waits for all else.
    fn judge_event(&self, event: &Event) -> Result<(), Violation> {
        let about = event.regarding.clone().unwrap_or_default();
        let kind = match (about.api_version.as_deref(), about.kind.as_deref()) {
            (_, Some("Pod")) => Kind::Pod,
            (version, kind) => {
                kind_of(version.unwrap_or_default(), kind.unwrap_or_default()).unwrap_or(Kind::TaskGroup)
            }
        };
        let key = Key::new(about.namespace.unwrap_or_default(), about.name.unwrap_or_default());
        let seen = (kind, key, Uid::new(about.uid.unwrap_or_default()));
        if self.ever_seen.contains(&seen) {
            return Ok(());
        }
        Err(Violation::new("I9", format!("an event is about {seen:?}, which was never seen")))
    }

    /// I9: what is written about an object is written about the one that was seen last under its name.
    fn judge_uid(&self, kind: Kind, key: &Key, uid: &Uid) -> Result<(), Violation> {
        let seen = self.uids.get(&(kind, key.clone()));
        if seen == Some(uid) {
            return Ok(());
        }
        Err(Violation::new("I9", format!("{key} is written about as {}, and was seen as {seen:?}", uid.0)))
    }

    /// I12: a status says no more than what was observed when it is sent.
    fn judge_counts(&self, group: &Key, said: &Counts) -> Result<(), Violation> {
        let is_bound = |pod: &PodSeen| pod.node.is_some() || self.answered.contains(&pod.uid);
        let of_group =
            |key: &Key, pod: &PodSeen| key.namespace == group.namespace && pod.names(Some(&group.name), self.now_ms);
        let pods = || self.pods.iter().filter(|(key, pod)| of_group(key, pod)).map(|(_, pod)| pod);
        let scheduled = pods().filter(|pod| !pod.placeholder && !pod.ended && is_bound(pod)).count();
        let held = pods().filter(|pod| pod.placeholder && !pod.ended && is_bound(pod)).count();
        let placeholders = pods().filter(|pod| pod.placeholder).count();
        let found = [scheduled, held, placeholders].map(|count| count as u32);
        let more_run = said.running > said.scheduled;
        if more_run
            || [said.scheduled, said.held, said.placeholders].iter().zip(&found).any(|(said, found)| said > found)
        {
            return Err(Violation::new(
                "I12",
                format!("{group} says {said:?}, with {found:?} scheduled, held, placeholders"),
            ));
        }
        Ok(())
    }

    /// I5: who is bound for a task group names it, in its namespace. I3: it is charged to the queue of its gang.
    fn judge_mark(&self, key: &Key, annotations: &BTreeMap<String, String>) -> Result<(), Violation> {
        let queue = queue_in(annotations).unwrap_or_default();
        let (Some(uid), Some(pod)) = (group_in(annotations), self.pods.get(key)) else { return Ok(()) };
        let group = self.groups.get(&uid);
        let member_of = member_of(annotations);
        let is_gone = group.is_some_and(|group| self.group_uids.get(&group.key) != Some(&uid) || self.is_left(group));
        // One that may have been made is made again, to know.
        let is_in_doubt = self.intents.get(&pod.uid).is_some_and(|intent| intent.doubtful);
        if is_gone && !pod.placeholder && member_of.is_some() && !is_in_doubt {
            return Err(Violation::new("I5", format!("{key} is bound for a task group that is gone")));
        }
        self.judge_membership(key, pod, (member_of, group))?;
        if group.is_some_and(|group| !group.queues.is_empty() && !self.is_of_gang(group, queue)) {
            return Err(Violation::new(
                "I3",
                format!("{key} is charged to {queue}, which no task group of its gang names"),
            ));
        }
        Ok(())
    }

    /// I3: what is bound is charged to a queue; a pod outside gangs and applications to the one that it names.
    fn judge_own_queue(&self, key: &Key, annotations: &BTreeMap<String, String>) -> Result<(), Violation> {
        let charged = queue_in(annotations).unwrap_or_default();
        let is_alone = |pod: &&PodSeen| pod.group.is_none() && pod.earlier.is_empty() && !pod.is_of_application;
        let alone = self.pods.get(key).filter(is_alone);
        let decided_ms = |pod: &PodSeen| self.decided(&pod.uid).unwrap_or(self.now_ms);
        let is_right = |pod: &PodSeen| match pod.names_queue.as_deref() {
            Some(named) => named == charged,
            None => self.is_home(&key.namespace, charged, decided_ms(pod)),
        };
        if charged.is_empty() || alone.is_some_and(|pod| !is_right(pod)) {
            let named = alone.and_then(|pod| pod.names_queue.as_deref());
            return Err(Violation::new("I3", format!("{key} is charged to {charged:?}, and names {named:?}")));
        }
        Ok(())
    }

    /// Whether a task group names a queue, or another of its gang does: where one was edited while the gang ran, a new process
    /// counts all of it in one of these (ADR 0009).
    fn is_of_gang(&self, group: &GroupSeen, queue: &str) -> bool {
        let others = group.gang.iter().filter_map(|key| self.groups.get(self.group_uids.get(key)?));
        let mut all = others.chain([group]);
        all.clone().any(|one| self.is_named(one, queue)) || all.any(|one| self.runs_in(one, queue))
    }

    /// Whether a task group that names no queue has its work where a pod of its application runs, since its gang before it did.
    fn runs_in(&self, group: &GroupSeen, queue: &str) -> bool {
        let Some(last) = group.last.as_ref().filter(|last| last.spec.queue.is_none()) else { return false };
        let application = last.spec.application_id.as_deref().unwrap_or(&group.key.name);
        let mut pods = self.pods.iter().filter(|(key, _)| key.namespace == group.key.namespace).map(|(_, pod)| pod);
        pods.any(|pod| {
            let is_own =
                pod.application.as_deref() == Some(application) || pod.group.as_deref() == Some(&*group.key.name);
            is_own && pod.node.is_some() && pod.queue.as_deref() == Some(queue)
        })
    }

    /// I5: a member names its task group, which is the one that its Binding names; an originator names none.
    fn judge_membership(
        &self,
        key: &Key,
        pod: &PodSeen,
        (member_of, group): (Option<&str>, Option<&GroupSeen>),
    ) -> Result<(), Violation> {
        let decided_ms = self.sent.get(&pod.uid).map_or(self.now_ms, |(_, at)| *at);
        let is_its =
            |name: &str| group.is_some_and(|group| group.key.namespace == key.namespace && &*group.key.name == name);
        let group_of_placeholder = pod.group.as_deref().filter(|_| pod.placeholder);
        let is_right = match member_of.or(group_of_placeholder) {
            Some(name) => is_its(name) && pod.names(Some(name), decided_ms),
            None => pod.names(None, decided_ms) || self.is_of_a_group_that_went(key, pod),
        };
        if is_right {
            return Ok(());
        }
        let what = format!("{key} is bound as one of {member_of:?}, and names {:?}", pod.group);
        Err(Violation::new("I5", what))
    }

    /// Whether the TaskGroup that a pod names is gone while a pod that declares it runs: to make it anew would hold seats for those
    /// who run, so that it is an ordinary pod of its application (ADR 29).
    fn is_of_a_group_that_went(&self, key: &Key, pod: &PodSeen) -> bool {
        let Some(name) = &pod.group else { return false };
        let says =
            |one: &PodSeen| one.words.as_ref().is_some_and(|own| own.way.family().is_none() && own.gang == *name);
        let declares = |one: &PodSeen| one.node.is_some() && (one.declares.iter().any(|own| own == name) || says(one));
        let runs = self.pods.iter().any(|(other, one)| other.namespace == key.namespace && declares(one));
        runs && !self.group_uids.contains_key(&Key::new(key.namespace.clone(), name.as_str()))
    }

    fn judge_bind(
        &mut self,
        key: &Key,
        uid: &Uid,
        node: &str,
        annotations: &BTreeMap<String, String>,
    ) -> Result<(), Violation> {
        if let Some(intent) = self.intents.get(uid) {
            let same = intent.node == node;
            let what = || format!("{key} goes to {node}, and may be bound to {} yet", intent.node);
            return if same { Ok(()) } else { Err(Violation::new("I1", what())) };
        }
        let Some(pod) = self.pods.get(key).filter(|pod| pod.uid == *uid) else {
            return Err(Violation::new("I1", format!("{key} goes to {node}, and is not there")));
        };
        if let Some(old) = &pod.node {
            return Err(Violation::new("I1", format!("{key} goes to {node}, and is on {old}")));
        }
        if !pod.ours {
            return Err(Violation::new("I8", format!("{key} goes to {node}, and is not ours")));
        }
        let before = self.sent.get(uid).filter(|(to, _)| to == node).map(|(_, at)| *at);
        let decided_ms = before.unwrap_or(self.now_ms);
        let (node, queue, asks) = (node.to_owned(), queue_in(annotations).unwrap_or_default().to_owned(), pod.asks);
        let submitter = Submitter::bound(annotations, pod.submitter.clone());
        let intent = Intent { node, queue, submitter, asks, doubtful: false, decided_ms };
        self.sent.insert(uid.clone(), (intent.node.clone(), decided_ms));
        self.judge_node(key, &intent)?;
        self.judge_queues(key, &intent)?;
        self.judge_bounds(key, &intent)?;
        self.intents.insert(uid.clone(), intent);
        Ok(())
    }

    /// Another process has sent a pod somewhere, and that may be made yet.
    pub(crate) fn leave_room(
        &mut self,
        uid: &Uid,
        (node, queue): (&str, &str),
        (submitter, asks): (Option<Submitter>, Amount),
    ) {
        let (node, queue) = (node.to_owned(), queue.to_owned());
        let intent = Intent { node, queue, submitter, asks, doubtful: true, decided_ms: self.now_ms };
        self.intents.insert(uid.clone(), intent);
    }

    /// I2: with everything that is on the node and may be.
    fn judge_node(&self, key: &Key, new: &Intent) -> Result<(), Violation> {
        let Some(node) = self.nodes.get(&Key::cluster(new.node.as_str())) else {
            return Err(Violation::new("I2", format!("{key} goes to {}, which is not there", new.node)));
        };
        let is_long_so = |since: Option<u64>| since.is_some_and(|at| new.decided_ms.saturating_sub(at) >= EXCUSED_MS);
        let pod = self.pods.get(key);
        let is_kept_off = is_long_so(node.tainted_ms) && !pod.is_some_and(|pod| pod.wants.tolerates);
        if is_long_so(node.cordoned_ms) || is_kept_off {
            return Err(Violation::new("I2", format!("{key} goes to {}, which does not take it", new.node)));
        }
        if pod.is_some_and(|pod| !pod.wants.takes(node.zone.as_ref())) {
            return Err(Violation::new("I2", format!("{key} goes to {}, in the wrong zone", new.node)));
        }
        if new.decided_ms.saturating_sub(node.changed_ms) < EXCUSED_MS {
            return Ok(());
        }
        let there = self.pods.values().filter(|pod| pod.has_room() && pod.node.as_deref() == Some(&new.node));
        let coming = self.intents.values().filter(|intent| intent.node == new.node);
        let all: Vec<Amount> =
            there.map(|pod| pod.asks).chain(coming.map(|intent| intent.asks)).chain([new.asks]).collect();
        let (used, count) = (all.iter().copied().sum::<Amount>(), all.len() as u64);
        if !node.has.lets_in(new.asks, used) || count > node.pods {
            let what = format!("{key} goes to {}: {used:?} of {:?}, {count} of {} pods", new.node, node.has, node.pods);
            return Err(Violation::new("I2", what));
        }
        let kept: Vec<Amount> = self.kept(|lost| lost.node == new.node).collect();
        let (lost, count) = (kept.iter().copied().sum::<Amount>(), count + kept.len() as u64);
        if !node.has.lets_in(new.asks, used + lost) || count > node.pods {
            let what =
                format!("{key} goes to {}, where {lost:?} are kept for others: {used:?} of {:?}", new.node, node.has);
            return Err(Violation::new("I2", what));
        }
        Ok(())
    }

    /// I3: on every level of the queue's path.
    fn judge_queues(&self, key: &Key, new: &Intent) -> Result<(), Violation> {
        for level in levels(&new.queue) {
            let Some(queue) = self.queues.get(&Key::cluster(level)) else { continue };
            if queue.lowered || new.decided_ms.saturating_sub(queue.changed_ms) < EXCUSED_MS {
                continue;
            }
            let within = |queue: &str| is_within(queue, level);
            let there = self.pods.values().filter(|pod| pod.has_room() && pod.queue.as_deref().is_some_and(within));
            let coming = self.intents.values().filter(|intent| within(&intent.queue));
            let used = there.map(|pod| pod.asks).chain(coming.map(|intent| intent.asks)).sum::<Amount>() + new.asks;
            if !queue.most.lets_in(new.asks, used) {
                return Err(Violation::new("I3", format!("{key} takes {level} to {used:?} of {:?}", queue.most)));
            }
            let lost = self.kept(|lost| within(&lost.queue)).sum::<Amount>();
            if !queue.most.lets_in(new.asks, used + lost) {
                let what = format!("{key} takes {level} to {used:?} of {:?}, where {lost:?} are kept", queue.most);
                return Err(Violation::new("I3", what));
            }
        }
        Ok(())
    }
}
