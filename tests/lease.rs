//! Elections against a server that keeps one Lease, as an API server does: what is asked of it, and who leads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gangline::controller::lease::{Standing, Timing};
use gangline::runtime::clock::Clock;
use gangline::runtime::lease::{Candidate, Election};
use gangline::runtime::shell::{ShellCounters, WatchState};
use gangline::shim::kinds::Kind;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::scripted::{Asked, Reply, Server};

/// Thirty times as fast as usual.
const TIMING: Timing = Timing { duration_ms: 1_000, renew_ms: 600, retry_ms: 100 };
const SOON: Duration = Duration::from_secs(20);

type Stored = Arc<Mutex<Option<Value>>>;

/// A server, and the Lease that it keeps.
fn server() -> (Server, Stored) {
    let stored = Stored::default();
    let kept = Arc::clone(&stored);
    let server = Server::start(move |asked| {
        let (code, body) = answer(&mut kept.lock().expect("no panic"), asked);
        Reply::json(code, body.to_string())
    });
    (server, stored)
}

/// What an API server that keeps this Lease answers.
pub(crate) fn answer(stored: &mut Option<Value>, asked: &Asked) -> (u16, Value) {
    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let path = asked.line.split(['?', ' ']).nth(1).unwrap_or_default();
    let status =
        |code: u16| (code, json!({"kind": "Status", "status": "Failure", "message": "m", "reason": "r", "code": code}));
    let sent: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let verb = asked.line.split(' ').next().unwrap_or_default();
    match (verb, stored.as_mut()) {
        ("POST", None) if path == LEASES => {
            let mut lease = sent;
            lease["metadata"]["resourceVersion"] = json!("1");
            (201, stored.insert(lease).clone())
        }
        ("POST", Some(_)) => status(409),
        (_, None) => status(404),
        ("GET", Some(lease)) if path == format!("{LEASES}/gangline") => (200, lease.clone()),
        ("PATCH", Some(lease)) if sent["metadata"]["resourceVersion"] == lease["metadata"]["resourceVersion"] => {
            let version: u64 =
                lease["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0);
            for (field, value) in sent["spec"].as_object().expect("fields") {
                lease["spec"][field] = value.clone();
            }
            lease["metadata"]["resourceVersion"] = json!((version + 1).to_string());
            (200, lease.clone())
        }
        ("DELETE", Some(lease)) if sent["preconditions"]["resourceVersion"] == lease["metadata"]["resourceVersion"] => {
            (200, stored.take().unwrap_or_default())
        }
        ("PATCH" | "DELETE", Some(_)) => status(409),
        (_, Some(_)) => status(400),
    }
}

fn elect(server: &Server, own: &str) -> Election {
    elect_with(server, own, whole())
}

fn elect_with(server: &Server, own: &str, counters: Arc<ShellCounters>) -> Election {
    let candidate = Candidate {
        client: server.client(),
        clock: Clock::start(),
        counters,
        namespace: "kube-system".to_owned(),
        own: own.into(),
        timing: TIMING,
    };
    Election::start(candidate, ["gangline".into()])
}

/// Those of a process that could read the cluster.
fn whole() -> Arc<ShellCounters> {
    Arc::new(ShellCounters::without_watches())
}

async fn until_leads(election: &Election) {
    let mut lead = election.lead.clone();
    let leads = async {
        while !matches!(lead.standing(), Standing::Leads { .. }) {
            lead.changed().await;
        }
    };
    timeout(SOON, leads).await.expect("it leads");
}

fn holder(stored: &Stored) -> Value {
    stored.lock().expect("no panic").as_ref().map(|lease| lease["spec"]["holderIdentity"].clone()).unwrap_or_default()
}

#[tokio::test]
async fn one_leads_and_the_other_follows_it() {
    let (server, stored) = server();
    let first = elect(&server, "first");
    until_leads(&first).await;
    let second = elect(&server, "second");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!((second.lead.standing(), holder(&stored)), (Standing::Follows, json!("first")));
    let lease = stored.lock().expect("no panic").clone().expect("there is one");
    assert_eq!((&lease["metadata"]["name"], &lease["spec"]["leaseDurationSeconds"]), (&json!("gangline"), &json!(1)));
    first.release().await;
    let began = Instant::now();
    until_leads(&second).await;
    assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
    assert_eq!(holder(&stored), json!("second"));
    let lease = stored.lock().expect("no panic").clone().expect("there is one");
    assert_eq!(lease["spec"]["leaseTransitions"], 1);
}

#[tokio::test]
async fn one_that_is_silent_is_followed_when_its_time_is_over() {
    let (server, stored) = server();
    let first = elect(&server, "first");
    until_leads(&first).await;
    let second = elect(&server, "second");
    // As if it were killed: nothing is given back.
    drop(first);
    assert_eq!(holder(&stored), json!("first"));
    let began = Instant::now();
    until_leads(&second).await;
    assert!(began.elapsed() >= Duration::from_millis(TIMING.duration_ms - 100), "{:?}", began.elapsed());
}

#[tokio::test]
async fn whoever_finds_another_in_the_lease_leads_no_more() {
    let (server, stored) = server();
    let mut first = elect(&server, "first");
    until_leads(&first).await;
    let edit = |lease: &mut Value| {
        (lease["spec"]["holderIdentity"], lease["metadata"]["resourceVersion"]) = (json!("other"), json!("77"));
    };
    stored.lock().expect("no panic").iter_mut().for_each(edit);
    let deposed = async {
        while first.lead.standing() != Standing::Follows {
            first.lead.changed().await;
        }
    };
    timeout(SOON, deposed).await.expect("it hears of it");
    assert_eq!(holder(&stored), json!("other"));
}

#[tokio::test]
async fn who_cannot_read_the_cluster_leaves_the_lease_to_others() {
    let (server, stored) = server();
    let counters = whole();
    counters.watch(Kind::Pod).set_state(WatchState::Listing);
    let blind = elect_with(&server, "blind", Arc::clone(&counters));
    let sighted = elect(&server, "sighted");
    until_leads(&sighted).await;
    assert_eq!((blind.lead.standing(), holder(&stored)), (Standing::Follows, json!("sighted")));
    sighted.release().await;
    counters.watch(Kind::Pod).set_state(WatchState::Synced);
    until_leads(&blind).await;
    assert_eq!(holder(&stored), json!("blind"));
}

/// The Lease can be read and not written: whoever asks whether this process could lead is told.
#[tokio::test]
async fn a_lease_that_is_refused_is_told_of_until_it_is_not() {
    let allowed = Arc::new(AtomicBool::new(false));
    let (stored, permits) = (Stored::default(), Arc::clone(&allowed));
    let server = Server::start(move |asked| {
        let is_write = !asked.line.starts_with("GET");
        let (code, body) = match is_write && !permits.load(Ordering::SeqCst) {
            true => (
                403,
                json!({"kind": "Status", "status": "Failure", "message": "not yours", "reason": "r", "code": 403}),
            ),
            false => answer(&mut stored.lock().expect("no panic"), asked),
        };
        Reply::json(code, body.to_string())
    });
    let counters = whole();
    let election = elect_with(&server, "first", Arc::clone(&counters));
    let told = async {
        while counters.election().refused.is_none_or(|words| !words.contains("is answered with 403")) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, told).await.expect("it is told");
    allowed.store(true, Ordering::SeqCst);
    until_leads(&election).await;
    assert_eq!(counters.election().refused, None);
}
