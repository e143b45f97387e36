//! Each endpoint over a real socket, with an owner task that answers, lags or is gone.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

pub(super) struct Running {
    pub(super) address: SocketAddr,
    pub(super) questions: mpsc::Receiver<Question>,
    sources: Sources,
    end: tokio::sync::watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

async fn start(clock: fn() -> Mono) -> Running {
    start_behind(clock, None, None).await
}

/// A server whose pages are behind this gate, inside of this TLS.
pub(super) async fn start_behind(clock: fn() -> Mono, gate: Option<Gate>, tls: Option<Tls>) -> Running {
    let (asked, questions) = mpsc::channel(4);
    let counters = Arc::new(ShellCounters::default());
    let sources = Sources { heartbeat: Heartbeat::new(Mono(0)), clock, questions: asked, counters };
    let server = Server::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let (address, (end, shutdown)) = (server.address, Shutdown::new());
    let task = tokio::spawn(server.serve(sources.clone(), gate, tls, shutdown));
    Running { address, questions, sources, end, task }
}

async fn fetch(address: SocketAddr, path: &str) -> String {
    fetch_with(address, path, "").await
}

/// With these lines in the request's head.
pub(super) async fn fetch_with(address: SocketAddr, path: &str, lines: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n");
    let exchange = move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    tokio::task::spawn_blocking(exchange).await.unwrap()
}

/// Answers one question with these numbers while the request is made.
async fn fetch_answered(running: &mut Running, path: &str, stats: Stats) -> String {
    let (address, questions) = (running.address, &mut running.questions);
    let answer = async {
        match questions.recv().await.unwrap() {
            Question::Stats(to) => drop(to.send(stats)),
            Question::State(to) => drop(to.send(serde_json::json!({"queues": {}}))),
        }
    };
    tokio::join!(fetch(address, path), answer).0
}

#[tokio::test]
async fn the_loop_is_alive_until_it_has_been_silent_for_30_s() {
    let young = start(|| Mono(30_000)).await;
    assert!(fetch(young.address, "/livez").await.starts_with("HTTP/1.1 200 "));
    let old = start(|| Mono(31_000)).await;
    let answer = fetch(old.address, "/livez").await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.ends_with("has not turned for 31 s\n"), "{answer}");
}

#[tokio::test]
async fn readiness_names_the_kinds_that_miss() {
    let mut running = start(|| Mono(0)).await;
    let counters = Arc::clone(&running.sources.counters);
    for (kind, state) in [
        (Kind::Pod, WatchState::Listing),
        (Kind::TaskGroup, WatchState::Unserved),
        (Kind::Queue, WatchState::Synced),
        (Kind::ResourceQuota, WatchState::Synced),
        (Kind::Namespace, WatchState::Synced),
        (Kind::KoordinatorPodGroup, WatchState::Off),
        (Kind::CoschedulingPodGroup, WatchState::Unserved),
        (Kind::VolcanoPodGroup, WatchState::Off),
        (Kind::KubernetesPodGroup, WatchState::Off),
    ] {
        counters.watch(kind).set_state(state);
    }
    let answer = fetch_answered(&mut running, "/readyz", Stats::default()).await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("not listed yet: pods, nodes\n"), "{answer}");
    assert!(answer.contains("not served by the cluster: taskgroups; apply them: gangline crds | kubectl"), "{answer}");
    assert!(answer.contains("no gang is declared by one: podgroups.scheduling.x-k8s.io\n"), "{answer}");
    let ready = Stats { synced: true, ..Stats::default() };
    let answer = fetch_answered(&mut running, "/readyz", ready.clone()).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\nrole: follower\n"), "{answer}");
    counters.set_holder(Some("other\nhost"));
    counters.set_lease_refused(Some("patch of the Lease: no".to_owned()));
    let answer = fetch_answered(&mut running, "/readyz", ready.clone()).await;
    assert!(
        answer.starts_with("HTTP/1.1 503 ") && answer.contains("not ready: it could not lead: patch of the Lease: no"),
        "{answer}"
    );
    assert!(answer.contains("holder of the Lease: other\\nhost\n"), "{answer}");
    counters.set_lease_refused(None);
    let leads = Stats { leads: true, ..ready };
    assert!(fetch_answered(&mut running, "/readyz", leads).await.contains("\nrole: leader\n"));
}

#[tokio::test]
async fn metrics_are_open_metrics_and_end_as_such() {
    let mut running = start(|| Mono(0)).await;
    let answer = fetch_answered(&mut running, "/metrics", Stats::default()).await;
    assert!(answer.contains("content-type: application/openmetrics-text; version=1.0.0"), "{answer}");
    assert!(answer.ends_with("# EOF\n"), "{answer}");
    assert!(answer.contains("\ngangline_answering 1.0\n"), "{answer}");
}

#[tokio::test]
async fn an_owner_that_is_gone_is_said_and_metrics_go_on() {
    let mut running = start(|| Mono(0)).await;
    running.questions.close();
    assert!(fetch(running.address, "/metrics").await.contains("\ngangline_answering 0.0\n"));
    assert!(fetch(running.address, "/readyz").await.contains("does not answer"));
    assert!(fetch(running.address, "/state").await.starts_with("HTTP/1.1 503 "));
}

#[tokio::test]
async fn an_owner_that_does_not_answer_in_time_is_not_ready() {
    let running = start(|| Mono(0)).await;
    assert!(fetch(running.address, "/readyz").await.starts_with("HTTP/1.1 503 "));
}

#[tokio::test]
async fn the_state_is_json_and_unknown_paths_list_the_endpoints() {
    let mut running = start(|| Mono(0)).await;
    let state = fetch_answered(&mut running, "/state", Stats::default()).await;
    assert!(state.contains("application/json") && state.ends_with(r#"{"queues":{}}"#), "{state}");
    let lost = fetch(running.address, "/healthz").await;
    assert!(lost.starts_with("HTTP/1.1 404 ") && lost.contains("/livez") && lost.contains("/state"), "{lost}");
}

/// More than there are places, each with half a request; then a probe, from there and from elsewhere.
#[tokio::test]
async fn a_probe_is_answered_whoever_holds_connections() {
    let running = start(|| Mono(0)).await;
    let address = running.address;
    let hold = move || {
        let half = |_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /livez HTTP/1.1\r\n").unwrap();
            stream
        };
        (0..300).map(half).collect::<Vec<_>>()
    };
    let held = tokio::task::spawn_blocking(hold).await.unwrap();
    for _ in 0..3 {
        let answer = tokio::time::timeout(Duration::from_millis(1_500), fetch(address, "/livez")).await;
        assert!(answer.expect("soon").starts_with("HTTP/1.1 200 "));
    }
    drop(held);
}

#[tokio::test]
async fn large_answers_are_few_at_a_time() {
    let running = start(|| Mono(0)).await;
    // Nobody answers: the first hold their places for long.
    let (answer, mut answers) = mpsc::unbounded_channel();
    for _ in 0..2 * LARGE {
        let (address, answer) = (running.address, answer.clone());
        tokio::spawn(async move { drop(answer.send(fetch(address, "/state").await)) });
    }
    for _ in 0..LARGE {
        let first = tokio::time::timeout(Duration::from_secs(4), answers.recv()).await;
        assert!(first.unwrap().unwrap().contains("too many such requests"));
    }
    assert!(fetch(running.address, "/livez").await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn the_server_ends_when_told() {
    let running = start(|| Mono(0)).await;
    running.end.send(true).unwrap();
    running.task.await.unwrap();
    assert!(TcpStream::connect(running.address).is_err());
}
