//! What happens to the pods of seats, and to calls about them, by where each seat stands when its process hears of it.

use std::collections::BTreeMap;
use std::iter;

use gangline::core::base::ids::{Key, Uid};
use gangline::core::event::Place;
use gangline::core::model::ask::Ask;
use gangline::core::model::seat::SeatState;
use gangline::core::step::Scheduler;
use gangline::shim::observation::{Body, Observation, Outcome, Seen, WatchFact};
use gangline::shim::op::{Call, CallId, Kind, Op};
use gangline::shim::pod::incarnation;

use super::coverage::{Reached, answer, word};
use super::marks::{Seat, seat_label};
use super::people::label;

/// Where a seat stands; while a placeholder gives way to a member, for which of the two pods.
const SEATS: [&str; 12] = [
    "Open",
    "Creating",
    "Pending",
    "Assumed",
    "Binding",
    "Held",
    "Leaving",
    "Releasing (placeholder)",
    "Releasing (member)",
    "Kept",
    "Taken",
    "Gone",
];

const BOUND: &str = "its pod is bound";
const TERMINATES: &str = "its pod terminates";
const FAILS: &str = "its pod fails";
const SUCCEEDS: &str = "its pod succeeds";
const GONE: &str = "its pod is gone";
const NEWS: [&str; 5] = [BOUND, TERMINATES, FAILS, SUCCEEDS, GONE];

const BINDING: &str = "Binding";
const CREATION: &str = "creation";
const DELETION: &str = "deletion";
const CALLS: [&str; 3] = [BINDING, CREATION, DELETION];

/// Ways of such a call to be answered. (That it was not sent is among the answers to all calls.)
const ANSWERS: [&str; 3] = ["ok", "refused", "unknown"];

/// Everything that could be heard: the seat, and what happens, or the call and how it is answered.
fn all() -> impl Iterator<Item = (&'static str, &'static str, Option<&'static str>)> {
    let calls = || CALLS.into_iter().flat_map(|call| ANSWERS.map(|answer| (call, Some(answer))));
    let heard = move || NEWS.into_iter().map(|news| (news, None)).chain(calls());
    SEATS.into_iter().flat_map(move |seat| heard().map(move |(what, answer)| (seat, what, answer)))
}

fn name(seat: &str, what: &str, answer: Option<&str>) -> String {
    iter::once(format!("seat {seat}: {what}")).chain(answer.map(str::to_owned)).collect::<Vec<_>>().join(" ")
}

/// All that plans reach.
pub(crate) fn expected() -> impl Iterator<Item = String> {
    let reached = all().filter(|(seat, what, _)| why_not(seat, what).is_none());
    reached.map(|(seat, what, answer)| name(seat, what, answer))
}

/// What was reached although it is taken to be impossible.
pub(crate) fn impossible(reached: &Reached) -> impl Iterator<Item = String> {
    let impossible = all().filter_map(|(seat, what, answer)| Some((name(seat, what, answer), why_not(seat, what)?)));
    impossible
        .filter(|(name, _)| reached.contains(name))
        .map(|(name, why)| format!("not impossible: {name}, though {why}"))
}

/// Why something is not heard of a seat.
fn why_not(seat: &str, what: &str) -> Option<&'static str> {
    match (seat, what) {
        ("Open" | "Creating" | "Kept" | "Gone", BOUND | TERMINATES | FAILS | SUCCEEDS | GONE | BINDING | DELETION) => {
            Some("it has no pod")
        }
        ("Pending", BINDING) => Some("as long as a Binding is in doubt it is Binding"),
        ("Releasing (member)", BINDING) => Some("the member is bound when the placeholder is gone"),
        ("Pending" | "Binding" | "Held" | "Leaving" | "Releasing (placeholder)", SUCCEEDS) => {
            Some("a placeholder runs until it is stopped, and who is stopped fails in the model")
        }
        ("Pending" | "Binding" | "Held", DELETION) => {
            Some("a placeholder that is deleted gives its seat to a member, leaves it, or has none any more")
        }
        ("Assumed" | "Releasing (member)" | "Taken", DELETION) => Some("members are not deleted"),
        ("Releasing (member)", CREATION) => Some("what is made is the placeholder"),
        _ => None,
    }
}

/// What processes were told of pods, and calls about seats that were not answered yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    about: BTreeMap<CallId, About>,
    /// Which pod of its name each process knows.
    known: BTreeMap<(u64, Key), Uid>,
}

/// Whose call it is.
#[derive(Clone, Debug)]
enum About {
    /// A pod that may have a seat.
    Pod(&'static str, Key, Uid),
    /// A placeholder that is to be made for a seat of this task group.
    Seat(Key, Seat),
}

impl Calls {
    /// A call leaves.
    pub(crate) fn leave(&mut self, call: &Call) {
        let about = match &call.op {
            Op::Bind { pod, uid, .. } => Some(About::Pod(BINDING, pod.clone(), uid.clone())),
            Op::DeletePod { pod, uid } => Some(About::Pod(DELETION, pod.clone(), uid.clone())),
            Op::CreatePod(pod) => {
                let body = Body::Pod(pod.clone().into());
                let group = label(&body, "gangline.dev/task-group");
                let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
                group.zip(seat_label(&body)).map(|(group, seat)| About::Seat(Key::new(namespace, group), seat))
            }
            Op::FailPod { .. }
            | Op::CreateTaskGroup(_)
            | Op::EditTaskGroup { .. }
            | Op::GetPod { .. }
            | Op::PatchPodCondition { .. }
            | Op::AnnotateTimeout { .. }
            | Op::PatchTaskGroupStatus { .. }
            | Op::PatchQueueStatus { .. }
            | Op::PatchPodGroupStatus { .. }
            | Op::CreateEvent(_) => None,
        };
        self.about.extend(about.map(|about| (call.id, about)));
    }

    /// A process is about to look at what it was told.
    pub(crate) fn told(&mut self, number: u64, core: &Scheduler, batch: &[Observation], reached: &mut Reached) {
        for observation in batch {
            match observation {
                Observation::Watch { kind: Kind::Pod, fact, .. } => {
                    let Some((seen, is_gone)) = seen(fact) else { continue };
                    let before = self.see(number, seen);
                    let is_same = before.is_none_or(|before| before == seen.uid);
                    let Some((ask, seat)) = seat_of(core, &seen.key) else { continue };
                    if is_same {
                        reached.extend(news(ask, seen, is_gone).map(|news| name(&seat, news, None)));
                    }
                }
                Observation::Outcome { id, outcome } => {
                    if let Some(about) = self.about.remove(id) {
                        reached.extend(self.answered(number, core, about, outcome));
                    }
                    if let Outcome::Ok(Some(seen)) = outcome {
                        self.see(number, seen);
                    }
                }
                Observation::Watch { .. } | Observation::Stop => {}
            }
        }
    }

    /// A process sees a pod; which one of the name it knew.
    fn see(&mut self, number: u64, seen: &Seen) -> Option<Uid> {
        self.known.insert((number, seen.key.clone()), seen.uid.clone())
    }

    /// What became of a call, by where its seat stands, if that is still about the pod of the call.
    fn answered(&self, number: u64, core: &Scheduler, about: About, outcome: &Outcome) -> Option<String> {
        let (call, seat) = match about {
            About::Pod(_, pod, uid) if self.known.get(&(number, pod.clone())) != Some(&uid) => return None,
            About::Pod(call, pod, _) => (call, seat_of(core, &pod)?.1),
            About::Seat(group, seat) => {
                let group = &core.books.groups[*core.books.group_ids.get(&group)?];
                let life = incarnation(&group.spec.as_ref()?.uid, group.lived);
                let seat = group.seats.get(seat.number).filter(|_| seat.incarnation == life)?;
                (CREATION, stands(seat.state, true))
            }
        };
        Some(name(&seat, call, Some(answer(outcome))))
    }
}

/// A pod, and where its seat stands, and which of the two pods that is, if there are two.
fn seat_of<'a>(core: &'a Scheduler, pod: &Key) -> Option<(&'a Ask, String)> {
    let (_, ask) = core.books.asks.iter().find(|(_, ask)| ask.spec.key == *pod)?;
    let state = core.books.groups.get(ask.group?)?.seats.get(ask.seat?)?.state;
    Some((ask, stands(state, ask.is_placeholder())))
}

/// Where a seat stands, for its placeholder or its member.
fn stands(state: SeatState, for_placeholder: bool) -> String {
    let whose = match state {
        SeatState::Releasing { .. } if for_placeholder => " (placeholder)",
        SeatState::Releasing { .. } => " (member)",
        SeatState::Open(_)
        | SeatState::Assumed(_)
        | SeatState::Binding(_)
        | SeatState::Held(_)
        | SeatState::Leaving(_)
        | SeatState::Freed(_)
        | SeatState::Kept(_)
        | SeatState::Taken(_) => "",
    };
    format!("{}{whose}", word(state))
}

const fn seen(fact: &WatchFact) -> Option<(&Seen, bool)> {
    match fact {
        WatchFact::Listed(seen) | WatchFact::Upsert(seen) => Some((seen, false)),
        WatchFact::Gone(seen) => Some((seen, true)),
        WatchFact::Unserved | WatchFact::ListBegin | WatchFact::ListEnd | WatchFact::Broken { .. } => None,
    }
}

/// What is new about a pod.
fn news(ask: &Ask, seen: &Seen, is_gone: bool) -> impl Iterator<Item = &'static str> {
    let (mut terminates, mut bound, mut ended) = (false, false, None);
    if let Ok(Body::Pod(pod)) = &seen.body {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        terminates = pod.metadata.deletion_timestamp.is_some() && !ask.spec.terminating;
        bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()) && ask.spec.place == Place::Pending;
        ended = match (phase, &ask.spec.place) {
            (_, Place::Succeeded | Place::Failed { .. }) => None,
            (Some("Succeeded"), _) => Some(SUCCEEDS),
            (Some("Failed"), _) => Some(FAILS),
            _ => None,
        };
    }
    let facts = [(is_gone, GONE), (terminates, TERMINATES), (bound, BOUND)];
    facts.into_iter().filter(|(is_so, _)| *is_so).map(|(_, news)| news).chain(ended)
}
