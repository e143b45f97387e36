//! A proxy before the API server that a test can make refuse and hold requests: plain HTTP on one side, the API server's
//! own connection on the other. Whoever asks stays who he is: the token goes through.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::error::{During, Error, Result};

/// Largest request that is passed on.
const REQUEST: usize = 4 << 20;

/// What is done to requests of a kind before they are passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// So many are answered by 429 with `Retry-After: 1`.
    Refuse(usize),
    /// They wait until [`Proxy::release`].
    Hold,
}

/// A request and what became of it.
#[derive(Clone, Debug)]
pub struct Passed {
    /// Method and path, without the query.
    pub line: String,
    /// When it came.
    pub at: Instant,
    /// Whether it was answered by 429.
    pub refused: bool,
}

#[derive(Default)]
struct Script {
    /// Method, end of the path, rule.
    rules: Vec<(&'static str, &'static str, Rule)>,
    log: Vec<Passed>,
    held: usize,
    /// How far the API server's clock is to be ahead of this machine's.
    ahead: Option<jiff::SignedDuration>,
}

/// What the handler of requests has.
struct Gate {
    client: Client,
    script: Mutex<Script>,
    released: Notify,
}

/// A running proxy; it ends when this is dropped.
pub struct Proxy {
    address: std::net::SocketAddr,
    gate: Arc<Gate>,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    /// A proxy before the server of a kubeconfig, whose user it does not take.
    pub async fn start(kubeconfig: &Path) -> Result<Self> {
        let step = "starting a proxy";
        let mut file = Kubeconfig::read_from(kubeconfig).during(step)?;
        file.auth_infos.iter_mut().for_each(|user| user.auth_info = Some(kube::config::AuthInfo::default()));
        let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.during(step)?;
        config.default_retry = false;
        let client = Client::try_from(config).during(step)?;
        let gate = Arc::new(Gate { client, script: Mutex::default(), released: Notify::new() });
        let listener = TcpListener::bind("127.0.0.1:0").await.during(step)?;
        let address = listener.local_addr().during(step)?;
        let service = Router::new().fallback(pass).with_state(Arc::clone(&gate));
        let task = tokio::spawn(async move { drop(axum::serve(listener, service).await) });
        Ok(Self { address, gate, task })
    }

    /// Makes a kubeconfig point here; the user in it stays.
    pub fn redirect(&self, kubeconfig: &Path) -> Result<()> {
        let step = format!("redirecting {}", kubeconfig.display());
        let text = std::fs::read_to_string(kubeconfig).during(&step)?;
        let mut config: Value = serde_saphyr::from_str(&text).during(&step)?;
        config["clusters"][0]["cluster"] = json!({"server": format!("http://{}", self.address)});
        std::fs::write(kubeconfig, serde_saphyr::to_string(&config).during(&step)?).during(&step)
    }

    /// From now on does this to requests with a method and an end of the path.
    pub fn rule(&self, method: &'static str, path: &'static str, rule: Rule) {
        self.gate.script().rules.push((method, path, rule));
    }

    /// From now on every answer is dated as if the API server's clock were ahead.
    pub fn set_ahead(&self, ahead: jiff::SignedDuration) {
        self.gate.script().ahead = Some(ahead);
    }

    /// Forgets all rules, and lets go what is held.
    pub fn release(&self) {
        self.gate.script().rules.clear();
        self.gate.released.notify_waiters();
    }

    /// How many requests are held.
    pub fn held(&self) -> usize {
        self.gate.script().held
    }

    /// Every request so far.
    pub fn log(&self) -> Vec<Passed> {
        self.gate.script().log.clone()
    }
}

impl Gate {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Script {
    /// What is to be done with a request, which is noted.
    fn judge(&mut self, method: &str, path: &str) -> Option<Rule> {
        let rule = self.rules.iter_mut().find(|(wanted, end, _)| *wanted == method && path.ends_with(end));
        let verdict = match rule.map(|(_, _, rule)| rule) {
            Some(Rule::Refuse(0)) | None => None,
            Some(Rule::Refuse(left)) => {
                *left -= 1;
                Some(Rule::Refuse(*left))
            }
            Some(Rule::Hold) => Some(Rule::Hold),
        };
        let refused = matches!(verdict, Some(Rule::Refuse(_)));
        self.log.push(Passed { line: format!("{method} {path}"), at: Instant::now(), refused });
        verdict
    }

    /// What an answer says of the time, if it is not the API server's own word.
    fn date(&self) -> Option<header::HeaderValue> {
        let time = jiff::Timestamp::now().checked_add(self.ahead?).ok()?;
        jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&time).ok()?.parse().ok()
    }
}

async fn pass(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    // Made before the look at the rules, or a release in between would be missed.
    let released = gate.released.notified();
    let verdict = gate.script().judge(request.method().as_str(), request.uri().path());
    match verdict {
        Some(Rule::Refuse(_)) => return too_many(),
        Some(Rule::Hold) => {
            gate.script().held += 1;
            released.await;
            gate.script().held -= 1;
        }
        None => {}
    }
    let mut answer = forward(&gate.client, request).await.unwrap_or_else(|error| {
        let words = error.to_string();
        (StatusCode::BAD_GATEWAY, words).into_response()
    });
    if let Some(date) = gate.script().date() {
        answer.headers_mut().insert(header::DATE, date);
    }
    answer
}

/// As the API server says it when its priority levels are full.
fn too_many() -> Response {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests",
                        "message": "too many requests, please try again later", "code": 429});
    let headers = [(header::RETRY_AFTER, "1"), (header::CONTENT_TYPE, "application/json")];
    (StatusCode::TOO_MANY_REQUESTS, headers, status.to_string()).into_response()
}

async fn forward(client: &Client, request: Request) -> Result<Response> {
    let (mut head, body) = request.into_parts();
    let body = to_bytes(body, REQUEST).await.during("reading a request")?;
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = path.parse().map_err(|_| Error::new("a path that is none"))?;
    // Of the connection that ends here.
    for name in [header::HOST, header::CONNECTION, header::CONTENT_LENGTH] {
        head.headers.remove(name);
    }
    let request = http::Request::from_parts(head, kube::client::Body::from(body.to_vec()));
    let (mut head, body) = client.send(request).await.during("passing a request on")?.into_parts();
    for name in [header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
        head.headers.remove(name);
    }
    Ok(Response::from_parts(head, Body::new(body)))
}
