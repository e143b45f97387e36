//! The gate before a small fake of the API server: who gets in, how often it is asked, and what is said without an answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use futures::future::join_all;
use http::Response as Reply;
use http_body_util::BodyExt;
use kube::client::Body as KubeBody;
use serde_json::{Value, json};
use tower::{BoxError, service_fn};

use super::*;
use crate::runtime::http::tests::{fetch_with, start_behind};
use crate::runtime::metrics;

/// What of the API server is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Server {
    /// It answers.
    Well,
    /// It answers each request with this code.
    Refuses(u16),
    /// The connection is lost.
    Lost,
    /// It never answers.
    Silent,
}

/// Counts the reviews of tokens, and holds all answers until it is let go on.
#[derive(Clone)]
struct Fake {
    server: Server,
    identified: Arc<AtomicUsize>,
    go_on: watch::Receiver<bool>,
}

impl Fake {
    fn new(server: Server) -> Self {
        Self { server, identified: Arc::default(), go_on: watch::channel(true).1 }
    }

    fn gate(&self) -> Gate {
        let fake = self.clone();
        let service = service_fn(move |request| fake.clone().serve(request));
        let counters = Arc::<ShellCounters>::default();
        let reviewer = Reviewer {
            cluster: ClusterArgs::default(),
            client: watch::channel(Some(Client::new(service, "default"))).0,
            counters: Arc::clone(&counters),
            patience: if self.server == Server::Silent { Duration::from_millis(10) } else { PATIENCE },
            problem: Mutex::default(),
        };
        Gate { inner: Mutex::default(), reviewer, clock: || Mono(0), counters }
    }

    async fn serve(mut self, request: http::Request<KubeBody>) -> Result<Reply<Body>, BoxError> {
        let (head, body) = request.into_parts();
        let body: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
        let of_token = head.uri.path().ends_with("/tokenreviews");
        self.identified.fetch_add(usize::from(of_token), Ordering::Relaxed);
        self.go_on.wait_for(|go_on| *go_on).await?;
        let (code, answer) = match self.server {
            Server::Well => (201, if of_token { identified(&body) } else { permitted(&body) }),
            Server::Refuses(code) => {
                (code, json!({"kind": "Status", "status": "Failure", "message": "no", "code": code}))
            }
            Server::Lost => return Err("the connection is lost".into()),
            Server::Silent => std::future::pending().await,
        };
        Ok(Reply::builder().status(code).body(Body::from(answer.to_string()))?)
    }

    fn count(&self) -> usize {
        self.identified.load(Ordering::Relaxed)
    }
}

/// The tokens of two accounts are known.
fn identified(review: &Value) -> Value {
    let mut review = review.clone();
    review["status"] = match review["spec"]["token"].as_str() {
        Some(name @ ("prometheus" | "nobody-important")) => {
            json!({"authenticated": true, "user": {"username": name, "groups": ["all"]}})
        }
        Some("odd") => json!({"authenticated": true, "user": {"username": "a\u{1b}[31mb"}}),
        _ => json!({"error": "invalid bearer token"}),
    };
    review
}

/// Prometheus may read the metrics.
fn permitted(review: &Value) -> Value {
    let mut review = review.clone();
    let spec = &review["spec"];
    let may = json!({"path": "/metrics", "verb": "get"});
    let is_allowed = spec["user"] == "prometheus" && spec["groups"] == json!(["all"]);
    review["status"] = json!({"allowed": is_allowed && spec["nonResourceAttributes"] == may});
    review
}

fn headers(token: &str) -> HeaderMap {
    HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap())])
}

#[tokio::test]
async fn each_gets_what_is_theirs() {
    let fake = Fake::new(Server::Well);
    let gate = fake.gate();
    let counters = Arc::clone(&gate.counters);
    let mut running = start_behind(|| Mono(0), Some(gate), None).await;
    running.questions.close();
    let address = running.address;
    let get = async |path, token: &str| {
        let line = if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
        fetch_with(address, path, &line).await
    };
    let answer = get("/metrics", "").await;
    assert!(answer.starts_with("HTTP/1.1 401 ") && answer.contains("www-authenticate: Bearer"), "{answer}");
    let answer = get("/state", "stolen").await;
    assert!(answer.starts_with("HTTP/1.1 401 ") && answer.contains("does not know this token"), "{answer}");
    let answer = get("/metrics", "nobody-important").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains("user \"nobody-important\" cannot get path \"/metrics\""), "{answer}");
    assert!(get("/state", "prometheus").await.contains("user \"prometheus\" cannot get path \"/state\""));
    let answer = get("/metrics", "prometheus").await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("# EOF\n"), "{answer}");
    for line in [r#"{path="/metrics",code="401"} 1"#, r#"{path="/state",code="403"} 1"#] {
        let text = metrics::text(None, &counters).unwrap();
        assert!(text.contains(&format!("gangline_http_refused_total{line}\n")), "{line} in {text}");
    }
    assert!(!get("/metrics", "odd").await.contains('\u{1b}'));
    // Probes want no token, and nobody is asked.
    let before = fake.count();
    assert!(get("/livez", "").await.starts_with("HTTP/1.1 200 "));
    assert!(get("/readyz", "").await.contains("not ready"));
    assert_eq!(fake.count(), before);
}

#[tokio::test]
async fn whoever_asks_the_same_waits_for_the_same_answer() {
    let (go_on, held) = watch::channel(false);
    let fake = Fake { go_on: held, ..Fake::new(Server::Well) };
    let gate = Arc::new(fake.gate());
    let headers = headers("prometheus");
    let all = join_all((0..50).map(|_| gate.judge(&headers, Page::Metrics)));
    // All have asked by then: a join polls its parts in order.
    let (answers, ()) = tokio::join!(all, async {
        go_on.send_replace(true);
    });
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(fake.count(), 1);
    assert_eq!(gate.judge(&headers, Page::Metrics).await, Ok(()));
    assert_eq!(fake.count(), 1, "the answer holds");
}

#[tokio::test]
async fn whoever_asked_first_may_go_away() {
    let (go_on, held) = watch::channel(false);
    let fake = Fake { go_on: held, ..Fake::new(Server::Well) };
    let gate = Arc::new(fake.gate());
    let headers = headers("prometheus");
    let first = gate.judge(&headers, Page::Metrics);
    assert!(futures::poll!(Box::pin(first)).is_pending());
    let (answer, ()) = tokio::join!(gate.judge(&headers, Page::Metrics), async {
        go_on.send_replace(true);
    });
    assert_eq!((answer, fake.count()), (Ok(()), 1));
    assert!(gate.inner().coming.is_empty());
}

#[tokio::test]
async fn a_flood_of_tokens_is_refused_before_anybody_is_asked() {
    let fake = Fake::new(Server::Well);
    let gate = Arc::new(fake.gate());
    let mut refusals = Vec::new();
    for number in 0..100 {
        refusals.push(gate.judge(&headers(&format!("bad-{number}")), Page::State).await.unwrap_err());
    }
    let (asked, later): (Vec<_>, Vec<_>) = refusals.into_iter().partition(|refusal| *refusal == Refusal::BadToken);
    assert_eq!((asked.len(), fake.count()), (20, 20));
    assert!(later.iter().all(|refusal| *refusal == Refusal::TooMany), "{later:?}");
    assert_eq!(response(&Refusal::TooMany).headers()[header::RETRY_AFTER], "1");
}

#[tokio::test]
async fn without_an_answer_nobody_gets_in_and_hears_why() {
    let tokens = access::TOKEN_REVIEWS;
    for (server, trouble) in [
        (Server::Refuses(403), Trouble::Refused { resource: tokens, code: 403 }),
        (Server::Refuses(500), Trouble::Refused { resource: tokens, code: 500 }),
        (Server::Lost, Trouble::NoAnswer(tokens)),
        (Server::Silent, Trouble::NoAnswer(tokens)),
    ] {
        let fake = Fake::new(server);
        let gate = Arc::new(fake.gate());
        for times in 1..3 {
            let refusal = gate.judge(&headers("prometheus"), Page::Metrics).await;
            assert_eq!(refusal, Err(Refusal::Unanswered(trouble)));
            assert_eq!(fake.count(), times, "no answer is kept");
        }
        assert!(gate.inner().coming.is_empty());
    }
}

#[tokio::test]
async fn without_a_cluster_nobody_gets_in() {
    let cluster = ClusterArgs { kubeconfig: Some("/nonexistent/kubeconfig".into()), context: None };
    let mut gate = Gate::new(cluster, || Mono(0), Arc::default());
    gate.reviewer.patience = Duration::from_millis(10);
    let gate = Arc::new(gate);
    let headers = headers("prometheus");
    let refusal = tokio::select! {
        refusal = gate.judge(&headers, Page::Metrics) => refusal,
        () = gate.log_in() => unreachable!("it never ends"),
    };
    let told = gate.reviewer.problem.lock().unwrap().clone();
    assert_eq!(told.as_deref(), Some("the login is not done yet"));
    assert_eq!(refusal, Err(Refusal::Unanswered(Trouble::NoClient)));
    assert_eq!(response(&refusal.unwrap_err()).status(), 503);
}
