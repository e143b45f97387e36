//! Lets in whoever may read a page: asks the API server, as often as `controller::access` says, and tells all who wait.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use k8s_openapi::ClusterResourceScope;
use kube::api::PostParams;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout_at};

use crate::controller::access::{self, Access, Page, Question, Refusal, Trouble, Turn, Verdict};
use crate::core::time::Mono;
use crate::runtime::args::ClusterArgs;
use crate::runtime::client::{self, ClientError};
use crate::runtime::shell::ShellCounters;
use crate::runtime::text::{chain, escape};

/// Both reviews together: so much of what a request has (8 s) that the largest page has its 5 s after them.
const PATIENCE: Duration = Duration::from_millis(2_500);

/// A login that failed is tried again after this.
const LOG_IN_AGAIN: Duration = Duration::from_secs(10);

type Answer = Result<Verdict, Trouble>;

/// What stands before the pages that tell of the cluster.
pub struct Gate {
    inner: Mutex<Inner>,
    reviewer: Reviewer,
    clock: fn() -> Mono,
    counters: Arc<ShellCounters>,
}

#[derive(Default)]
struct Inner {
    access: Access,
    /// The answers that are on their way; each is a question that `access` has had asked.
    coming: BTreeMap<Question, watch::Receiver<Option<Answer>>>,
}

/// What there is to a question.
enum Reply {
    Now(Verdict),
    Soon(watch::Receiver<Option<Answer>>),
    Later,
}

impl Gate {
    /// A gate that asks the API server of this cluster.
    pub fn new(cluster: ClusterArgs, clock: fn() -> Mono, counters: Arc<ShellCounters>) -> Self {
        let reviewer = Reviewer {
            cluster,
            client: watch::channel(None).0,
            counters: Arc::clone(&counters),
            patience: PATIENCE,
            problem: Mutex::default(),
        };
        Self { inner: Mutex::default(), reviewer, clock, counters }
    }

    /// Logs in at the API server, again and again while that fails. Never ends: nobody gets in after an end.
    pub(super) async fn log_in(&self) {
        self.reviewer.log_in().await;
        std::future::pending().await
    }

    async fn judge(self: &Arc<Self>, headers: &HeaderMap, page: Page) -> Result<(), Refusal> {
        let token = access::bearer(headers).ok_or(Refusal::NoToken)?;
        let answer = match self.reply(token, Question::new(token, page)) {
            Reply::Now(verdict) => Ok(verdict),
            Reply::Later => return Err(Refusal::TooMany),
            Reply::Soon(mut coming) => match coming.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(answer)) => answer.clone(),
                Ok(None) | Err(_) => Err(Trouble::NoAnswer(access::TOKEN_REVIEWS)),
            },
        };
        Refusal::unless_allowed(answer, page)
    }

    fn reply(self: &Arc<Self>, token: &str, question: Question) -> Reply {
        let mut inner = self.inner();
        match inner.access.turn((self.clock)(), question) {
            Turn::Answered(verdict) => Reply::Now(verdict),
            Turn::Later => Reply::Later,
            Turn::Join => inner.coming.get(&question).map_or(Reply::Later, |coming| Reply::Soon(coming.clone())),
            Turn::Ask => {
                let (told, coming) = watch::channel(None);
                inner.coming.insert(question, coming.clone());
                drop(inner);
                let silent = Err(Trouble::NoAnswer(access::TOKEN_REVIEWS));
                let flight = Flight { gate: Arc::clone(self), question, told, answer: silent };
                // In a task of its own: whoever asked first may go away before the others have their answer.
                tokio::spawn(flight.end(token.to_owned()));
                Reply::Soon(coming)
            }
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question on its way. Its answer is told when this is dropped: also if its task panics.
struct Flight {
    gate: Arc<Gate>,
    question: Question,
    told: watch::Sender<Option<Answer>>,
    answer: Answer,
}

impl Flight {
    async fn end(mut self, token: String) {
        self.answer = self.gate.reviewer.review(&token, self.question.page).await;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut inner = self.gate.inner();
        inner.access.heard(self.question, &self.answer);
        inner.coming.remove(&self.question);
        drop(inner);
        self.told.send_replace(Some(self.answer.clone()));
    }
}

/// Lets a request for a page pass, or says why not.
pub(super) async fn let_in(State((gate, page)): State<(Arc<Gate>, Page)>, request: Request, next: Next) -> Response {
    match gate.judge(request.headers(), page).await {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            gate.counters.turned_away(page, refusal.code());
            response(&refusal)
        }
    }
}

fn response(refusal: &Refusal) -> Response {
    let code = StatusCode::from_u16(refusal.code()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let mut response = (code, format!("{}\n", escape(&refusal.to_string()))).into_response();
    let headers = response.headers_mut();
    match refusal {
        Refusal::NoToken | Refusal::BadToken => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"gangline\""));
        }
        Refusal::TooMany => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        Refusal::Forbidden { .. } | Refusal::Unanswered(_) => {}
    }
    response
}

/// Asks the API server, by a client of its own: that of the scheduler lives on the scheduler's thread, and would answer
/// only between two steps.
struct Reviewer {
    cluster: ClusterArgs,
    /// None before the login.
    client: watch::Sender<Option<Client>>,
    counters: Arc<ShellCounters>,
    patience: Duration,
    /// The problem that was told of.
    problem: Mutex<Option<String>>,
}

/// Why a question has no answer, in words for the log.
#[derive(Debug, thiserror::Error)]
enum ReviewError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the login ended by itself")]
    Login(#[from] tokio::task::JoinError),
    #[error("the login is not done yet")]
    NotYet,
    #[error("create {resource}")]
    Create { resource: &'static str, source: kube::Error },
    #[error("create {0}: no answer in time")]
    Late(&'static str),
    #[error(transparent)]
    Empty(#[from] Trouble),
}

impl ReviewError {
    /// The same in words for anybody.
    fn trouble(&self) -> Trouble {
        match self {
            Self::Client(_) | Self::Login(_) | Self::NotYet => Trouble::NoClient,
            Self::Create { resource, source: kube::Error::Api(status) } => {
                Trouble::Refused { resource, code: status.code }
            }
            Self::Create { resource, .. } | Self::Late(resource) => Trouble::NoAnswer(resource),
            Self::Empty(trouble) => *trouble,
        }
    }
}

impl Reviewer {
    async fn log_in(&self) {
        while self.client.borrow().is_none() {
            match connect(&self.cluster).await {
                Ok(client) => return drop(self.client.send_replace(Some(client))),
                Err(error) => self.tell(Some(chain(&error))),
            }
            sleep(LOG_IN_AGAIN).await;
        }
    }

    async fn review(&self, token: &str, page: Page) -> Answer {
        let answer = self.ask(token, page).await;
        self.tell(answer.as_ref().err().map(|error| chain(error)));
        answer.map_err(|error| error.trouble())
    }

    async fn ask(&self, token: &str, page: Page) -> Result<Verdict, ReviewError> {
        let deadline = Instant::now() + self.patience;
        let client = self.client(deadline).await.ok_or(ReviewError::NotYet)?;
        let review = self.create(&client, access::TOKEN_REVIEWS, &access::identify(token), deadline).await?;
        let Some(user) = access::identified(review)? else { return Ok(Verdict::Unknown) };
        let review = self.create(&client, access::ACCESS_REVIEWS, &access::permit(&user, page), deadline).await?;
        Ok(access::permitted(&user, review)?)
    }

    async fn client(&self, deadline: Instant) -> Option<Client> {
        let mut shown = self.client.subscribe();
        let made = timeout_at(deadline.into(), shown.wait_for(Option::is_some)).await;
        made.ok()?.ok()?.clone()
    }

    async fn create<K>(
        &self,
        client: &Client,
        resource: &'static str,
        review: &K,
        deadline: Instant,
    ) -> Result<K, ReviewError>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + Serialize + DeserializeOwned,
    {
        let (api, begin) = (Api::<K>::all(client.clone()), Instant::now());
        let answer = timeout_at(deadline.into(), api.create(&PostParams::default(), review)).await;
        let answer = answer.map_err(|_elapsed| ReviewError::Late(resource));
        let answer = answer.and_then(|answer| answer.map_err(|source| ReviewError::Create { resource, source }));
        let code = match &answer {
            Ok(_) => 201,
            Err(ReviewError::Create { source: kube::Error::Api(status), .. }) => status.code,
            Err(_) => 0,
        };
        self.counters.requested("create", resource, code, begin.elapsed());
        answer
    }

    /// A problem is told of when it is another one, and when it is over.
    fn tell(&self, problem: Option<String>) {
        let mut told = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        match &problem {
            Some(problem) if told.as_ref() != Some(problem) => {
                tracing::warn!(problem, "the API server cannot be asked who may read /metrics and /state");
            }
            None if told.is_some() => {
                tracing::info!("the API server can be asked again who may read /metrics and /state")
            }
            Some(_) | None => {}
        }
        *told = problem;
    }
}

/// A client whose connections live on this thread. A login may be a program that takes its time, so that it runs on
/// another.
async fn connect(cluster: &ClusterArgs) -> Result<Client, ReviewError> {
    let config = client::config(cluster).await?;
    Ok(spawn_blocking(move || client::scheduling(config, |_| ())).await??)
}

#[cfg(test)]
mod tests;
