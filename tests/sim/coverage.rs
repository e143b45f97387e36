//! What plays reach: every act, fault, end of a call, reason, and step of a state machine. What nothing reaches is not
//! tested, whatever the number of plans.

use std::collections::{BTreeMap, BTreeSet};

use gangline::core::base::ids::{AppId, GroupId};
use gangline::core::codes::Code;
use gangline::core::model::lifecycle::{AppEvent, AppState};
use gangline::core::model::seat::{Reserve, SeatState};
use gangline::core::step::Scheduler;
use gangline::shim::observation::{Observation, Outcome};
use gangline::shim::op::{Call, Kind, Op};
use serde_json::json;

use super::acts::{Act, Flaw, ReplicaDeed, Which};
use super::heard::{self, Calls};
use super::place::Place;
use super::plan::{Admission, Denied, Faults};
use super::words::{Family, Way, edits};
use super::world::Death;

/// What was reached.
pub(crate) type Reached = BTreeSet<String>;

/// Steps of a seat (01, 1.1, 1.4), as they are between two looks.
const SEAT_STEPS: &[(&str, &str)] = &[
    ("Open", "Creating"),
    ("Creating", "Pending"),
    ("Creating", "Open"),
    ("Pending", "Open"),
    ("Pending", "Binding"),
    ("Binding", "Held"),
    ("Binding", "Open"),
    ("Open", "Assumed"),
    ("Assumed", "Open"),
    ("Assumed", "Taken"),
    ("Held", "Open"),
    ("Held", "Leaving"),
    ("Leaving", "Open"),
    ("Held", "Releasing"),
    ("Releasing", "Assumed"),
    ("Releasing", "Open"),
    ("Taken", "Open"),
    ("Taken", "Gone"),
    ("Open", "Taken"),
    ("Taken", "Kept"),
    ("Held", "Kept"),
    ("Kept", "Open"),
    ("Kept", "Assumed"),
];

/// Looks at one play.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    pub(crate) reached: Reached,
    seats: BTreeMap<(u64, GroupId), Vec<&'static str>>,
    apps: BTreeMap<(u64, AppId), AppState>,
    about_seats: Calls,
}

impl Coverage {
    /// Somebody did something that had an effect: every field of it that says something, and of some what it says.
    pub(crate) fn act(&mut self, act: &Act) {
        let name = act.name();
        for (field, value) in act.said() {
            self.reached.insert(format!("act {name}.{field}"));
            if CHOICES.contains(&&*field) {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                self.reached.insert(format!("act {name}.{field}={value}"));
            }
        }
        self.reached.insert(format!("act {name}"));
    }

    /// A call leaves, to meet this fate.
    pub(crate) fn call(&mut self, leaving: &Call, fate: &str) {
        self.about_seats.leave(leaving);
        self.reached.insert(call(&leaving.op, fate));
        let codes = match &leaving.op {
            Op::PatchTaskGroupStatus { status, .. } => {
                let conditions = status.conditions.iter().map(|condition| condition.reason.clone());
                conditions.chain([status.reason.clone()]).collect()
            }
            Op::PatchQueueStatus { status, .. } => {
                status.conditions.iter().map(|condition| condition.reason.clone()).collect()
            }
            Op::FailPod { reason, .. } => vec![reason.to_string()],
            Op::PatchPodCondition { condition, .. } => codes(condition.reason.as_ref(), condition.message.as_ref()),
            Op::CreateEvent(event) => codes(event.reason.as_ref(), event.note.as_ref()),
            Op::Bind { .. }
            | Op::DeletePod { .. }
            | Op::CreatePod(_)
            | Op::CreateTaskGroup(_)
            | Op::EditTaskGroup { .. }
            | Op::GetPod { .. }
            | Op::AnnotateTimeout { .. }
            | Op::PatchPodGroupStatus { .. } => Vec::new(),
        };
        self.reached.extend(codes.into_iter().map(|code| format!("reason {code}")));
        if let Op::PatchTaskGroupStatus { status, .. } = &leaving.op {
            let told = [(" (user ", MEETINGS[7]), (" (group ", MEETINGS[8])];
            let told = told.iter().filter(|(words, _)| status.message.contains(words));
            self.reached.extend(told.map(|(_, meeting)| (*meeting).to_owned()));
        }
    }

    /// A call is answered.
    pub(crate) fn answer(&mut self, outcome: &Outcome) {
        self.reached.insert(format!("answer {}", answer(outcome)));
    }

    /// A new process says and does the same as the old one about so many gangs of all.
    pub(crate) fn restart(&mut self, compared: usize, all: usize) {
        if compared > 0 {
            self.reached.insert(RESTARTS[usize::from(2 * compared < all)].to_owned());
        }
    }

    /// A process dies over a call.
    pub(crate) fn death(&mut self, op: &Op, death: Death) {
        self.reached.insert(call(op, &format!("{death:?}")));
    }

    /// A process is about to look at what it was told.
    pub(crate) fn told(&mut self, number: u64, core: &Scheduler, batch: &[Observation]) {
        self.about_seats.told(number, core, batch, &mut self.reached);
    }

    /// A process has taken a step.
    pub(crate) fn step(&mut self, number: u64, core: &Scheduler) {
        for (id, app) in core.books.apps.iter() {
            let before = self.apps.insert((number, id), app.state());
            if let Some(before) = before.filter(|before| *before != app.state()) {
                self.reached.insert(app_step(before, app.state()));
            }
        }
        for (id, group) in core.books.groups.iter() {
            let now: Vec<_> = group.seats.iter().map(|(_, seat)| word(seat.state)).collect();
            let before = self.seats.insert((number, id), now.clone()).unwrap_or_default();
            let steps = before.iter().zip(&now).filter(|(before, now)| before != now);
            self.reached.extend(steps.map(|(before, now)| seat_step(before, now)));
        }
    }
}

/// What no plan can reach, and why.
const IMPOSSIBLE: &[(&str, &str)] = &[
    ("reason Submitted", "an application is judged in the step in which it becomes known"),
    ("reason TooManyPlaceholders", "gangs of plans have few members"),
    ("reason WaitingForPlaceholders", "as above"),
    ("reason QueueNameTooLong", "queues of plans that choose namespaces have short names"),
    ("application Resuming to New", "its only TaskGroup is made anew beside a driver, and is judged at once"),
];

/// Whether something could be reached that is called so.
pub(crate) fn could_be(what: &str) -> bool {
    let words = || SEAT_STEPS.iter().flat_map(|(before, now)| [before, now]);
    let is_step = words().any(|before| words().any(|now| before != now && seat_step(before, now) == what));
    is_step || expected().contains(what) && !IMPOSSIBLE.iter().any(|(name, _)| *name == what)
}

/// What the fixed plans do not reach. (Several steps of a seat between two looks are not listed: with enough plans any of its states
/// follows on any.)
pub(crate) fn gaps(reached: &Reached) -> Vec<String> {
    let impossible = |what: &String| IMPOSSIBLE.iter().any(|(name, _)| name == what);
    let missed = expected().into_iter().filter(|what| !reached.contains(what) && !impossible(what));
    missed.map(|what| format!("not reached: {what}")).collect()
}

/// What any plan shows to be untrue: that there is no more to do and to be told than is listed, or that something is
/// impossible.
pub(crate) fn untrue(reached: &Reached) -> Vec<String> {
    let all = expected();
    let is_new =
        |what: &&String| ["act ", "answer ", "call "].iter().any(|list| what.starts_with(list)) && !all.contains(*what);
    let unlisted = reached.iter().filter(is_new).map(|what| format!("not listed: {what}"));
    let possible = IMPOSSIBLE.iter().filter(|(what, _)| reached.contains(*what) || !all.contains(*what));
    unlisted
        .chain(heard::impossible(reached))
        .chain(possible.map(|(what, _)| format!("not impossible: {what}")))
        .collect()
}

/// Everything that there is.
fn expected() -> Reached {
    let acts = Act::names().into_iter().map(|name| format!("act {name}"));
    let faults = Faults::ALL.names().into_iter().map(|name| format!("fault {name}"));
    let faults = faults.filter(|name| !matches!(&**name, "fault denied" | "fault admission"));
    let denied = Denied::ALL.iter().map(|denied| format!("denied {denied:?}"));
    let admission = Admission::ALL.iter().map(|admission| format!("admission {admission:?}"));
    let details = denied.chain(admission).chain(fields()).chain(choices());
    let states = AppState::ALL.iter().flat_map(|state| DEEDS.map(|deed| format!("group {deed} while {state}")));
    let meetings =
        MEETINGS.into_iter().chain(REPLICAS).map(str::to_owned).chain(Way::ALL.map(Way::start)).chain(edits());
    let reasons = Code::ALL.iter().map(|code| format!("reason {code}"));
    let seats = SEAT_STEPS.iter().map(|(before, now)| seat_step(before, now));
    let apps = AppState::ALL.into_iter().flat_map(|state| {
        let next = AppEvent::ALL.into_iter().filter_map(move |event| state.next(event));
        next.map(move |next| app_step(state, next))
    });
    let calls = CALLS.iter().flat_map(|call| FATES.iter().map(move |fate| format!("call {call}: {fate}")));
    let answers = ANSWERS.map(|answer| format!("answer {answer}"));
    let deaths = CALLS.iter().filter(|call| !call.starts_with("get"));
    let deaths = deaths.flat_map(|call| Death::ALL.map(|death| format!("call {call}: {death:?}")));
    let restarts = RESTARTS.map(str::to_owned);
    acts.chain(faults)
        .chain(details)
        .chain(states)
        .chain(meetings)
        .chain(restarts)
        .chain(reasons)
        .chain(seats)
        .chain(apps)
        .chain(heard::expected())
        .chain(calls)
        .chain(answers)
        .chain(deaths)
        .collect()
}

/// Every field of every act.
fn fields() -> impl Iterator<Item = String> {
    Act::names().into_iter().flat_map(|name| {
        let fields = Act::fields(&name);
        fields.into_iter().map(move |field| format!("act {name}.{field}"))
    })
}

/// Everything that a field can say, of those that have a few things to say.
fn choices() -> impl Iterator<Item = String> {
    let said = |value: serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let flaws = Flaw::ALL.map(|flaw| format!("act group.flaw={}", said(json!(flaw))));
    let places = Place::ALL
        .into_iter()
        .flat_map(move |place| ["group", "pod"].map(|act| format!("act {act}.place={}", said(json!(place)))));
    let kinds = |act: &'static str| Kind::ALL.map(|kind| format!("act {act}.kind={}", kind.plural()));
    let others = Family::ALL.map(Family::kind);
    let vanish = [Kind::TaskGroup, Kind::Queue].into_iter().chain(others);
    let vanish = vanish.map(|kind| format!("act vanish.kind={}", kind.plural()));
    let families = Family::ALL.into_iter().flat_map(move |family| {
        ["pod-group", "drop-pod-group"].map(|act| format!("act {act}.family={}", said(json!(family))))
    });
    let codes = STORMS.map(|code| format!("act storm.code={code}"));
    let kinds = ["garble", "cut", "mute"].into_iter().flat_map(kinds);
    let which = Which::ALL.map(|which| format!("act replica.which={}", said(json!(which))));
    let does = ReplicaDeed::ALL.map(|does| format!("act replica.does={}", said(json!(does))));
    let kinds = kinds.chain(vanish).chain(families);
    flaws.into_iter().chain(places).chain(kinds).chain(codes).chain(which).chain(does)
}

/// Fields that have a few things to say.
const CHOICES: [&str; 7] = ["flaw", "place", "kind", "code", "which", "does", "family"];

/// What a storm refuses calls with.
pub(crate) const STORMS: [u16; 3] = [429, 500, 503];

/// What somebody does to a task group that is there.
const DEEDS: [&str; 2] = ["edited", "deleted"];

/// What has to meet for a rare case to be played.
pub(crate) const MEETINGS: [&str; 15] = [
    "a list shows another pod under a name, whose end nobody heard of",
    "two task groups are of one second",
    "a node has no room for a pod that was bound to it",
    "a placeholder that somebody else made holds a seat",
    "another pod has the name of a placeholder",
    "a watch goes on from where it was, and that is forgotten",
    "the server goes away over a call that it has carried out or refused",
    "a gang waits for what a user may use",
    "a gang waits for what a group may use",
    "somebody below a promise waits for nodes while others are served",
    "somebody below a promise is served while others wait for that",
    "a round is bound of those that come after the start",
    "a round is bound in the place of those that were lost",
    "who is there beyond those that start together starts with them",
    "who is there beyond those that start together finds no room with them",
];

pub(crate) const AFTER_A_KILL: &str = "two: one takes over after a kill";
pub(crate) const AFTER_A_RELEASE: &str = "two: one takes over after a release";
pub(crate) const FROM_A_STOPPED_ONE: &str = "two: one takes over from a stopped one";
pub(crate) const LEADS_AGAIN: &str = "two: one that was deposed leads again";
pub(crate) const NOT_SENT: &str = "two: a call of a deposed one does not leave";
pub(crate) const GIVEN_UP: &str = "two: the server gives a call up";
pub(crate) const BOTH_LEAD: &str = "two: both lead for a while";
/// What two processes come to.
const REPLICAS: [&str; 7] =
    [AFTER_A_KILL, AFTER_A_RELEASE, FROM_A_STOPPED_ONE, LEADS_AGAIN, NOT_SENT, GIVEN_UP, BOTH_LEAD];

const RESTARTS: [&str; 2] = ["restart compared of half of the gangs, or more", "restart compared of some gangs"];

const CALLS: &[&str] = &[
    "create pods/binding",
    "create pods",
    "delete pods",
    "get pods",
    "patch pods/status",
    "patch taskgroups/status",
    "patch queues/status",
    "create events",
    "create taskgroups",
    "patch taskgroups",
    "patch pods",
    "patch podgroups.scheduling.sigs.k8s.io",
    "patch podgroups.scheduling.x-k8s.io/status",
    "patch podgroups.scheduling.volcano.sh",
    "patch podgroups.scheduling.k8s.io/status",
];

/// Ways of a call to end.
pub(crate) const FATES: [&str; 9] = [
    "carried out",
    "answer lost",
    "lost",
    "late",
    "refused 403",
    "refused 429",
    "refused 500",
    "refused 503",
    "refused 504",
];

/// Ways of a call to be answered.
const ANSWERS: [&str; 5] = ["ok", "pruned", "refused", "unknown", "not sent"];

pub(crate) const fn answer(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Ok(_) | Outcome::Removed => "ok",
        Outcome::Pruned => "pruned",
        Outcome::Refused { .. } => "refused",
        Outcome::Unknown => "unknown",
        Outcome::NotSent => "not sent",
    }
}

/// A reason, and the code with which a text begins.
fn codes(reason: Option<&String>, text: Option<&String>) -> Vec<String> {
    let begins = text.and_then(|text| text.split_once(": ")).map(|(code, _)| code.to_owned());
    reason.cloned().into_iter().chain(begins).collect()
}

fn call(op: &Op, fate: &str) -> String {
    let (resource, verb) = op.rule();
    format!("call {verb} {resource}: {fate}")
}

fn app_step(before: AppState, now: AppState) -> String {
    format!("application {before} to {now}")
}

fn seat_step(before: &str, now: &str) -> String {
    format!("seat {before} to {now}")
}

pub(crate) const fn word(state: SeatState) -> &'static str {
    match state {
        SeatState::Open(Reserve::None) => "Open",
        SeatState::Open(Reserve::Creating) => "Creating",
        SeatState::Open(Reserve::Pending(_)) => "Pending",
        SeatState::Assumed(_) => "Assumed",
        SeatState::Binding(_) => "Binding",
        SeatState::Held(_) => "Held",
        SeatState::Leaving(_) => "Leaving",
        SeatState::Releasing { .. } | SeatState::Freed(_) => "Releasing",
        SeatState::Kept(_) => "Kept",
        SeatState::Taken(Some(_)) => "Taken",
        SeatState::Taken(None) => "Gone",
    }
}

/// Each step of an application is of one event: who reaches the steps has reached every event in every state.
#[test]
fn a_step_of_an_application_tells_its_event() {
    for state in AppState::ALL {
        let next: Vec<_> = AppEvent::ALL.into_iter().filter_map(|event| state.next(event)).collect();
        assert_eq!(BTreeSet::from_iter(&next).len(), next.len(), "from {state}: {next:?}");
    }
}
