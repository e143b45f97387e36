//! I4 of rounds (01, 1.6; ADR 41): members that come after the start of a gang whose match policy counts anew are bound with as many
//! as that says, or none of them is; by what the TaskGroup says, and by who was bound and lost. With the first round those may have
//! started who belong to the gang beyond it (`totalMember`).
//!
//! Asked at rest, while the first process lives: one that comes later does not know who was of a round. Asked of gangs that start
//! without placeholders and have one TaskGroup, which was never edited, and no driver. Nor is it asked of one of which a member
//! went before it had a node, or was lost while the gang started, or of which a Binding failed, or left soon after a call had
//! failed: the others of its round may have been called off until then.

use std::collections::{BTreeMap, BTreeSet};

use gangline::api::task_group::{MatchPolicy, Reservation, TaskGroup, TaskGroupSpec};
use gangline::core::base::ids::{Key, Uid};
use gangline::shim::observation::{Body, Outcome};
use gangline::shim::op::{Call, Kind, Op};

use super::World;
use crate::sim::coverage::MEETINGS;
use crate::sim::marks::{application_of_pod, group_of, incarnation_in, incarnation_mark, is_member, member_of};
use crate::sim::oracle::{application_of, has_phase};
use crate::sim::people::node_of;
use crate::sim::process::EXCUSED_MS;

/// What was bound of each life of each task group, and what became of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    /// By `UID.LIFE`.
    lives: BTreeMap<String, Life>,
    /// Task groups and applications of which nothing is asked, by name.
    excused: BTreeSet<String>,
    /// When a call last failed so that Bindings may have to wait.
    troubled_ms: Option<u64>,
}

/// Members of one life of a task group, by UID.
#[derive(Clone, Debug, Default)]
struct Life {
    /// Those that were bound.
    bound: BTreeSet<String>,
    /// Those of them that failed, or went without having succeeded.
    lost: BTreeSet<String>,
    /// When the first one and the last one was bound.
    first_ms: u64,
    last_ms: u64,
    /// When the last one was lost.
    lost_ms: u64,
}

/// What is right or wrong with the members of a gang.
enum Verdict {
    /// It has had a round, which was whole.
    Whole(&'static str),
    Broken(String),
}

impl World {
    /// Nothing is asked any more of the rounds of a task group, or of the only one of an application.
    pub(crate) fn excuse_rounds(&mut self, name: &str) {
        self.rounds.excused.insert(name.to_owned());
    }

    fn excuse_rounds_of(&mut self, pod: &Key) {
        let group = self.api.store.get(Kind::Pod, pod).and_then(group_of).map(str::to_owned);
        group.iter().for_each(|group| self.excuse_rounds(group));
    }

    /// A Binding leaves, perhaps later than it was decided.
    pub(super) fn note_leaving(&mut self, call: &Call) {
        let is_late = self.rounds.troubled_ms.is_some_and(|at| self.now_ms < at + EXCUSED_MS);
        if let (Op::Bind { pod, .. }, true) = (&call.op, is_late) {
            self.excuse_rounds_of(pod);
        }
    }

    /// A call has arrived, or not. `is_fine`: it is made, and its answer on its way.
    pub(crate) fn note_arrival(&mut self, call: &Call, outcome: &Outcome, is_fine: bool) {
        let asks_for_patience = matches!(outcome, Outcome::NotSent | Outcome::Refused { retry_after: Some(_), .. });
        let failed = match &call.op {
            Op::Bind { pod, annotations, uid, .. } => {
                let is_made = is_fine && matches!(outcome, Outcome::Ok(_));
                if is_made {
                    self.note_bound(pod, uid, annotations);
                } else {
                    self.excuse_rounds_of(pod);
                }
                !is_made
            }
            Op::DeletePod { .. }
            | Op::FailPod { .. }
            | Op::CreatePod(_)
            | Op::CreateTaskGroup(_)
            | Op::EditTaskGroup { .. }
            | Op::GetPod { .. }
            | Op::PatchPodCondition { .. }
            | Op::AnnotateTimeout { .. }
            | Op::PatchTaskGroupStatus { .. }
            | Op::PatchQueueStatus { .. }
            | Op::PatchPodGroupStatus { .. }
            | Op::CreateEvent(_) => false,
        };
        if failed || asks_for_patience {
            self.rounds.troubled_ms = Some(self.now_ms);
        }
    }

    /// A member has a node.
    fn note_bound(&mut self, pod: &Key, uid: &Uid, annotations: &BTreeMap<String, String>) {
        let is_one = member_of(annotations).is_some() && !self.made.contains(&*uid.0);
        let Some(life) = incarnation_in(annotations).filter(|_| is_one) else { return };
        // A process that hears nothing for long does not know how many were lost.
        if self.deaf_until > 0 && self.now_ms < self.deaf_until + EXCUSED_MS {
            self.excuse_rounds_of(pod);
        }
        let now_ms = self.now_ms;
        let life = self.rounds.lives.entry(life.to_owned()).or_default();
        if life.bound.is_empty() {
            life.first_ms = now_ms;
        }
        life.bound.insert(uid.0.to_string());
        life.last_ms = now_ms;
    }

    /// Something became of a pod: who is lost is counted, and who goes without a node was perhaps about to get one.
    pub(super) fn note_end(&mut self, uid: &Uid, body: &Body, is_gone: bool) {
        let Body::Pod(pod) = body else { return };
        let group = group_of(body).map(str::to_owned);
        if group.is_none() {
            application_of_pod(body).into_iter().for_each(|application| self.excuse_rounds(application));
        }
        let (Some(group), false) = (group, self.is_made(body)) else { return };
        if node_of(body).is_none() {
            if is_gone || pod.metadata.deletion_timestamp.is_some() {
                self.excuse_rounds(&group);
            }
            return;
        }
        let is_lost = has_phase(pod, "Failed") || is_gone && !has_phase(pod, "Succeeded");
        let life = incarnation_mark(body).filter(|_| is_lost && is_member(body));
        let now_ms = self.now_ms;
        let Some(life) = life.and_then(|life| self.rounds.lives.get_mut(life)) else { return };
        let was_new = now_ms < life.first_ms + EXCUSED_MS;
        if life.bound.contains(&*uid.0) && life.lost.insert(uid.0.to_string()) {
            life.lost_ms = now_ms;
            if was_new {
                // One by one others take its place, until all have had a member.
                self.excuse_rounds(&group);
            }
        }
    }

    /// I4: what was bound of a gang since its start are whole rounds.
    pub(crate) fn check_rounds(&mut self) {
        if self.has_died() {
            return;
        }
        let groups = self.groups();
        let verdicts: Vec<Verdict> = groups.iter().filter_map(|one| self.judge_rounds(one, &groups)).collect();
        for verdict in verdicts {
            match verdict {
                Verdict::Whole(meeting) => self.note(|| meeting.to_owned()),
                Verdict::Broken(what) => self.violated("I4", what),
            }
        }
    }

    fn judge_rounds(&self, (name, group): &(String, TaskGroup), groups: &[(String, TaskGroup)]) -> Option<Verdict> {
        let application = application_of(name, group);
        let together = groups.iter().filter(|(name, group)| application_of(name, group) == application);
        let is_excused = self.rounds.excused.contains(name) || self.rounds.excused.contains(&application);
        if is_excused || together.count() > 1 || group.spec.reservation != Reservation::Direct {
            return None;
        }
        let incarnation = group.status.as_ref()?.incarnation;
        let life = self.rounds.lives.get(&format!("{}.{incarnation}", group.metadata.uid.as_deref()?))?;
        life.verdict(name, &group.spec)
    }
}

impl Life {
    fn verdict(&self, name: &str, spec: &TaskGroupSpec) -> Option<Verdict> {
        let bound = self.bound.len();
        let has = bound.saturating_sub(self.lost.len());
        let min = spec.min_member as usize;
        // So many may have started with the first.
        let most = spec.total_member.map_or(min, |total| min.max(total as usize));
        let is_whole = || (min..=most).any(|first| bound >= first && (bound - first).is_multiple_of(min));
        match spec.match_policy {
            MatchPolicy::OnceSatisfied => None,
            MatchPolicy::OnlyWaiting if !is_whole() => Some(Verdict::Broken(format!(
                "{bound} members of {name} were bound, of which {min} to {most} started, and a round is {min}"
            ))),
            MatchPolicy::OnlyWaiting => (min > 1 && bound > most).then_some(Verdict::Whole(MEETINGS[11])),
            // Of who is lost when a round is being bound its process does not know yet.
            MatchPolicy::WaitingAndRunning if has < min && self.last_ms > self.lost_ms + EXCUSED_MS => {
                Some(Verdict::Broken(format!("{name} has {has} of {min} members after its last round")))
            }
            MatchPolicy::WaitingAndRunning => {
                (has >= min && bound > most && has < bound).then_some(Verdict::Whole(MEETINGS[12]))
            }
        }
    }
}
