//! Whatever is wanted and however the server answers: the rules hold, and once it answers well everything is sent.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::tests::fail;
use super::window::SHARED;
use super::*;
use crate::api::task_group::{TaskGroup, TaskGroupSpec};
use crate::core::base::ids::{Key, Uid};
use crate::shim::op::Kind;

type Name = (Slot, u8);

#[derive(Clone, Debug)]
enum Deed {
    Want { name: Name, urgency: Urgency, within: u64, after: Option<Name> },
    Rush { slot: Slot, from: u8, count: u8 },
    Cancel(Name),
    Settle(Name),
    Pass(u64),
    Answer { which: prop::sample::Index, code: u16 },
}

fn name() -> impl Strategy<Value = Name> {
    (prop::sample::select(Slot::ALL.to_vec()), 0..6_u8)
}

fn urgency() -> impl Strategy<Value = Urgency> {
    prop::sample::select(vec![Urgency::Next, Urgency::Ordinary, Urgency::Numbers])
}

/// A rush is of many names at once, of a slot that shares what it may have in flight: six of each would never meet that.
fn deed() -> impl Strategy<Value = Deed> {
    let code = prop::sample::select(vec![0_u16, 1, 200, 200, 201, 403, 404, 409, 422, 429, 503]);
    prop_oneof![
        4 => (name(), urgency(), prop::sample::select(vec![0, 0, 500]), prop::option::weighted(0.2, name()))
            .prop_map(|(name, urgency, within, after)| Deed::Want { name, urgency, within, after }),
        1 => (prop::sample::select(vec![Slot::Delete, Slot::Create, Slot::Declare]), 0..60_u8, 10..40_u8)
            .prop_map(|(slot, from, count)| Deed::Rush { slot, from, count }),
        1 => name().prop_map(Deed::Cancel),
        1 => name().prop_map(Deed::Settle),
        2 => (0..3_000_u64).prop_map(Deed::Pass),
        6 => (any::<prop::sample::Index>(), code).prop_map(|(which, code)| Deed::Answer { which, code }),
    ]
}

/// The outbox with what a server and a controller would know.
struct World {
    outbox: Outbox<Name>,
    now: Mono,
    flights: BTreeMap<u64, Call>,
    /// Wanted and not reported or taken back.
    open: BTreeSet<Name>,
}

fn make((slot, which): &Name) -> Op {
    let (pod, uid) = (Key::new("ns", which.to_string()), Uid::new("u"));
    match slot {
        Slot::Bind => Op::Bind { pod, uid, node: "n".into(), annotations: BTreeMap::new() },
        Slot::Delete => Op::DeletePod { pod, uid },
        Slot::Fail => fail(pod, uid),
        Slot::Create => Op::CreatePod(Box::default()),
        Slot::Declare => Op::CreateTaskGroup(Box::new(TaskGroup::new("g", TaskGroupSpec::default()))),
        Slot::Condition => Op::PatchPodCondition { pod, uid, condition: Box::default() },
        Slot::Annotate => Op::AnnotateTimeout { pod, uid, timed_out: true },
        Slot::Status => Op::PatchTaskGroupStatus { group: pod, uid, status: Box::default() },
        Slot::Event => Op::CreateEvent(Box::default()),
    }
}

fn want(name: Name) -> Want<Name> {
    let object = (name.0 != Slot::Event).then(|| (Kind::Pod, Key::new("ns", name.1.to_string())));
    Want::new(name.0, name, object)
}

impl World {
    fn new() -> Self {
        Self { outbox: Outbox::new(7), now: Mono(0), flights: BTreeMap::new(), open: BTreeSet::new() }
    }

    fn play(&mut self, deed: &Deed) {
        match *deed {
            Deed::Want { name, urgency, within, after } => {
                // A cycle of followers would be the caller's mistake: only lower slots are followed.
                let after = after.filter(|leader| leader.0 > name.0).map(|leader| (leader.0, leader));
                self.want(Want { after, ..want(name).with(urgency).within(within) });
            }
            Deed::Rush { slot, from, count } => (from..from + count).for_each(|which| self.want(want((slot, which)))),
            Deed::Cancel(name) => {
                if self.outbox.cancel(name.0, &name) {
                    self.open.remove(&name);
                }
            }
            Deed::Settle(name) => {
                self.outbox.settle(name.0, &name);
                self.open.remove(&name);
            }
            Deed::Pass(millis) => self.now = self.now.after(millis),
            Deed::Answer { which, code } => {
                if !self.flights.is_empty() {
                    let sequence = *self.flights.keys().nth(which.index(self.flights.len())).expect("index in range");
                    self.answer(sequence, code);
                }
            }
        }
        self.send();
    }

    fn want(&mut self, want: Want<Name>) {
        let name = want.key;
        assert!(self.outbox.want(self.now, want));
        self.open.insert(name);
    }

    fn answer(&mut self, sequence: u64, code: u16) {
        let call = self.flights.remove(&sequence).expect("in flight");
        let outcome = match code {
            0 => Outcome::Unknown,
            1 => Outcome::NotSent,
            200 | 201 => Outcome::Ok(None),
            _ => Outcome::Refused { code, reason: "".into(), message: "".into(), retry_after: None },
        };
        if let Some(report) = self.outbox.outcome(self.now, call.id, outcome)
            && !matches!(report.verdict, Verdict::Denied(_))
        {
            self.open.remove(&report.key);
        }
    }

    fn send(&mut self) {
        let calls = self
            .outbox
            .next(self.now, &mut |slot, name| if slot == name.0 { Ok(make(name)) } else { Err(NotMade::Moot) });
        for call in calls {
            let object = |op: &Op| match op {
                Op::Bind { pod, .. } | Op::DeletePod { pod, .. } | Op::GetPod { pod } => Some(pod.clone()),
                Op::FailPod { pod, .. } | Op::PatchPodCondition { pod, .. } | Op::AnnotateTimeout { pod, .. } => {
                    Some(pod.clone())
                }
                Op::PatchTaskGroupStatus { group, .. } | Op::PatchPodGroupStatus { group, .. } => Some(group.clone()),
                Op::PatchQueueStatus { .. }
                | Op::CreatePod(_)
                | Op::CreateTaskGroup(_)
                | Op::EditTaskGroup { .. }
                | Op::CreateEvent(_) => None,
            };
            let own = object(&call.op);
            assert!(own.is_none() || self.flights.values().all(|other| object(&other.op) != own), "two at once");
            assert!(call.not_after > self.now);
            self.flights.insert(call.id.sequence, call);
        }
        assert!(self.flights.len() <= 64);
        for (slots, most) in SHARED {
            assert!(self.flying(slots) <= most, "{slots:?}: {}", self.flying(slots));
        }
        assert_eq!(self.outbox.in_flight(), self.flights.len());
    }

    /// How many calls are in flight that left in the turn of one of these.
    fn flying(&self, slots: &[Slot]) -> usize {
        let flights = self.flights.keys().filter_map(|sequence| self.outbox.flights.get(sequence));
        flights.filter(|flight| slots.contains(&flight.rank)).count()
    }

    /// The server answers everything well: nothing that is wanted may be left.
    fn heal(&mut self) {
        for _ in 0..10_000 {
            if let Some(sequence) = self.flights.keys().next().copied() {
                self.answer(sequence, 404);
            } else if let Some(at) = self.outbox.wake(self.now) {
                self.now = at;
            } else {
                break;
            }
            self.send();
        }
        assert!(self.open.is_empty(), "never ended: {:?}", self.open);
        assert_eq!((self.outbox.waiting(), self.outbox.in_flight(), self.outbox.wake(self.now)), (0, 0, None));
    }
}

/// What slots share is met by rushes, of which the deeds below have some.
#[test]
fn a_rush_of_each_uses_all_that_they_share() {
    for (slots, most) in SHARED {
        let mut world = World::new();
        for (from, slot) in (0..).step_by(30).zip(slots) {
            world.play(&Deed::Rush { slot: *slot, from, count: 30 });
        }
        assert_eq!(world.flying(slots), most, "{slots:?}");
        world.heal();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_rules_hold_and_everything_ends(deeds in prop::collection::vec(deed(), 0..120)) {
        let mut world = World::new();
        for deed in deeds {
            world.play(&deed);
        }
        world.heal();
    }
}
