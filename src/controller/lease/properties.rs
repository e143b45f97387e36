//! Several processes and one Lease, whatever goes wrong: never two lead at the same time, and one does in the end.

use proptest::prelude::*;

use super::tests::TIMING;
use super::*;

/// A step of the model.
const TICK_MS: u64 = 50;
/// Until then things go wrong.
const TROUBLE_MS: u64 = 60_000;
/// So long after that somebody leads: a duration, from the last write that was late, and the patience of a request.
const SOON_MS: u64 = 50_000;
/// How far the clock of each process is from that of the one before.
const CLOCKS_APART_MS: u64 = 3_600_000;

/// What becomes of a request.
#[derive(Clone, Copy, Debug)]
struct Fate {
    /// When the server carries it out, after it was sent; `None`: never.
    carried_out_ms: Option<u64>,
    /// When the answer comes, after that; `None`: never.
    answered_ms: Option<u64>,
    /// Whether the answer comes twice.
    twice: bool,
}

const GOOD: Fate = Fate { carried_out_ms: Some(0), answered_ms: Some(0), twice: false };

#[derive(Clone, Copy, Debug)]
enum Act {
    /// A process stands still for so long, as by SIGSTOP.
    Pause(usize, u64),
    /// It ends, and another begins in its place.
    Kill(usize),
    /// It is told to end, gives the Lease back, and another begins in its place.
    End(usize),
    /// Somebody edits the Lease without a change of its holder.
    Edit,
    /// Somebody deletes it.
    Delete,
}

struct Process {
    lease: Lease,
    clock_ms: u64,
    stands_until: u64,
    asked: Option<(u64, u64)>,
    answers: Vec<(u64, u64, Answer)>,
}

struct Flight {
    process: Text,
    number: u64,
    verb: Verb,
    at: u64,
    fate: Fate,
}

struct World {
    now: u64,
    version: u64,
    lease: Option<Record>,
    flights: Vec<Flight>,
    processes: Vec<Process>,
    begun: u64,
    fates: Vec<Fate>,
    asked: usize,
}

impl World {
    fn new(processes: usize, fates: Vec<Fate>) -> Self {
        let (flights, none) = (Vec::new(), Vec::new());
        let mut world = Self { now: 0, version: 0, lease: None, flights, processes: none, begun: 0, fates, asked: 0 };
        world.processes = (0..processes).map(|_| world.process()).collect();
        world
    }

    fn process(&mut self) -> Process {
        self.begun += 1;
        let lease = Lease::new(format!("process {}", self.begun).into(), TIMING);
        let clock_ms = self.begun * CLOCKS_APART_MS;
        Process { lease, clock_ms, stands_until: 0, asked: None, answers: Vec::new() }
    }

    fn write(&mut self, holder: Option<Text>, transitions: u32) -> Answer {
        self.version += 1;
        let version = self.version.to_string().into();
        let record = Record { version, holder, duration_ms: TIMING.duration_ms, transitions };
        Answer::Shown(self.lease.insert(record).clone())
    }

    /// As an API server does it.
    fn carry_out(&mut self, own: &Text, verb: &Verb) -> Answer {
        let Some(record) = self.lease.clone() else {
            return if *verb == Verb::Create { self.write(Some(own.clone()), 0) } else { Answer::Absent };
        };
        match verb {
            Verb::Look => Answer::Shown(record),
            Verb::Take { version, transitions } if *version == record.version => {
                self.write(Some(own.clone()), *transitions)
            }
            Verb::Renew { version } if *version == record.version => self.write(Some(own.clone()), record.transitions),
            Verb::Release { version } if *version == record.version => self.write(None, record.transitions),
            Verb::Create | Verb::Take { .. } | Verb::Renew { .. } | Verb::Release { .. } => Answer::Conflict,
        }
    }

    fn serve(&mut self) {
        let due = |flight: &Flight, now| flight.fate.carried_out_ms.is_some_and(|late| flight.at + late <= now);
        let now = self.now;
        let (served, waiting) = std::mem::take(&mut self.flights).into_iter().partition(|flight| due(flight, now));
        self.flights = waiting;
        let served: Vec<Flight> = served;
        for Flight { process, number, verb, fate, .. } in served {
            let answer = self.carry_out(&process, &verb);
            let Some(after) = fate.answered_ms else { continue };
            for process in self.processes.iter_mut().filter(|other| other.lease.own == process) {
                process.answers.push((now + after, number, answer.clone()));
                process.answers.extend(fate.twice.then(|| (now + after + TICK_MS, number, answer.clone())));
            }
        }
    }

    /// What a process hears and asks now.
    fn run(&mut self, index: usize) {
        let now = self.now;
        let process = &mut self.processes[index];
        if now < process.stands_until {
            return;
        }
        let mono = Mono(process.clock_ms + now);
        let (heard, later) = std::mem::take(&mut process.answers).into_iter().partition(|(at, ..)| *at <= now);
        process.answers = later;
        let heard: Vec<(u64, u64, Answer)> = heard;
        heard.into_iter().for_each(|(_, number, answer)| process.lease.heard(mono, number, answer));
        if let Some((number, _)) = process.asked.take_if(|(_, until)| *until <= now) {
            process.lease.heard(mono, number, Answer::Failed);
        }
        match process.lease.next(mono) {
            Next::Ask(request) => {
                process.asked = Some((request.number, now + request.within_ms));
                let fate = if now < TROUBLE_MS { self.fates[self.asked % self.fates.len()] } else { GOOD };
                self.asked += 1;
                let (process, Request { number, verb, .. }) = (process.lease.own.clone(), request);
                self.flights.push(Flight { process, number, verb, at: now, fate });
            }
            Next::Wait(_) => {}
            Next::End => self.processes[index] = self.process(),
        }
    }

    fn act(&mut self, act: Act) {
        let count = self.processes.len();
        match act {
            Act::Pause(process, for_ms) => self.processes[process % count].stands_until = self.now + for_ms,
            Act::Kill(process) => self.processes[process % count] = self.process(),
            Act::End(process) => self.processes[process % count].lease.release(),
            Act::Edit => {
                self.version += 1;
                let version = Text::from(self.version.to_string());
                let edit = |record: &mut Record| (record.version, record.duration_ms) = (version.clone(), 1_000);
                self.lease.iter_mut().for_each(edit);
            }
            Act::Delete => {
                let knows = |process: &Process| matches!(process.lease.known, Known::There(_));
                if self.processes.iter().all(knows) {
                    self.lease = None;
                }
            }
        }
    }

    fn tick(&mut self) {
        self.serve();
        (0..self.processes.len()).for_each(|index| self.run(index));
        assert!(self.leaders().len() <= 1, "{:?} lead at {}", self.leaders(), self.now);
        self.now += TICK_MS;
    }

    /// Who believes to lead, by its own clock, also if it stands still.
    fn leaders(&self) -> Vec<usize> {
        let leads = |process: &Process| {
            let now = Mono(process.clock_ms + self.now);
            matches!(process.lease.standing(now), Standing::Leads { .. })
        };
        (0..self.processes.len()).filter(|index| leads(&self.processes[*index])).collect()
    }

    /// How long it takes until this one leads.
    fn until_leads(&mut self, process: usize) -> u64 {
        let began = self.now;
        while self.leaders() != [process] {
            self.tick();
            assert!(self.now < began + 60_000, "never");
        }
        self.now - began
    }

    fn play(&mut self, acts: &[(u64, Act)]) {
        while self.now < TROUBLE_MS + SOON_MS {
            let tick = self.now / TICK_MS;
            let due = acts.iter().filter(|(at, _)| at / TICK_MS == tick);
            due.for_each(|(_, act)| self.act(*act));
            self.tick();
        }
        assert_eq!(self.leaders().len(), 1, "at the end");
    }
}

fn late() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        6 => (0..200_u64).prop_map(Some),
        2 => (0..6_000_u64).prop_map(Some),
        1 => (0..20_000_u64).prop_map(Some),
        2 => Just(None),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    (late(), late(), any::<bool>()).prop_map(|(carried_out_ms, answered_ms, twice)| Fate {
        carried_out_ms,
        answered_ms,
        twice,
    })
}

fn pause() -> impl Strategy<Value = Act> {
    (0..3_usize, 0..40_000_u64).prop_map(|(process, for_ms)| Act::Pause(process, for_ms))
}

/// Whatever happens to processes, and edits.
fn to_processes() -> impl Strategy<Value = Act> {
    prop_oneof![pause(), (0..3_usize).prop_map(Act::Kill), (0..3_usize).prop_map(Act::End), Just(Act::Edit)]
}

/// Deletions: while a Lease is deleted and its holder has not made it anew, a process that begins cannot know of it.
fn to_the_lease() -> impl Strategy<Value = Act> {
    prop_oneof![pause(), Just(Act::Edit), Just(Act::Delete)]
}

fn acts(act: impl Strategy<Value = Act>) -> impl Strategy<Value = Vec<(u64, Act)>> {
    // Pauses end within the time that is left.
    prop::collection::vec((0..TROUBLE_MS - 40_000, act), 0..8)
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    prop::collection::vec(fate(), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn never_two_lead_and_one_does_in_the_end(acts in acts(to_processes()), fates in fates(), count in 1..4_usize) {
        World::new(count, fates).play(&acts);
    }

    #[test]
    fn nor_where_it_is_deleted(acts in acts(to_the_lease()), fates in fates(), count in 1..4_usize) {
        World::new(count, fates).play(&acts);
    }
}

/// Two of which one leads and the other follows, with a good server.
fn two() -> (World, usize) {
    let mut world = World::new(2, vec![GOOD]);
    (0..100).for_each(|_| world.tick());
    let leads = world.leaders()[0];
    (world, leads)
}

#[test]
fn the_other_leads_within_two_seconds_of_a_release() {
    for waits in 0..40 {
        let (mut world, leads) = two();
        (0..waits).for_each(|_| world.tick());
        world.act(Act::End(leads));
        // It gives the Lease back, and the one in its place does not begin.
        (0..2).for_each(|_| world.tick());
        world.act(Act::Pause(leads, u64::MAX / 2));
        let took = world.until_leads(1 - leads);
        assert!(took <= 1_500, "{took}");
    }
}

#[test]
fn the_other_leads_within_a_duration_and_two_seconds_of_a_kill() {
    for waits in 0..40 {
        let (mut world, leads) = two();
        (0..waits).for_each(|_| world.tick());
        // It stands still for ever.
        world.act(Act::Pause(leads, u64::MAX / 2));
        let took = world.until_leads(1 - leads);
        assert!(took <= TIMING.duration_ms + 1_500, "{took}");
    }
}

#[test]
fn nobody_takes_it_from_whoever_renews_it() {
    let (mut world, leads) = two();
    for _ in 0..100_000 {
        world.tick();
        assert_eq!(world.leaders(), [leads]);
    }
}
