//! Two processes of which a Lease says who decides: what each is at a time, and what happens to it. The machine of the Lease,
//! what leaves when and for how long the server may try it, when one begins and ends to decide, and who follows, are what
//! ships; what is here is what the shell does with that.
//!
//! What leads is a process of the simulation, which begins with lists of everything; one that was deposed has ended.

use std::collections::BTreeMap;

use gangline::controller::follower::Follower;
use gangline::controller::lease::{Answer, Flights, Leases, Next, Request, Standing};
use gangline::core::base::ids::Text;
use gangline::core::time::Mono;
use gangline::shim::dialect::Dialect;
use gangline::shim::observation::{Body, Observation, Outcome, WatchFact};
use gangline::shim::op::{Call, CallId, Kind, Op};

use super::lease::{Stored, TIMING, own_name};
use super::{Event, Fate, World};
use crate::sim::amount::Amount;
use crate::sim::coverage::{LEADS_AGAIN, NOT_SENT};
use crate::sim::limits::Submitter;
use crate::sim::marks::queue_in;

#[path = "befalls.rs"]
mod befalls;

/// How far the monotonic clock of each process is from that of the one before.
const CLOCKS_APART_MS: u64 = 3_600_000;

/// Both, and their Lease.
#[derive(Clone)]
pub(super) struct Replicas {
    members: [Option<Member>; 2],
    pub(super) stored: Stored,
    /// How many processes have begun.
    begun: u64,
    /// How far the wall clock of each machine is beside that of the server.
    walls_ms: [i64; 2],
    /// Until then two may lead, and what one has sent may be made while the other leads: somebody tampered with the Lease.
    torn_until: u64,
    /// Until when the server tries each call.
    tried_until: BTreeMap<CallId, u64>,
    /// Who decided last, in which place, and what happened to it.
    last: Option<(usize, &'static str)>,
}

/// One of them.
#[derive(Clone)]
struct Member {
    /// The how manyth to begin it is, and where.
    of: u64,
    place: usize,
    leases: Leases,
    flights: Flights,
    /// What it is while it does not decide.
    follower: Follower,
    /// Its process in the world, and the reign in which that decides.
    decides: Option<(u64, u64)>,
    asked: Option<Asked>,
    turn_at: u64,
    /// Whether the Lease was there when it was last told of it: then it waits where that is gone.
    saw_it: bool,
    /// It is stopped in its next step, for so long.
    stops_for: Option<u64>,
    /// It stands still until then.
    stands_until: u64,
    /// It cannot reach the server until then.
    apart_until: u64,
    /// Calls that were decided, and had not left when it was stopped.
    held: Vec<Call>,
    ends: Option<End>,
}

/// What was asked of a Lease, and until when that is waited for.
#[derive(Clone)]
struct Asked {
    lease: Text,
    request: Request,
    until: u64,
}

/// It was told to end.
#[derive(Clone, Copy)]
struct End {
    /// It waits so long for its calls, or, where these have ended, for the Lease.
    until: u64,
    gives_back: bool,
    /// So long nobody is there in its place.
    away_ms: u64,
}

/// What is going to happen to one of them.
#[derive(Clone, Debug)]
pub(super) enum Post {
    /// A process begins in this place.
    Begin(usize),
    /// One that follows gets the list of a kind.
    Hear(u64, Kind),
    /// One looks at what there is to do about the Lease.
    Turn(u64),
    /// One that stood still goes on.
    Wake(u64),
    /// A request of one arrives, and is answered after so long.
    Arrive {
        of: u64,
        request: Request,
        answered_ms: Option<u64>,
    },
    Answer {
        of: u64,
        number: u64,
        answer: Answer,
    },
}

impl Member {
    fn new(of: u64, place: usize, dialects: &[Dialect]) -> Self {
        Self {
            of,
            place,
            leases: Leases::new(["gangline".into()], &own_name(of), TIMING),
            flights: Flights::default(),
            follower: Follower::new(dialects),
            decides: None,
            asked: None,
            turn_at: 0,
            saw_it: false,
            stops_for: None,
            stands_until: 0,
            apart_until: 0,
            held: Vec::new(),
            ends: None,
        }
    }

    /// What its monotonic clock says at a time of the world.
    const fn mono(&self, now_ms: u64) -> Mono {
        Mono(now_ms + self.of * CLOCKS_APART_MS)
    }

    /// How it stands, by its own clock.
    fn standing(&self, now_ms: u64) -> (Standing, Mono) {
        let now = self.mono(now_ms);
        (self.leases.standing(now), now)
    }

    /// Whether it leads in the reign in which it decides, by the Lease alone.
    fn leads(&self, now_ms: u64) -> bool {
        let (standing, now) = self.standing(now_ms);
        self.decides.is_some_and(|(_, reign)| standing.reign(now) == Some(reign))
    }

    /// For how many seconds the server may try a call that leaves now, as the executor asks; none if it is not to leave.
    fn tries_seconds(&self, now_ms: u64, call: &Call) -> Option<u64> {
        let ((_, reign), (standing, now)) = (self.decides?, self.standing(now_ms));
        standing.tries_seconds(reign, TIMING.spare_ms(), now).filter(|_| now_ms <= call.not_after.0)
    }

    const fn stands_still(&self, now_ms: u64) -> bool {
        self.stands_until > now_ms
    }

    /// What to do about the Lease now. What was asked and has no answer in its time has failed.
    fn next(&mut self, now_ms: u64) -> (Text, Next) {
        let now = self.mono(now_ms);
        if let Some(asked) = self.asked.take_if(|asked| asked.until <= now_ms) {
            self.leases.heard(now, &asked.lease, &asked.request, Answer::Failed);
        }
        self.leases.next(now, self.follower.stats().synced)
    }
}

impl Replicas {
    fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().flatten()
    }

    fn member(&mut self, of: u64) -> Option<&mut Member> {
        self.members.iter_mut().flatten().find(|member| member.of == of)
    }

    /// Whose this process in the world is.
    fn of_process(&self, number: u64) -> Option<&Member> {
        self.members().find(|member| member.decides.is_some_and(|(process, _)| process == number))
    }

    /// Whether the server does not try a call any more.
    fn has_given_up(&self, call: &Call, now_ms: u64) -> bool {
        self.tried_until.get(&call.id).is_some_and(|until| *until < now_ms)
    }
}

/// What each does by itself, as the shell does it.
impl World {
    /// From now on there are two processes, which have a Lease. Nothing has happened yet.
    pub(crate) fn replicate(&mut self) {
        (self.process, self.processes, self.is_orderly) = (None, 0, true);
        self.agenda.clear();
        self.replicas = Some(Box::new(Replicas {
            members: [None, None],
            stored: Stored::default(),
            begun: 0,
            walls_ms: [0, 0],
            torn_until: 0,
            tried_until: BTreeMap::new(),
            last: None,
        }));
        (0..2).for_each(|place| self.post(0, Post::Begin(place)));
    }

    pub(super) fn post(&mut self, after_ms: u64, post: Post) {
        self.at(self.now_ms + after_ms, Event::Lease(Box::new(post)));
    }

    /// Something happens to one of them.
    pub(super) fn happens_at_lease(&mut self, post: Post) {
        match post {
            Post::Begin(place) => self.begin(place),
            Post::Hear(of, kind) => self.follow(of, kind),
            Post::Turn(of) if self.candidate(of).is_some_and(|member| member.turn_at == self.now_ms) => self.turn(of),
            Post::Turn(_) => {}
            Post::Wake(of) => self.wake(of),
            Post::Arrive { of, request, answered_ms } => self.lease_is_asked(of, &request, answered_ms),
            Post::Answer { of, number, answer } => self.lease_answers(of, number, answer),
        }
        self.check_one_leads();
    }

    fn candidate(&self, of: u64) -> Option<&Member> {
        self.replicas.as_ref()?.members().find(|member| member.of == of)
    }

    fn candidate_mut(&mut self, of: u64) -> Option<&mut Member> {
        self.replicas.as_mut()?.member(of)
    }

    /// Whose this process is.
    fn decider(&self, number: u64) -> Option<&Member> {
        self.replicas.as_ref()?.of_process(number)
    }

    fn begin(&mut self, place: usize) {
        let Some(replicas) = self.replicas.as_mut().filter(|replicas| replicas.members[place].is_none()) else {
            return;
        };
        replicas.begun += 1;
        let of = replicas.begun;
        replicas.members[place] = Some(Member::new(of, place, self.dialects));
        if replicas.stored.is_gone() {
            // It cannot know that somebody may hold it.
            self.tear();
        }
        self.say(|| format!("{} begins", own_name(of)));
        self.begin_to_follow(of);
        self.turn(of);
    }

    /// It knows nothing, and lists everything.
    fn begin_to_follow(&mut self, of: u64) {
        let dialects = self.dialects;
        self.candidate_mut(of).into_iter().for_each(|member| member.follower = Follower::new(dialects));
        for kind in self.kinds() {
            let delay = self.chance.delay("follows", kind.plural(), self.faults.lag_ms);
            self.post(delay, Post::Hear(of, kind));
        }
    }

    /// I10: one that follows hears, and asks for nothing.
    fn follow(&mut self, of: u64, kind: Kind) {
        let Some(member) = self.candidate(of) else { return };
        let until = member.stands_until.max(member.apart_until).max(self.away_until().unwrap_or(0));
        if until > self.now_ms {
            return self.post(until - self.now_ms, Post::Hear(of, kind));
        }
        let listed = self.api.store.list(kind).1.into_iter().map(WatchFact::Listed);
        let facts = [WatchFact::ListBegin].into_iter().chain(listed).chain([WatchFact::ListEnd]);
        let mut batch = facts.map(|fact| Observation::Watch { kind, conn: 1, fact }).collect();
        let Some(member) = self.candidate_mut(of) else { return };
        let turn = member.follower.step(&mut batch);
        if let Some(call) = turn.calls.first() {
            self.violated("I10", format!("one that follows asks for {:?}", call.op));
        }
    }

    /// One does what there is to do about the Lease, and is what follows from that.
    fn turn(&mut self, of: u64) {
        let now_ms = self.now_ms;
        self.end_if_settled(of);
        let Some(member) = self.candidate_mut(of).filter(|member| !member.stands_still(now_ms)) else { return };
        let (lease, next) = member.next(now_ms);
        match next {
            Next::Ask(request) => self.ask(of, lease, request),
            Next::Wait(at) => self.turn_at(of, at.0.saturating_sub(of * CLOCKS_APART_MS)),
            Next::End => return self.has_given_back(of),
        }
        self.become_what_it_is(of);
    }

    fn turn_at(&mut self, of: u64, at: u64) {
        let now_ms = self.now_ms;
        let Some(member) = self.candidate_mut(of) else { return };
        let end = member.ends.map(|end| end.until).filter(|until| *until > now_ms);
        member.turn_at = end.map_or(at, |end| end.min(at)).max(now_ms + 1);
        let after_ms = member.turn_at - now_ms;
        self.post(after_ms, Post::Turn(of));
    }

    fn ask(&mut self, of: u64, lease: Text, request: Request) {
        let now_ms = self.now_ms;
        let until = now_ms + request.within_ms;
        let Some(member) = self.candidate_mut(of) else { return };
        member.asked = Some(Asked { lease, request: request.clone(), until });
        let is_apart = member.apart_until > now_ms;
        self.turn_at(of, until);
        self.ask_of_lease(of, request, is_apart);
    }

    fn lease_answers(&mut self, of: u64, number: u64, answer: Answer) {
        let now_ms = self.now_ms;
        let Some(member) = self.candidate_mut(of).filter(|member| member.apart_until <= now_ms) else { return };
        if member.stands_still(now_ms) {
            let after_ms = member.stands_until - now_ms;
            return self.post(after_ms, Post::Answer { of, number, answer });
        }
        if let Some(asked) = member.asked.take_if(|asked| asked.request.number == number) {
            member.saw_it = matches!(answer, Answer::Shown(_)) || member.saw_it && answer != Answer::Absent;
            member.leases.heard(member.mono(now_ms), &asked.lease, &asked.request, answer);
        }
        self.turn(of);
    }

    /// Begins to decide, or ceases to, as the owner task does.
    fn become_what_it_is(&mut self, of: u64) {
        let now_ms = self.now_ms;
        let is_free = |member: &&Member| !member.stands_still(now_ms) && member.ends.is_none();
        let Some(member) = self.candidate(of).filter(is_free) else { return };
        let ((standing, now), decides) = (member.standing(now_ms), member.decides);
        if !member.flights.has_turned(decides.map(|(_, reign)| reign), standing, now) {
            return;
        }
        if decides.is_some() {
            self.depose(of);
        }
        let begins = self.candidate(of).and_then(|member| member.flights.begins(standing, now));
        begins.into_iter().for_each(|reign| self.lead(of, reign));
    }

    /// As above, before the process takes a step.
    pub(super) fn become_first(&mut self, number: u64) {
        let of = self.decider(number).map(|member| member.of);
        of.into_iter().for_each(|of| self.become_what_it_is(of));
    }

    fn depose(&mut self, of: u64) {
        let now_ms = self.now_ms;
        self.say(|| format!("{} is deposed", own_name(of)));
        self.end_process_of(of);
        let Some(member) = self.candidate_mut(of) else { return };
        member.flights.abandon(member.mono(now_ms));
        self.begin_to_follow(of);
    }

    /// One decides from now on, and begins with lists of everything.
    fn lead(&mut self, of: u64, reign: u64) {
        let number = self.processes + 1;
        let Some(replicas) = &mut self.replicas else { return };
        let last = replicas.last.take();
        let Some(member) = replicas.member(of) else { return };
        member.decides = Some((number, reign));
        let from_another = last.filter(|(before, _)| *before != member.place).map(|(_, what)| what);
        let what = from_another.or((reign > 1).then_some(LEADS_AGAIN));
        what.into_iter().for_each(|what| self.note(|| what.to_owned()));
        self.say(|| format!("{} leads in reign {reign}", own_name(of)));
        self.older.extend(self.process.take());
        self.start();
    }

    /// The process in the world of one is no more; what was decided and has not left is forgotten.
    fn end_process_of(&mut self, of: u64) {
        let Some(member) = self.candidate_mut(of) else { return };
        member.held.clear();
        let Some((number, _)) = member.decides.take() else { return };
        self.check_audits();
        self.say(|| format!("end {number}"));
        self.older.retain(|process| process.number != number);
        if self.process.as_ref().is_some_and(|process| process.number == number) {
            self.process = self.older.pop();
        }
    }
}

/// Calls, as the executor sends them.
impl World {
    /// Calls have been decided.
    pub(super) fn note_calls(&mut self, number: u64, count: usize) {
        let Some(of) = self.decider(number).map(|member| member.of) else { return };
        self.candidate_mut(of).into_iter().for_each(|member| member.flights.leave(count));
    }

    /// Whether a call leaves now, and is given a time. One of a process that stands still does when that goes on, or never.
    pub(super) fn may_leave(&mut self, call: &Call) -> bool {
        let (now_ms, number) = (self.now_ms, call.id.incarnation);
        let Some(replicas) = &mut self.replicas else { return true };
        let of = replicas.of_process(number).map(|member| member.of);
        let Some(member) = of.and_then(|of| replicas.member(of)) else { return false };
        if member.stands_still(now_ms) {
            member.held.push(call.clone());
            return false;
        }
        let (tries, leads) = (member.tries_seconds(now_ms, call), member.leads(now_ms));
        let Some(seconds) = tries else {
            self.note(|| NOT_SENT.to_owned());
            self.at(now_ms, Event::Answer(number, call.id, Box::new(Outcome::NotSent)));
            return false;
        };
        replicas.tried_until.insert(call.id, now_ms + 1_000 * seconds);
        if !leads {
            self.violated("I10", format!("process {number} sends {:?}, and does not lead", call.op));
        }
        true
    }

    /// A call has ended.
    pub(super) fn note_landed(&mut self, number: u64, outcome: &Outcome) {
        let now_ms = self.now_ms;
        let Some(of) = self.decider(number).map(|member| member.of) else { return };
        let Some(member) = self.candidate_mut(of) else { return };
        member.flights.land(member.mono(now_ms), outcome);
        if member.ends.is_some() {
            member.turn_at = now_ms;
            self.post(0, Post::Turn(of));
        }
    }

    /// Whether a call comes too late: the server was asked to try no longer.
    pub(super) fn has_given_up(&self, call: &Call) -> bool {
        self.replicas.as_ref().is_some_and(|replicas| replicas.has_given_up(call, self.now_ms))
    }

    /// I10: what a process has sent is made before another begins that goes on, if it is.
    pub(super) fn check_made_in_time(&mut self, call: &Call) {
        let (number, is_write) = (call.id.incarnation, !matches!(call.op, Op::GetPod { .. }));
        let next = self.running().map(|process| process.number).find(|running| *running > number);
        let next = next.filter(|_| self.replicas.is_some() && is_write && !self.is_torn());
        if let Some(next) = next {
            self.violated("I10", format!("{:?} of process {number} is made when {next} has begun", call.op));
        }
    }

    /// I1 to I3 over both: room that a Binding may take yet which another process has sent is not to be given away, nor its pod.
    pub(super) fn leave_room_to_others(&mut self) {
        let Some(replicas) = self.replicas.as_ref().filter(|_| !self.is_torn()) else { return };
        let may_be_made = |event: &Event| {
            let Event::Arrive(call, fate) = event else { return None };
            let arrives = !matches!(fate, Fate::Lost | Fate::Refused(_));
            (arrives && !replicas.has_given_up(call, self.now_ms)).then(|| call.op.clone())
        };
        let sent: Vec<Op> = self.agenda.values().filter_map(may_be_made).collect();
        sent.iter().for_each(|op| self.leave_room(op));
    }

    fn leave_room(&mut self, op: &Op) {
        let Op::Bind { pod, uid, node, annotations } = op else { return };
        let Some(Body::Pod(body)) = self.api.store.get(Kind::Pod, pod) else { return };
        let (asks, queue) = (Amount::of_pod(body), queue_in(annotations).unwrap_or_default());
        let counts = (Submitter::bound(annotations, Submitter::of_pod(body)), asks);
        self.process.iter_mut().for_each(|process| process.leave_room(uid, (&**node, queue), counts.clone()));
    }
}
