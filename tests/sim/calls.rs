//! The way of calls from a process to the server and back: refused, lost, late, or deadly.

use gangline::api::task_group::TaskGroupStatus;
use gangline::core::base::ids::{Key, Uid};
use gangline::shim::observation::Outcome;
use gangline::shim::op::{Call, Kind, Op};
use gangline::sim::api::gave_up;
use gangline::sim::store::{Change, metadata};

use super::{CALL_MS, DOWN_MS, Death, Event, Fate, Faults, GIVEN_UP_MS, World};
use crate::sim::acts::Act;
use crate::sim::coverage::{GIVEN_UP, MEETINGS};
use crate::sim::marks::{group_of, seat_in};
use crate::sim::oracle::times_out;
use crate::sim::people::NS;
use crate::sim::plan::Admission;

impl World {
    /// A call leaves the process, which may die over it.
    pub(super) fn leave(&mut self, call: Call) {
        let (number, now) = (call.id.incarnation, self.now());
        if !self.may_leave(&call) {
            return;
        }
        let Some(process) = self.older.iter_mut().chain(&mut self.process).find(|process| process.number == number)
        else {
            return;
        };
        self.calls.iter_mut().for_each(|calls| calls.push(call.op.clone()));
        let (verdict, start) = (process.judge(now, call.id, &call.op, &self.made), process.start_in(&call.op));
        if let Err(violation) = verdict {
            self.violation.get_or_insert(violation);
        }
        self.check_starts();
        if let Op::DeletePod { uid, .. } = &call.op {
            self.called_off.insert(uid.0.to_string());
        }
        if let (Some(start), Op::Bind { uid, .. }) = (&start, &call.op) {
            self.check_goes_on(number, uid, start);
        }
        start.into_iter().for_each(|start| self.note_start(number, start));
        let name = name(&call.op);
        let fate = match self.faults.denied.filter(|denied| denied.concerns(&call.op)) {
            Some(denied) => {
                self.note(|| format!("denied {denied:?}"));
                Fate::Refused(403)
            }
            None => self.fate_apart(number, &name).unwrap_or_else(|| self.fate(&name)),
        };
        self.note_leaving(&call);
        let travels = CALL_MS + self.delayed("slow_ms", ("way", &name), self.faults.slow_ms);
        self.say(|| format!("    -> {name} ({fate:?})"));
        self.coverage.iter_mut().for_each(|coverage| coverage.call(&call, word(fate)));
        if matches!(call.op, Op::GetPod { .. }) {
            return self.at(self.now_ms + travels, Event::Arrive(Box::new(call), fate));
        }
        let planned = self.death.filter(|(at, _)| *at == self.writes.len()).map(|(_, death)| death);
        self.writes.push(name.clone());
        let death = planned.or_else(|| {
            let dies = self.happens("crash", ("crash", &name), self.faults.crash);
            dies.then(|| Death::ALL[self.chance.below("death", &name, 4) as usize])
        });
        // What the server refuses is not made by one that dies either.
        let is_refused = matches!(fate, Fate::Refused(_)) || self.away_until().is_some();
        let death = death.map(|death| if is_refused { Death::Before } else { death });
        match death {
            None => self.at(self.now_ms + travels, Event::Arrive(Box::new(call), fate)),
            Some(death) => self.die(&call, death, planned.is_some()),
        }
    }

    /// The process dies over a write; where a test counts its writes it is back as soon as it can be.
    fn die(&mut self, call: &Call, death: Death, counted: bool) {
        self.say(|| format!("dies: {death:?}"));
        self.coverage.iter_mut().for_each(|coverage| coverage.death(&call.op, death));
        let down = if counted { CALL_MS + 1 } else { self.chance.below("down", &name(&call.op), DOWN_MS) };
        if death == Death::AnswerLost || death == Death::After {
            let (outcome, now) = (self.carry_out(call), self.now_of(call.id.incarnation));
            if let (Death::After, Some(process)) = (death, self.life(call.id.incarnation)) {
                process.answer(now, call.id, outcome);
                process.controller.step(now, &mut process.batch);
            }
        }
        if self.kill_of_two(Some(call.id.incarnation), down) {
            // The other one goes on.
        } else if counted {
            // What was on its way arrives before anybody is back.
            self.kill(down);
        } else if self.running().count() > 1 {
            self.stop(call.id.incarnation);
        } else {
            self.kill(down);
        }
        if death == Death::Late {
            // Lists are late by as much as watches.
            let at = self.now_ms + down + self.faults.lag_ms + 1;
            self.at(at, Event::Arrive(Box::new(call.clone()), Fate::Unheard));
        }
    }

    /// Whether something goes wrong that does so often in a hundred.
    pub(super) fn happens(&mut self, fault: &'static str, (site, object): (&str, &str), percent: u8) -> bool {
        let happens = self.chance.percent(site, object, percent);
        if happens {
            self.note(|| format!("fault {fault}"));
        }
        happens
    }

    /// What becomes of a call of one that cannot reach the server: it left, and nobody hears of it.
    fn fate_apart(&mut self, number: u64, name: &str) -> Option<Fate> {
        let fates = [Fate::AnswerLost, Fate::Lost, Fate::Late];
        self.is_apart(number).then(|| fates[self.chance.below("apart", name, fates.len() as u64) as usize])
    }

    fn fate(&mut self, name: &str) -> Fate {
        if let Some(code) = self.refuses() {
            return Fate::Refused(code);
        }
        let Faults { refused, answer_lost, lost, late, slow_ms, .. } = self.faults;
        if self.happens("refused", ("refused", name), refused) {
            let codes = [429, 500, 503, 504];
            return Fate::Refused(codes[self.chance.below("code", name, 4) as usize]);
        }
        if self.happens("answer_lost", ("answer lost", name), answer_lost) {
            return Fate::AnswerLost;
        }
        if self.happens("lost", ("lost", name), lost) {
            return Fate::Lost;
        }
        if self.happens("late", ("late", name), late) {
            return Fate::Late;
        }
        Fate::Fine(CALL_MS + self.delayed("slow_ms", ("answer", name), slow_ms))
    }

    pub(super) fn arrive(&mut self, call: &Call, fate: Fate) {
        let number = call.id.incarnation;
        if self.away_until().is_some() {
            // Nobody answers the door; nor does anybody wait for what was given up.
            if matches!(fate, Fate::Unheard) {
                return;
            }
            self.note_arrival(call, &Outcome::NotSent, false);
            return self.at(self.now_ms + CALL_MS, Event::Answer(number, call.id, Box::new(Outcome::NotSent)));
        }
        let (delay, outcome) = match fate {
            Fate::Fine(delay) => (delay, self.make(call)),
            Fate::AnswerLost => {
                self.make(call);
                self.in_doubt(call)
            }
            Fate::Unheard => {
                self.say(|| format!("late: {}", name(&call.op)));
                self.has_acted = true;
                if let Some(pod) = name(&call.op).strip_prefix("patch pods/status ") {
                    self.said_late.insert(pod.to_owned());
                }
                self.firsts.is_late = true;
                self.make(call);
                self.firsts.is_late = false;
                return;
            }
            // Told as if it might have been made.
            Fate::Lost => self.in_doubt(call),
            Fate::Refused(code) => (CALL_MS, self.trouble(&name(&call.op), code)),
            Fate::Late => {
                let (delay, outcome) = self.in_doubt(call);
                let at = self.now_ms + delay + self.chance.below("lateness", &name(&call.op), GIVEN_UP_MS);
                self.at(at, Event::Arrive(Box::new(call.clone()), Fate::Unheard));
                (delay, outcome)
            }
        };
        self.note_arrival(call, &outcome, matches!(fate, Fate::Fine(_)));
        self.at(self.now_ms + delay, Event::Answer(number, call.id, Box::new(outcome)));
    }

    /// The answer to a call, unless the server has gone away before it said it, or cannot be reached: then nobody knows.
    pub(super) fn unless_away(&mut self, number: u64, outcome: Box<Outcome>) -> Box<Outcome> {
        if self.is_apart(number) && !matches!(*outcome, Outcome::NotSent) {
            return Box::new(Outcome::Unknown);
        }
        if self.away_until().is_none() || matches!(*outcome, Outcome::NotSent | Outcome::Unknown) {
            return outcome;
        }
        self.note(|| MEETINGS[6].to_owned());
        Box::new(Outcome::Unknown)
    }

    /// What is said, and when, of a call that may have been made, or may be yet: nothing, or an error that says as little.
    fn in_doubt(&mut self, call: &Call) -> (u64, Outcome) {
        let codes = [0, 0, 0, 408, 500, 502, 504];
        match codes[self.chance.below("doubt", &name(&call.op), codes.len() as u64) as usize] {
            0 => (GIVEN_UP_MS, Outcome::Unknown),
            code => (CALL_MS, self.trouble(&name(&call.op), code)),
        }
    }

    /// A refusal; one that asks for patience says for how long, sometimes.
    pub(crate) fn trouble(&mut self, name: &str, code: u16) -> Outcome {
        if code == 504 {
            return gave_up();
        }
        let says = matches!(code, 429 | 503) && self.chance.percent("retry-after", name, 50);
        let retry_after = says.then(|| 1_000 * (1 + self.chance.below("patience", name, 5)));
        Outcome::Refused { code, reason: "Trouble".into(), message: "try again".into(), retry_after }
    }

    /// A question after a pod that a replica answers which has not heard of the last change. It has heard of what the
    /// process was shown when it listed the pods.
    fn late_answer(&mut self, call: &Call) -> Option<Outcome> {
        let Op::GetPod { pod } = &call.op else { return None };
        if !self.chance.percent("stale", &pod.name, self.faults.stale) {
            return None;
        }
        let listed = self.life(call.id.incarnation)?.pods_listed;
        let [before, last] = self.states.get(pod)?;
        last.as_ref().filter(|last| last.revision > listed)?;
        let there = before.clone().filter(|change| !change.deleted);
        self.note(|| "fault stale".to_owned());
        self.say(|| format!("    <- as it was: {}", name(&call.op)));
        Some(there.map_or_else(
            || Outcome::Refused { code: 404, reason: "NotFound".into(), message: "late".into(), retry_after: None },
            |change| Outcome::Ok(Some(Box::new(change.seen))),
        ))
    }

    /// What a question after a pod may be answered by.
    pub(super) fn remember(&mut self, change: &Change) {
        if self.faults.stale > 0 {
            let states = self.states.entry(change.seen.key.clone()).or_default();
            states.rotate_left(1);
            states[1] = Some(change.clone());
        }
    }

    /// A call is carried out, perhaps of a process that another does not know of, which has planned without that.
    pub(crate) fn make(&mut self, call: &Call) -> Outcome {
        if self.has_given_up(call) {
            self.note(|| GIVEN_UP.to_owned());
            return gave_up();
        }
        self.check_made_in_time(call);
        if let (Op::Bind { pod, .. }, false) = (&call.op, self.is_of_the_only_one(call)) {
            let (groups, heard_ms) = (self.gang_of_pod(pod), self.heard_ms());
            self.overtaken.extend(groups.into_iter().map(|group| (group, heard_ms)));
        }
        let is_of_the_newest = call.id.incarnation == self.newest();
        if let (Op::DeletePod { pod, uid }, false) = (&call.op, is_of_the_newest) {
            // To the newest it is as if a user had deleted a placeholder that it had found.
            self.placeholder_of_a_living_group(pod, uid).iter().for_each(|group| self.disturb(group));
        }
        let outcome = self.late_answer(call).unwrap_or_else(|| self.carry_out(call));
        if let (Op::Bind { node, .. }, Outcome::Ok(_), false) = (&call.op, &outcome, is_of_the_newest) {
            // To the newest it is as if another scheduler had bound it.
            self.room_taken(node);
        }
        match outcome {
            Outcome::Ok(Some(seen)) => Outcome::Ok(Some(Box::new(self.as_read(Kind::Pod, *seen)))),
            Outcome::Ok(None)
            | Outcome::Removed
            | Outcome::Pruned
            | Outcome::Refused { .. }
            | Outcome::Unknown
            | Outcome::NotSent => outcome,
        }
    }

    /// The task group of a placeholder, if it is the one that the placeholder was made for, and nobody deletes that yet.
    fn placeholder_of_a_living_group(&self, pod: &Key, uid: &Uid) -> Option<String> {
        let body = self.api.store.get(Kind::Pod, pod)?;
        let is_it = metadata(body).uid.as_deref() == Some(&*uid.0) && metadata(body).deletion_timestamp.is_none();
        let name = group_of(body).filter(|_| is_it && self.is_made(body))?;
        let owner = metadata(body).owner_references.iter().flatten().next()?;
        let group = self.api.store.get(Kind::TaskGroup, &Key::new(NS, name))?;
        (metadata(group).uid.as_ref() == Some(&owner.uid)).then(|| name.to_owned())
    }

    /// Whether the process that made a call is the newest, and alone.
    pub(super) fn is_of_the_only_one(&self, call: &Call) -> bool {
        call.id.incarnation == self.newest() && self.older.is_empty()
    }

    fn newest(&self) -> u64 {
        self.process.as_ref().map_or(self.processes, |process| process.number)
    }

    /// A status as an older definition keeps it, where it drops a part.
    fn pruned(&self, op: &Op) -> Option<Op> {
        let Op::PatchTaskGroupStatus { group, uid, status } = op else { return None };
        let drops = self.faults.prunes && status.deadlines.is_some();
        let status = drops.then(|| Box::new(TaskGroupStatus { deadlines: None, ..(**status).clone() }))?;
        Some(Op::PatchTaskGroupStatus { group: group.clone(), uid: uid.clone(), status })
    }

    /// What admission made of a placeholder.
    fn note_admission(&mut self, op: &Op, outcome: &Outcome) {
        let Some(admission) = self.faults.admission.filter(|_| matches!(op, Op::CreatePod(_))) else { return };
        let shows = match (admission, outcome) {
            (Admission::Quota, Outcome::Refused { code, .. }) => *code == 403,
            (Admission::Sidecar, Outcome::Ok(Some(_))) => true,
            (Admission::Quota | Admission::Sidecar, _) => false,
        };
        if shows {
            self.note(|| format!("admission {admission:?}"));
        }
    }

    fn carry_out(&mut self, call: &Call) -> Outcome {
        let op = &call.op;
        let before = self.api.store.revision();
        let kept = self.pruned(op);
        let is_served = !matches!(op, Op::CreateTaskGroup(_)) || self.serves(Kind::TaskGroup);
        let mut outcome = if is_served {
            self.api.call(kept.as_ref().unwrap_or(op), self.now().wall)
        } else {
            Outcome::Refused { code: 404, reason: "NotFound".into(), message: "".into(), retry_after: None }
        };
        if kept.is_some() && matches!(outcome, Outcome::Ok(_)) {
            outcome = Outcome::Pruned;
            self.note(|| "fault prunes".to_owned());
        }
        self.note_admission(op, &outcome);
        self.note_firsts(call, &outcome);
        if let (Op::PatchPodCondition { pod, .. }, false) = (op, self.is_of_the_only_one(call)) {
            self.said_late.insert(pod.to_string());
        }
        if let (Op::Bind { pod, uid, annotations, .. }, Outcome::Ok(_)) = (op, &outcome)
            && let Some(seat) = seat_in(annotations)
        {
            self.note_seat(pod, uid, seat, self.is_of_the_only_one(call));
        }
        let is_deed = matches!(op, Op::CreatePod(_) | Op::DeletePod { .. } | Op::FailPod { .. } | Op::Bind { .. });
        self.deeds += usize::from(is_deed && self.api.store.revision() > before);
        if let (Op::CreatePod(_), Outcome::Ok(Some(seen))) = (op, &outcome) {
            self.made.insert(seen.uid.0.to_string());
            let name = seen.key.name.to_string();
            if self.happens("taken", ("taken", &name), self.faults.taken) {
                let at = self.now_ms + self.chance.below("taken at", &name, 50);
                self.at(at, Event::Act(Box::new(Act::DropPod { name, again: false })));
            }
        }
        if let (Op::PatchTaskGroupStatus { group, status, .. }, Outcome::Ok(_)) = (op, &outcome)
            && status.application_state == "Waiting"
        {
            self.note_pause(&group.name);
        }
        if let (Op::PatchTaskGroupStatus { group, status, .. }, Outcome::Ok(_)) = (op, &outcome)
            && times_out(status)
        {
            self.note_timeout(&group.name);
        }
        let meets = match (op, &outcome) {
            (Op::Bind { pod, .. }, Outcome::Ok(_)) => {
                self.api.store.get(Kind::Pod, pod).is_some_and(|body| self.is_forged(body)).then_some(MEETINGS[3])
            }
            (Op::CreatePod(pod), Outcome::Refused { code: 409, .. }) => {
                let name = pod.metadata.name.as_deref().unwrap_or_default();
                self.is_squatter(&Key::new(NS, name)).then_some(MEETINGS[4])
            }
            (_, _) => None,
        };
        meets.into_iter().for_each(|meeting| self.note(|| meeting.to_owned()));
        if let Outcome::Refused { code, .. } = &outcome {
            self.say(|| format!("    <- {code} {}", name(op)));
        }
        outcome
    }
}

/// As in [`FATES`](crate::sim::coverage::FATES).
const fn word(fate: Fate) -> &'static str {
    match fate {
        Fate::Fine(_) => "carried out",
        Fate::AnswerLost => "answer lost",
        Fate::Lost => "lost",
        Fate::Refused(403) => "refused 403",
        Fate::Refused(429) => "refused 429",
        Fate::Refused(500) => "refused 500",
        Fate::Refused(503) => "refused 503",
        Fate::Refused(504) => "refused 504",
        Fate::Refused(_) => "refused otherwise",
        Fate::Late | Fate::Unheard => "late",
    }
}

/// `create pods/binding ns/g-0`.
fn name(op: &Op) -> String {
    let (resource, verb) = op.rule();
    let about = match op {
        Op::Bind { pod, .. }
        | Op::DeletePod { pod, .. }
        | Op::FailPod { pod, .. }
        | Op::GetPod { pod }
        | Op::PatchPodCondition { pod, .. }
        | Op::AnnotateTimeout { pod, .. } => pod.to_string(),
        Op::CreatePod(pod) => pod.metadata.name.clone().unwrap_or_default(),
        Op::CreateTaskGroup(group) => group.metadata.name.clone().unwrap_or_default(),
        Op::EditTaskGroup { group, .. } => group.to_string(),
        Op::PatchTaskGroupStatus { group, status, .. } => {
            format!("{group} {} {}", status.application_state, status.reason)
        }
        Op::PatchQueueStatus { queue, .. } => queue.to_string(),
        Op::PatchPodGroupStatus { group, status, .. } => format!("{group} status {}", status.phase),
        Op::CreateEvent(event) => event.note.clone().unwrap_or_default(),
    };
    format!("{verb} {resource} {about}")
}
