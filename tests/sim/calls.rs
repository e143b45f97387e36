//! The way of calls from a process to the server and back: refused, lost, late, or deadly.

use gangline::shim::observation::Outcome;
use gangline::shim::op::{Call, Kind, Op};

use super::{CALL_MS, DOWN_MS, Death, Event, Fate, Faults, GIVEN_UP_MS, World};
use crate::sim::process::group_of;

impl World {
    /// A call leaves the process, which may die over it.
    pub(super) fn leave(&mut self, call: Call) {
        let number = call.id.incarnation;
        let Some(process) = self.older.iter_mut().chain(&mut self.process).find(|process| process.number == number)
        else {
            return;
        };
        if let Err(violation) = process.judge(call.id, &call.op, &self.made) {
            self.violation.get_or_insert(violation);
        }
        let name = name(&call.op);
        let fate = if self.faults.denied.is_some_and(|denied| denied.concerns(&call.op)) {
            Fate::Refused(403)
        } else {
            self.fate(&name)
        };
        let travels = CALL_MS + self.chance.delay("way", &name, self.faults.slow_ms);
        self.say(|| format!("    -> {name} ({fate:?})"));
        self.coverage.iter_mut().for_each(|coverage| coverage.call(&call.op, word(fate)));
        if matches!(call.op, Op::GetPod { .. }) {
            return self.at(self.now_ms + travels, Event::Arrive(Box::new(call), fate));
        }
        let planned = self.death.filter(|(at, _)| *at == self.writes.len()).map(|(_, death)| death);
        self.writes.push(name.clone());
        let death = planned.or_else(|| {
            let dies = self.chance.percent("crash", &name, self.faults.crash);
            dies.then(|| Death::ALL[self.chance.below("death", &name, 4) as usize])
        });
        match death {
            None => self.at(self.now_ms + travels, Event::Arrive(Box::new(call), fate)),
            Some(death) => self.die(&call, death, planned.is_some()),
        }
    }

    /// The process dies over a write; at once, and back at once, where a test counts its writes.
    fn die(&mut self, call: &Call, death: Death, counted: bool) {
        self.say(|| format!("dies: {death:?}"));
        self.coverage.iter_mut().for_each(|coverage| coverage.death(&call.op, death));
        let down = if counted { 0 } else { self.chance.below("down", "", DOWN_MS) };
        if death == Death::AnswerLost || death == Death::After {
            let (outcome, now) = (self.carry_out(&call.op), self.now());
            if let (Death::After, Some(process)) = (death, self.life(call.id.incarnation)) {
                process.answer(call.id, outcome);
                process.controller.step(now, &mut process.batch);
            }
        }
        if counted {
            self.process = None;
            self.start();
        } else if self.running().count() > 1 {
            self.stop(call.id.incarnation);
        } else {
            self.kill(down);
        }
        if death == Death::Late {
            self.at(self.now_ms + down + 1, Event::Arrive(Box::new(call.clone()), Fate::Unheard));
        }
    }

    fn fate(&mut self, name: &str) -> Fate {
        let Faults { refused, answer_lost, lost, late, slow_ms, .. } = self.faults;
        if self.chance.percent("refused", name, refused) {
            let codes = [429, 500, 503, 504];
            return Fate::Refused(codes[self.chance.below("code", name, 4) as usize]);
        }
        if self.chance.percent("answer lost", name, answer_lost) {
            return Fate::AnswerLost;
        }
        // Not made, and told as if it might have been.
        if self.chance.percent("lost", name, lost) {
            return Fate::Refused(0);
        }
        if self.chance.percent("late", name, late) {
            return Fate::Late;
        }
        Fate::Fine(CALL_MS + self.chance.delay("answer", name, slow_ms))
    }

    pub(super) fn arrive(&mut self, call: &Call, fate: Fate) {
        let number = call.id.incarnation;
        if self.away_until().is_some() {
            // Nobody answers the door; nor does anybody wait for what was given up.
            if matches!(fate, Fate::Unheard) {
                return;
            }
            return self.at(self.now_ms + CALL_MS, Event::Answer(number, call.id, Box::new(Outcome::NotSent)));
        }
        let (delay, outcome) = match fate {
            Fate::Fine(delay) => (delay, self.make(call)),
            Fate::AnswerLost => {
                self.make(call);
                (GIVEN_UP_MS, Outcome::Unknown)
            }
            Fate::Unheard => {
                self.say(|| format!("late: {}", name(&call.op)));
                self.has_acted = true;
                self.make(call);
                return;
            }
            Fate::Refused(0) => (GIVEN_UP_MS, Outcome::Unknown),
            Fate::Refused(code) => {
                let message = "try again".into();
                (CALL_MS, Outcome::Refused { code, reason: "Trouble".into(), message, retry_after: None })
            }
            Fate::Late => {
                let at = self.now_ms + GIVEN_UP_MS + self.chance.below("lateness", "", GIVEN_UP_MS);
                self.at(at, Event::Arrive(Box::new(call.clone()), Fate::Unheard));
                (GIVEN_UP_MS, Outcome::Unknown)
            }
        };
        self.at(self.now_ms + delay, Event::Answer(number, call.id, Box::new(outcome)));
    }

    /// A question after a pod that a replica answers which has not heard of the last change. It has heard of what the
    /// process was shown when it listed the pods.
    fn late_answer(&mut self, call: &Call) -> Option<Outcome> {
        let Op::GetPod { pod } = &call.op else { return None };
        if !self.chance.percent("stale", &pod.name, self.faults.stale) {
            return None;
        }
        let listed = self.life(call.id.incarnation)?.pods_listed;
        let all = self.api.store.all_after(0).ok()?;
        let mut changes = all.iter().rev().filter(|change| change.kind == Kind::Pod && change.seen.key == *pod);
        changes.next().filter(|last| last.revision > listed)?;
        let there = changes.next().filter(|change| !change.deleted);
        self.say(|| format!("    <- as it was: {}", name(&call.op)));
        Some(there.map_or_else(
            || Outcome::Refused { code: 404, reason: "NotFound".into(), message: "late".into(), retry_after: None },
            |change| Outcome::Ok(Some(Box::new(change.seen.clone()))),
        ))
    }

    /// A call is carried out, perhaps of a process that another does not know of, which has planned without that.
    fn make(&mut self, call: &Call) -> Outcome {
        let newest = self.process.as_ref().map_or(self.processes, |process| process.number);
        let is_known = call.id.incarnation == newest && self.older.is_empty();
        if let (Op::Bind { pod, .. }, false) = (&call.op, is_known) {
            let group = self.api.store.get(Kind::Pod, pod).and_then(group_of).map(str::to_owned);
            self.overtaken.extend(group);
        }
        self.late_answer(call).unwrap_or_else(|| self.carry_out(&call.op))
    }

    fn carry_out(&mut self, op: &Op) -> Outcome {
        let before = self.api.store.revision();
        let outcome = self.api.call(op, self.now().wall);
        let is_deed = matches!(op, Op::CreatePod(_) | Op::DeletePod { .. } | Op::Bind { .. });
        self.deeds += usize::from(is_deed && self.api.store.revision() > before);
        if let (Op::CreatePod(_), Outcome::Ok(Some(seen))) = (op, &outcome) {
            self.made.insert(seen.uid.0.to_string());
        }
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
        Fate::Refused(0) => "lost",
        Fate::Refused(403) => "refused 403",
        Fate::Refused(429) => "refused 429",
        Fate::Refused(500) => "refused 500",
        Fate::Refused(503) => "refused 503",
        Fate::Refused(_) => "refused 504",
        Fate::Late | Fate::Unheard => "late",
    }
}

/// `create pods/binding ns/g-0`.
fn name(op: &Op) -> String {
    let (resource, verb) = op.rule();
    let about = match op {
        Op::Bind { pod, .. } | Op::DeletePod { pod, .. } | Op::GetPod { pod } | Op::PatchPodCondition { pod, .. } => {
            pod.to_string()
        }
        Op::CreatePod(pod) => pod.metadata.name.clone().unwrap_or_default(),
        Op::PatchTaskGroupStatus { group, status, .. } => {
            format!("{group} {} {}", status.application_state, status.reason)
        }
        Op::PatchQueueStatus { queue, .. } => queue.to_string(),
        Op::CreateEvent(event) => event.note.clone().unwrap_or_default(),
    };
    format!("{verb} {resource} {about}")
}
