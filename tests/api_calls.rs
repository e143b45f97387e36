//! The executor against a scripted server: one request per call, and one outcome, whatever happens to it.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use gangline::core::base::ids::{Key, Uid};
use gangline::core::time::Mono;
use gangline::runtime::clock::Clock;
use gangline::runtime::execute::Executor;
use gangline::runtime::metrics;
use gangline::runtime::shell::ShellCounters;
use gangline::shim::observation::{Observation, Outcome};
use gangline::shim::op::{Call, CallId, Op};
use kube::Client;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{sleep, timeout};

use crate::scripted::{Reply, Server, client};

struct Bench {
    executor: Executor,
    outcomes: UnboundedReceiver<Observation>,
    counters: Arc<ShellCounters>,
}

impl Bench {
    fn new(client: Client) -> Self {
        let (sender, outcomes) = unbounded_channel();
        let counters = Arc::<ShellCounters>::default();
        let executor = Executor::new(client, Clock::start(), sender, Arc::clone(&counters));
        Self { executor: executor.with_patience(Duration::from_millis(400)), outcomes, counters }
    }

    /// Sends a call and waits for its outcome.
    async fn call(&mut self, op: Op, not_after: Mono) -> Outcome {
        let id = CallId { incarnation: 1, sequence: 7 };
        self.executor.start(Call { id, not_after, op });
        let outcome = timeout(Duration::from_secs(10), self.outcomes.recv()).await.expect("every call has an outcome");
        let Some(Observation::Outcome { id: answered, outcome }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(answered, id);
        outcome
    }

    /// Whether one Binding was counted, with this code.
    fn counted(&self, code: u16) -> bool {
        let text = metrics::text(None, &self.counters).expect("metrics are text");
        let labels = format!(r#"verb="create",resource="pods/binding",code="{code}""#);
        text.lines().any(|line| line.contains(&labels) && line.contains("_count") && line.ends_with(" 1"))
    }
}

const LATER: Mono = Mono(60_000);

fn bind() -> Op {
    let pod = Key::new("data", "worker-0");
    Op::Bind { pod, uid: Uid::new("u1"), node: "n1".into(), annotations: BTreeMap::new() }
}

#[tokio::test]
async fn an_error_is_answered_once() {
    for code in [400, 409, 429, 500, 503, 504] {
        let server = Server::start(move |_| {
            Reply::Answer(code, "Retry-After: 1\r\n", r#"{"kind":"Status","reason":"R","message":"m"}"#.into())
        });
        let mut bench = Bench::new(server.client());
        let outcome = bench.call(bind(), LATER).await;
        let Outcome::Refused { code: got, reason, retry_after, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!((got, &*reason, retry_after), (code, "R", Some(1_000)));
        // kube's own retries would come after 5 ms, 10 ms and so on.
        sleep(Duration::from_millis(150)).await;
        let asked = server.asked();
        assert_eq!(asked.len(), 1, "{code}");
        assert!(asked[0].line.starts_with("POST /api/v1/namespaces/data/pods/worker-0/binding?"));
        // Field 5 of the metadata, two bytes long (shim/protobuf/binding.rs).
        assert!(asked[0].body.contains("\u{2a}\u{2}u1"), "the pod's UID");
        assert!(bench.outcomes.is_empty());
        assert!(bench.counted(code));
    }
}

#[tokio::test]
async fn success_carries_the_object_and_the_connection_is_used_again() {
    let pod = r#"{"kind":"Pod","metadata":{"name":"worker-0","namespace":"data","uid":"u1","resourceVersion":"7"}}"#;
    let server = Server::start(move |_| Reply::json(200, pod));
    let mut bench = Bench::new(server.client());
    for _ in 0..10 {
        let outcome = bench.call(Op::GetPod { pod: Key::new("data", "worker-0") }, LATER).await;
        let Outcome::Ok(Some(seen)) = outcome else { panic!("{outcome:?}") };
        assert_eq!((seen.uid, seen.rv), (Uid::new("u1"), 7));
    }
    assert_eq!((server.asked().len(), server.connections()), (10, 1));
}

#[tokio::test]
async fn a_cut_connection_leaves_it_unknown() {
    // The second time on a connection that was used before: nothing may send it again by itself.
    let server = Server::start(|asked| if asked.before == 0 { Reply::json(201, "{}") } else { Reply::Cut("") });
    let mut bench = Bench::new(server.client());
    assert!(matches!(bench.call(bind(), LATER).await, Outcome::Ok(None)));
    assert!(matches!(bench.call(bind(), LATER).await, Outcome::Unknown));
    sleep(Duration::from_millis(100)).await;
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn an_answer_that_ends_too_soon_leaves_it_unknown() {
    let server = Server::start(|_| Reply::Cut("HTTP/1.1 201 X\r\nContent-Length: 50\r\n\r\n{"));
    let outcome = Bench::new(server.client()).call(bind(), LATER).await;
    assert!(matches!(outcome, Outcome::Unknown), "{outcome:?}");
}

#[tokio::test]
async fn a_slow_answer_leaves_it_unknown() {
    let server = Server::start(|_| Reply::Silence(Duration::from_secs(30)));
    let mut bench = Bench::new(server.client());
    assert!(matches!(bench.call(bind(), LATER).await, Outcome::Unknown));
    assert_eq!(server.asked().len(), 1);
    assert!(bench.counted(0));
}

#[tokio::test]
async fn an_endless_answer_leaves_it_unknown() {
    let server = Server::start(|_| Reply::json(201, "x".repeat(5 << 20)));
    assert!(matches!(Bench::new(server.client()).call(bind(), LATER).await, Outcome::Unknown));
}

#[tokio::test]
async fn what_comes_too_late_is_not_sent() {
    let server = Server::start(|_| Reply::json(201, "{}"));
    let mut bench = Bench::new(server.client());
    sleep(Duration::from_millis(5)).await;
    assert!(matches!(bench.call(bind(), Mono(1)).await, Outcome::NotSent));
    assert_eq!((server.asked().len(), server.connections()), (0, 0));
}

#[tokio::test]
async fn with_nobody_there_it_never_left() {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|gone| gone.local_addr()).expect("a free port");
    let outcome = Bench::new(client(address)).call(bind(), LATER).await;
    assert!(matches!(outcome, Outcome::NotSent), "{outcome:?}");
}
