//! Leader election's traffic: asks of the Leases what the pure part says, and shows the rest of the shell how we stand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease as Object, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep_until, timeout};

use super::clock::Clock;
use super::shell::ShellCounters;
use super::text::chain;
use crate::controller::lease::{Answer, Leases, Next, Record, Request, Standing, Timing, Verb};
use crate::core::base::ids::Text;
use crate::core::time::{Millis, Mono, Wall};

/// How long the end waits for the Leases to be given back: a write takes milliseconds, and whoever waits for ours goes on
/// without it.
const RELEASE_WITHIN: Duration = Duration::from_secs(2);
/// Who writes, as the API server notes it.
const WRITER: &str = "gangline";

/// How we stand, as whoever sends something sees it.
#[derive(Clone, Debug)]
pub struct Lead {
    shown: watch::Receiver<Standing>,
    /// For so long after our end of it nobody else leads.
    spare_ms: Millis,
}

impl Lead {
    /// What an election shows.
    pub const fn new(shown: watch::Receiver<Standing>, timing: Timing) -> Self {
        Self { shown, spare_ms: timing.spare_ms() }
    }

    /// Without an election: nobody else is there.
    pub fn always() -> Self {
        let leads = Standing::Leads { reign: 0, until: Mono(u64::MAX) };
        Self { shown: watch::channel(leads).1, spare_ms: 0 }
    }

    /// How we stand now.
    pub fn standing(&self) -> Standing {
        *self.shown.borrow()
    }

    /// The reign that lasts now.
    pub fn reign(&self, now: Mono) -> Option<u64> {
        self.standing().reign(now)
    }

    /// Whether what was decided in this reign may still be sent.
    pub fn holds(&self, reign: u64, now: Mono) -> bool {
        self.reign(now) == Some(reign)
    }

    /// As [`Standing::tries_seconds`].
    pub fn tries_seconds(&self, reign: u64, now: Mono) -> Option<u64> {
        self.standing().tries_seconds(reign, self.spare_ms, now)
    }

    /// Waits for another standing, or another end of it. Cancel-safe.
    pub async fn changed(&mut self) {
        // Without an election, and after the end of one, nothing changes any more.
        if self.shown.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Where the Leases are and who we are.
#[derive(Clone)]
pub struct Candidate {
    /// A client that repeats nothing ([`super::client::configure`]).
    pub client: Client,
    /// The clock of the process.
    pub clock: Clock,
    /// To be counted in.
    pub counters: Arc<ShellCounters>,
    /// Namespace of the Leases.
    pub namespace: String,
    /// No other process has this name.
    pub own: Text,
    /// How long everything takes.
    pub timing: Timing,
}

/// The running election. It ends, and gives nothing back, when this is dropped.
pub struct Election {
    /// How we stand.
    pub lead: Lead,
    leave: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Election {
    /// Starts it, for one Lease of each of these names.
    pub fn start(candidate: Candidate, names: impl IntoIterator<Item = Text>) -> Self {
        let leases = Leases::new(names, &candidate.own, candidate.timing);
        let (shown, lead) = watch::channel(Standing::Follows);
        let lead = Lead::new(lead, candidate.timing);
        let (leave, left) = oneshot::channel();
        let api = Api::namespaced(candidate.client.clone(), &candidate.namespace);
        let running = Running { api, candidate, leases, shown, holder: None, problems: BTreeMap::new() };
        Self { lead, leave, task: tokio::spawn(running.run(left)) }
    }

    /// Waits for its end, which comes only when everything was given back, or by a bug.
    pub async fn ended(&mut self) {
        // However it ended, nobody renews the Leases any more.
        drop((&mut self.task).await);
    }

    /// Gives back what we hold. Nothing that only a leader may send is in flight.
    pub async fn release(self) {
        // Also who follows may hold some of several.
        if self.leave.send(()).is_ok() && timeout(RELEASE_WITHIN, self.task).await.is_err() {
            tracing::info!("the Lease could not be given back in time; others wait for it to expire");
        }
    }
}

struct Running {
    api: Api<Object>,
    candidate: Candidate,
    leases: Leases,
    shown: watch::Sender<Standing>,
    /// The holder that was told of.
    holder: Option<Text>,
    /// What is wrong with which Lease at which verb, as it was told of.
    problems: BTreeMap<(Text, &'static str), Problem>,
}

/// Why a request about a Lease came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    words: String,
    /// The code with which it was refused, and the next ones will be until somebody does something.
    stays: Option<u16>,
}

impl Running {
    async fn run(mut self, mut leave: oneshot::Receiver<()>) {
        let mut leaves = false;
        loop {
            let is_whole = self.candidate.counters.is_whole();
            let (name, next) = self.leases.next(self.candidate.clock.mono(), is_whole);
            self.show();
            match next {
                Next::Ask(request) => {
                    let answer = self.ask(&name, &request).await;
                    self.leases.heard(self.candidate.clock.mono(), &name, &request, answer);
                    self.show();
                }
                Next::Wait(at) => tokio::select! {
                    ordered = &mut leave, if !leaves => match ordered {
                        Ok(()) => {
                            leaves = true;
                            self.leases.release();
                        }
                        Err(_dropped) => return,
                    },
                    () = sleep_until(self.candidate.clock.instant(at).into()) => {}
                },
                Next::End => return,
            }
        }
    }

    /// Tells everybody how we stand, and people if that is another role.
    fn show(&mut self) {
        let standing = self.leases.standing(self.candidate.clock.mono());
        let before = *self.shown.borrow();
        if standing != before {
            self.shown.send_replace(standing);
        }
        match (before, standing) {
            (Standing::Follows, Standing::Leads { reign, .. }) => {
                tracing::info!(own = %self.candidate.own, reign, "Leads");
            }
            (Standing::Leads { .. }, Standing::Follows) => {
                tracing::info!(own = %self.candidate.own, "Leads no more");
            }
            (Standing::Follows, Standing::Follows) | (Standing::Leads { .. }, Standing::Leads { .. }) => {}
        }
        let holder = self.leases.holder();
        if let Some((lease, holder)) = holder.filter(|(_, holder)| self.holder.as_ref() != Some(holder)) {
            let namespace = &self.candidate.namespace;
            tracing::info!(namespace, %lease, %holder, "Follows: another process holds the Lease");
        }
        self.holder = holder.map(|(_, holder)| holder.clone());
        self.candidate.counters.set_holder(self.holder.as_deref());
    }

    async fn ask(&mut self, name: &Text, request: &Request) -> Answer {
        let begin = Instant::now();
        let within = Duration::from_millis(request.within_ms);
        let (code, answer, problem) = match timeout(within, self.send(name, &request.verb)).await {
            Ok(Ok(object)) => answer(object.as_ref()),
            // Nothing to tell of: another was faster, or it was deleted.
            Ok(Err(kube::Error::Api(status))) if status.code == 404 && request.verb != Verb::Create => {
                (404, Answer::Absent, None)
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => (409, Answer::Conflict, None),
            Ok(Err(kube::Error::Api(status))) => {
                let stays = Some(status.code).filter(|code| (400..500).contains(code) && *code != 429);
                (status.code, Answer::Failed, Some(Problem { words: status.message.clone(), stays }))
            }
            Ok(Err(error)) => (0, Answer::Failed, Some(Problem { words: chain(&error), stays: None })),
            Err(_elapsed) => {
                let words = format!("no answer within {} ms", request.within_ms);
                (0, Answer::Failed, Some(Problem { words, stays: None }))
            }
        };
        let verb = match request.verb {
            Verb::Look => "get",
            Verb::Create => "create",
            Verb::Take { .. } | Verb::Renew { .. } | Verb::Release { .. } => "patch",
        };
        self.candidate.counters.requested(verb, "leases", code, begin.elapsed());
        self.tell(name, verb, problem);
        answer
    }

    /// A problem is told of when it is another one, and when it is over. That a Lease can be read says nothing of writing it.
    fn tell(&mut self, lease: &Text, verb: &'static str, problem: Option<Problem>) {
        let namespace = &self.candidate.namespace;
        match problem {
            Some(problem) => {
                let known = self.problems.insert((lease.clone(), verb), problem.clone());
                if known.as_ref() != Some(&problem) {
                    let problem = problem.words;
                    tracing::warn!(namespace, %lease, verb, problem, "the Lease cannot be used; trying again");
                }
            }
            None => {
                let had = self.problems.len();
                let is_over = |of: &Text, which: &str| of == lease && (verb != "get" || which == "get");
                self.problems.retain(|(of, which), _| !is_over(of, which));
                if self.problems.is_empty() && had > 0 {
                    tracing::info!(namespace, %lease, "the Lease can be used again");
                }
            }
        }
        // The API server's words are for the log: whoever reaches the port reads this.
        let refused = self.problems.iter().find_map(|(at, problem)| Some((at, problem.stays?)));
        let refused = refused.map(|((lease, verb), code)| {
            format!("{verb} of the Lease {namespace}/{lease} is answered with {code}; the log says why")
        });
        self.candidate.counters.set_lease_refused(refused);
    }

    /// The Lease as the answer shows it; none if there is none.
    async fn send(&self, name: &str, verb: &Verb) -> kube::Result<Option<Object>> {
        let Candidate { own, timing, clock, .. } = &self.candidate;
        let now = clock.now().wall;
        let fields = match verb {
            Verb::Look => return self.api.get_opt(name).await,
            Verb::Create => {
                let params = PostParams { field_manager: Some(WRITER.to_owned()), ..PostParams::default() };
                return self.api.create(&params, &object(name, own, *timing, now)).await.map(Some);
            }
            Verb::Take { version, transitions } => patch(version, &json!(spec(own, *timing, now, Some(*transitions)))),
            Verb::Renew { version } => patch(version, &json!(spec(own, *timing, now, None))),
            Verb::Release { version } => patch(version, &json!({"holderIdentity": null, "renewTime": micro(now)})),
        };
        self.api.patch(name, &PatchParams::apply(WRITER), &Patch::Merge(fields)).await.map(Some)
    }
}

/// A merge of some fields into the Lease of one version: on any other it is a conflict. What others wrote beside them
/// stays.
fn patch(version: &str, spec: &Value) -> Value {
    json!({"metadata": {"resourceVersion": version}, "spec": spec})
}

/// What we write; `transitions` where it was another's.
fn spec(own: &Text, timing: Timing, now: Wall, transitions: Option<u32>) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(own.to_string()),
        lease_duration_seconds: i32::try_from(timing.duration_ms / 1_000).ok(),
        acquire_time: transitions.map(|_| micro(now)),
        renew_time: Some(micro(now)),
        lease_transitions: transitions.map(|count| i32::try_from(count).unwrap_or(i32::MAX)),
        ..LeaseSpec::default()
    }
}

fn object(name: &str, own: &Text, timing: Timing, now: Wall) -> Object {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    Object { metadata, spec: Some(spec(own, timing, now, Some(0))) }
}

/// For people: nobody reckons with it.
fn micro(now: Wall) -> MicroTime {
    MicroTime(Timestamp::from_millisecond(now.0).unwrap_or_default())
}

/// What an object says; and what is wrong with it, since a write that names no version would replace any.
fn answer(object: Option<&Object>) -> (u16, Answer, Option<Problem>) {
    let Some(object) = object else { return (404, Answer::Absent, None) };
    let Some(version) = object.metadata.resource_version.as_deref().filter(|version| !version.is_empty()) else {
        return (
            200,
            Answer::Failed,
            Some(Problem { words: "it has no resourceVersion".to_owned(), stays: Some(200) }),
        );
    };
    let spec = object.spec.clone().unwrap_or_default();
    let positive = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
    let record = Record {
        version: version.into(),
        holder: spec.holder_identity.filter(|holder| !holder.is_empty()).map(Into::into),
        duration_ms: u64::from(positive(spec.lease_duration_seconds)) * 1_000,
        transitions: positive(spec.lease_transitions),
    };
    (200, Answer::Shown(record), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing { duration_ms: 15_000, renew_ms: 10_000, retry_ms: 2_000 };

    #[test]
    fn a_renewal_changes_nothing_but_that_it_is_ours_still() {
        let renewal = patch("7", &json!(spec(&"me".into(), TIMING, Wall(1_700_000_000_123), None)));
        let fields =
            json!({"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2023-11-14T22:13:20.123000Z"});
        assert_eq!(renewal, json!({"metadata": {"resourceVersion": "7"}, "spec": fields}));
        let taken = json!(spec(&"me".into(), TIMING, Wall(0), Some(4)));
        assert_eq!(
            (&taken["leaseTransitions"], &taken["acquireTime"]),
            (&json!(4), &json!("1970-01-01T00:00:00.000000Z"))
        );
    }

    #[test]
    fn what_an_object_says_is_read_whatever_somebody_wrote_into_it() {
        let read = |version: &str, spec: Value| {
            let object: Object =
                serde_json::from_value(json!({"metadata": {"resourceVersion": version}, "spec": spec})).unwrap();
            answer(Some(&object)).1
        };
        let record = |holder: Option<&str>, duration_ms, transitions| {
            Answer::Shown(Record { version: "7".into(), holder: holder.map(Into::into), duration_ms, transitions })
        };
        let spec = json!({"holderIdentity": "x", "leaseDurationSeconds": 15, "leaseTransitions": 3});
        assert_eq!(read("7", spec), record(Some("x"), 15_000, 3));
        let odd = json!({"holderIdentity": "", "leaseDurationSeconds": -1, "leaseTransitions": -1});
        assert_eq!(read("7", odd), record(None, 0, 0));
        assert_eq!(read("7", json!({})), record(None, 0, 0));
        assert_eq!(read("", json!({})), Answer::Failed);
        assert_eq!(answer(None).1, Answer::Absent);
    }

    #[test]
    fn a_reign_ends_for_whoever_sends_with_its_time_and_with_the_next() {
        let (sender, receiver) = watch::channel(Standing::Leads { reign: 1, until: Mono(10) });
        let lead = Lead::new(receiver, TIMING);
        assert!(lead.holds(1, Mono(10)) && !lead.holds(1, Mono(11)) && !lead.holds(2, Mono(10)));
        // Nobody else takes it before the 5 s after its end are over.
        assert_eq!([4, 10, 11].map(|now| lead.tries_seconds(1, Mono(now))), [Some(5), Some(5), None]);
        sender.send_replace(Standing::Leads { reign: 2, until: Mono(20) });
        assert!(!lead.holds(1, Mono(10)) && lead.holds(2, Mono(20)));
        sender.send_replace(Standing::Follows);
        assert!(!lead.holds(2, Mono(0)));
        assert!(Lead::always().holds(0, Mono(u64::MAX)));
    }
}
