//! Lists of all pods come in pages, and each says how the next one is asked for. That is asked for as soon as this one has
//! been read, before it is decoded: the API server prepares a page while we decode another (docs/adr/0044).

use std::future::ready;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::Either;
use futures::stream;
use http::request::Parts;
use http::{Method, Request, Response, Uri};
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::transport::{Answer, PATH, ToBe, protobuf_stream, streamed};
use crate::shim::protobuf;

/// Puts an [`Ahead`] around a client.
pub(super) struct AheadLayer;

impl<S> Layer<S> for AheadLayer {
    type Service = Ahead<S>;

    fn layer(&self, inner: S) -> Ahead<S> {
        Ahead { inner, next: None }
    }
}

/// Whoever asks for one page after the other through this gets the answers that there are without it, in the same order. One
/// page is ahead at most, and it is forgotten as soon as something else is asked for of all pods. It has to be outside of what
/// puts credentials on requests, and inside of what says which encoding is asked for.
pub(super) struct Ahead<S> {
    inner: S,
    /// Where the page after the one that was asked for last will be.
    next: Option<oneshot::Receiver<Page>>,
}

/// A page that was asked for ahead. It is not read any further when this is dropped.
struct Page {
    uri: Uri,
    answer: oneshot::Receiver<Result<Answer, BoxError>>,
}

impl Page {
    /// The answer, whatever it is: a refusal is as good later as it was when it came, and nothing is asked for twice.
    async fn taken(self) -> Result<Answer, BoxError> {
        self.answer.await?
    }
}

impl<S> Service<Request<Body>> for Ahead<S>
where
    S: Service<Request<Body>, Response = Answer, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Answer;
    type Error = BoxError;
    type Future = Either<S::Future, ToBe>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if request.method() != Method::GET || request.uri().path() != PATH {
            return Either::Left(self.inner.call(request));
        }
        // Also for a watch, or for a list from the beginning: then nobody asks for that page any more.
        let ahead = self.next.take().and_then(|mut next| next.try_recv().ok());
        if !is_page(request.uri()) {
            return Either::Left(self.inner.call(request));
        }
        let (to, next) = oneshot::channel();
        self.next = Some(next);
        let (head, body) = request.into_parts();
        let follow = Follow { inner: self.inner.clone(), head: head.clone(), to };
        let answer = match ahead.filter(|page| page.uri == head.uri) {
            Some(page) => Either::Left(page.taken()),
            None => Either::Right(self.inner.call(Request::from_parts(head, body))),
        };
        let to_be: ToBe = Box::pin(async move { Ok(follow.through(answer.await?)) });
        Either::Right(to_be)
    }
}

/// Whether a list is asked for in pages. A watch is no list.
fn is_page(uri: &Uri) -> bool {
    let asks = |name: &str| uri.query().into_iter().flat_map(|query| query.split('&')).any(|one| one.starts_with(name));
    asks("limit=") && !asks("watch=")
}

/// What asks for the page after another one.
struct Follow<S> {
    inner: S,
    /// The request for that other one, without credentials: they are put on each request when it leaves.
    head: Parts,
    to: oneshot::Sender<Page>,
}

impl<S> Follow<S>
where
    S: Service<Request<Body>, Response = Answer, Error = BoxError> + Send + 'static,
    S::Future: Send + 'static,
{
    /// The same answer; once it has been read to its end, the page after it is asked for before anybody gets to see it.
    /// Which one that is, is looked for in protobuf only: in JSON come pods of who does not know that, a proxy for instance.
    fn through(self, answer: Answer) -> Answer {
        if !answer.status().is_success() || protobuf_stream(answer.headers()) != Some(false) {
            return answer;
        }
        answer.map(|body| {
            streamed(stream::once(async move {
                let page = body.collect().await?.to_bytes();
                self.ask(&page).await;
                Ok::<_, BoxError>(page)
            }))
        })
    }

    async fn ask(self, page: &[u8]) {
        let Some(uri) = protobuf::continue_token(page).and_then(|token| after(&self.head.uri, token)) else { return };
        let Self { inner, mut head, to } = self;
        // The list began anew while this was read.
        if to.is_closed() {
            return;
        }
        head.uri = uri.clone();
        let answer = inner.oneshot(Request::from_parts(head, Body::empty()));
        let (mut done, answer_to_be) = oneshot::channel();
        tokio::spawn(async move {
            tokio::select! {
                () = done.closed() => {}
                answer = whole(answer) => drop(done.send(answer)),
            }
        });
        // Dropped where nobody takes it.
        drop(to.send(Page { uri, answer: answer_to_be }));
        // On a runtime of one thread everything that is ready runs now, so that the request is on its way before this thread
        // decodes for some 20 ms (500 pods). Should it still wait for a connection then, it leaves later, and no harm is done.
        yield_now().await;
    }
}

/// Where the page after this one is, written as the client writes it: the token comes last. `None` if it has characters
/// that a client may write in several ways; the API server's tokens have none.
fn after(uri: &Uri, token: &str) -> Option<Uri> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !token.bytes().all(is_plain) {
        return None;
    }
    let others = uri.query()?.split('&').filter(|parameter| !parameter.starts_with("continue="));
    let query = others.collect::<Vec<_>>().join("&");
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(format!("{}?{query}&continue={token}", uri.path()).parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// An answer that has been read to its end.
async fn whole(answer: impl Future<Output = Result<Answer, BoxError>>) -> Result<Answer, BoxError> {
    let (head, body) = answer.await?.into_parts();
    let bytes: Bytes = body.collect().await?.to_bytes();
    Ok(Response::from_parts(head, streamed(stream::once(ready(Ok(bytes))))))
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;
    use std::sync::{Arc, Mutex};

    use futures::StreamExt;
    use http::StatusCode;
    use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
    use k8s_openapi::api::core::v1::Pod;
    use kube::Api;
    use kube::client::ClientBuilder;
    use kube::runtime::watcher;
    use tower::service_fn;
    use tower::util::BoxService;

    use super::*;
    use crate::runtime::transport::layered;

    const FIRST: &str = "/api/v1/pods?&limit=1";
    const SECOND: &str = "/api/v1/pods?&limit=1&continue=t1";
    const THIRD: &str = "/api/v1/pods?&limit=1&continue=t2";

    /// A page with one pod.
    fn page(pod: &str, token: &str) -> Bytes {
        let field = |number: u8, bytes: &[u8]| {
            [&[number << 3 | 2, u8::try_from(bytes.len()).expect("short")][..], bytes].concat()
        };
        let type_meta = [field(1, b"v1"), field(2, b"PodList")].concat();
        let metadata = [field(2, b"7"), field(3, token.as_bytes())].concat();
        let pod = field(1, &field(1, pod.as_bytes()));
        let list = [field(1, &metadata), field(2, &pod)].concat();
        Bytes::from([b"k8s\0".to_vec(), field(1, &type_meta), field(2, &list)].concat())
    }

    fn answer(status: StatusCode, content: &str, body: Bytes) -> Answer {
        let answer = Response::builder().status(status).header(CONTENT_TYPE, content).header(RETRY_AFTER, "7");
        answer.body(streamed(stream::once(ready(Ok(body))))).expect("an answer")
    }

    fn at_once(answer: Result<Answer, BoxError>) -> ToBe {
        Box::pin(ready(answer))
    }

    fn listed(page: Bytes) -> ToBe {
        at_once(Ok(answer(StatusCode::OK, protobuf::CONTENT, page)))
    }

    /// What a server was asked for.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    impl Log {
        fn note(&self, what: String) {
            self.0.lock().expect("nobody panics with it").push(what);
        }

        fn all(&self) -> Vec<String> {
            self.0.lock().expect("nobody panics with it").clone()
        }
    }

    /// A client of a server that answers as a script says.
    fn client(
        log: Log,
        script: impl Fn(&str) -> ToBe + Clone + Send + 'static,
    ) -> Ahead<impl Service<Request<Body>, Response = Answer, Error = BoxError, Future = ToBe> + Clone + Send + 'static>
    {
        AheadLayer.layer(service_fn(move |request: Request<Body>| {
            let uri = request.uri().to_string();
            let answer = script(&uri);
            log.note(uri);
            answer
        }))
    }

    async fn send<S>(client: &mut Ahead<S>, method: Method, uri: &str) -> Result<Answer, BoxError>
    where
        S: Service<Request<Body>, Response = Answer, Error = BoxError, Future = ToBe> + Clone + Send + 'static,
    {
        let request = Request::builder().method(method).uri(uri).body(Body::empty())?;
        ServiceExt::<Request<Body>>::ready(client).await?.call(request).await
    }

    async fn get<S>(client: &mut Ahead<S>, uri: &str) -> Result<Answer, BoxError>
    where
        S: Service<Request<Body>, Response = Answer, Error = BoxError, Future = ToBe> + Clone + Send + 'static,
    {
        send(client, Method::GET, uri).await
    }

    async fn read(answer: Result<Answer, BoxError>) -> Result<Bytes, String> {
        let body = answer.map_err(|error| error.to_string())?.into_body();
        Ok(body.collect().await.map_err(|error| error.to_string())?.to_bytes())
    }

    /// Everything that is ready has run then.
    async fn turns() {
        for _ in 0..5 {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn one_page_is_asked_for_once_the_one_before_it_is_read() {
        let log = Log::default();
        let mut client = client(log.clone(), |uri| match uri {
            FIRST => listed(page("a", "t1")),
            SECOND => listed(page("b", "t2")),
            _ => listed(page("c", "")),
        });
        let first = get(&mut client, FIRST).await;
        turns().await;
        assert_eq!(log.all(), [FIRST], "it may never be read");
        assert_eq!(read(first).await, Ok(page("a", "t1")));
        assert_eq!(log.all(), [FIRST, SECOND], "before anybody decodes the first");
        turns().await;
        assert_eq!(log.all(), [FIRST, SECOND], "not yet the one after it");
        assert_eq!(read(get(&mut client, SECOND).await).await, Ok(page("b", "t2")));
        assert_eq!(log.all(), [FIRST, SECOND, THIRD]);
        assert_eq!(read(get(&mut client, THIRD).await).await, Ok(page("c", "")));
        turns().await;
        assert_eq!(log.all(), [FIRST, SECOND, THIRD], "that was the last");
    }

    #[tokio::test]
    async fn what_came_ahead_is_the_answer_whatever_it_is() {
        let log = Log::default();
        let mut client = client(log.clone(), |uri| match uri {
            FIRST => listed(page("a", "t1")),
            SECOND => {
                let refusal = Bytes::from_static(b"later");
                at_once(Ok(answer(StatusCode::TOO_MANY_REQUESTS, "application/json", refusal)))
            }
            "/api/v1/pods?limit=2" => listed(page("a", "t2")),
            _ => at_once(Err("the connection is lost".into())),
        });
        assert!(read(get(&mut client, FIRST).await).await.is_ok());
        let refused = get(&mut client, SECOND).await;
        let head = refused.as_ref().map(|answer| (answer.status(), answer.headers().get(RETRY_AFTER).is_some())).ok();
        assert_eq!(head, Some((StatusCode::TOO_MANY_REQUESTS, true)));
        assert_eq!(read(refused).await, Ok(Bytes::from_static(b"later")));
        turns().await;
        assert_eq!(log.all(), [FIRST, SECOND], "nobody asks again by himself");
        assert!(get(&mut client, SECOND).await.is_ok());
        assert_eq!(log.all(), [FIRST, SECOND, SECOND], "what was given is not given again");
        assert!(read(get(&mut client, "/api/v1/pods?limit=2").await).await.is_ok());
        let lost = read(get(&mut client, "/api/v1/pods?limit=2&continue=t2").await).await;
        assert_eq!(lost, Err("the connection is lost".to_owned()));
        assert_eq!(log.all().len(), 5);
    }

    /// The bytes of an answer, as long as somebody has them.
    struct Held {
        bytes: Bytes,
        _held: Arc<()>,
    }

    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }

    #[tokio::test]
    async fn a_page_that_nobody_asks_for_is_forgotten() {
        let page_ahead = Arc::new(());
        let held = Arc::clone(&page_ahead);
        let mut client = client(Log::default(), move |uri| {
            let held = Arc::clone(&held);
            match uri {
                FIRST => listed(page("a", "t1")),
                // It is still on its way.
                SECOND => Box::pin(async move {
                    let _held = held;
                    pending::<Result<Answer, BoxError>>().await
                }),
                "/api/v1/pods?limit=2" => listed(page("a", "t2")),
                // It has come.
                "/api/v1/pods?limit=2&continue=t2" => {
                    listed(Bytes::from_owner(Held { bytes: page("b", ""), _held: held }))
                }
                _ => listed(page("c", "")),
            }
        });
        for list in [FIRST, "/api/v1/pods?limit=2"] {
            for end in [list, "/api/v1/pods?&limit=1&continue=old", "/api/v1/pods?watch=true", "/api/v1/pods?"] {
                assert!(read(get(&mut client, list).await).await.is_ok());
                turns().await;
                assert_eq!(Arc::strong_count(&page_ahead), 3, "{list} {end}: the script, the page and here");
                assert!(get(&mut client, end).await.is_ok());
                turns().await;
                assert_eq!(Arc::strong_count(&page_ahead), 2, "{list} {end}");
            }
        }
    }

    #[tokio::test]
    async fn nothing_is_asked_for_once_the_list_has_begun_anew() {
        let log = Log::default();
        let mut client = client(log.clone(), |_| listed(page("a", "t1")));
        let given_up = get(&mut client, FIRST).await;
        let anew = get(&mut client, FIRST).await;
        assert!(read(given_up).await.is_ok());
        turns().await;
        assert_eq!(log.all(), [FIRST, FIRST]);
        assert!(read(anew).await.is_ok());
        assert_eq!(log.all(), [FIRST, FIRST, SECOND]);
    }

    #[tokio::test]
    async fn only_pages_of_lists_of_all_pods_have_one_after_them() {
        let stream = "application/vnd.kubernetes.protobuf;stream=watch";
        for (method, uri, status, content, token) in [
            (Method::GET, "/api/v1/pods?&limit=1&watch=true", StatusCode::OK, protobuf::CONTENT, "t"),
            (Method::GET, "/api/v1/pods?", StatusCode::OK, protobuf::CONTENT, "t"),
            (Method::GET, "/api/v1/pods", StatusCode::OK, protobuf::CONTENT, "t"),
            (Method::GET, "/api/v1/nodes?&limit=1", StatusCode::OK, protobuf::CONTENT, "t"),
            (Method::DELETE, FIRST, StatusCode::OK, protobuf::CONTENT, "t"),
            (Method::GET, FIRST, StatusCode::GONE, protobuf::CONTENT, "t"),
            (Method::GET, FIRST, StatusCode::OK, "application/json", "t"),
            (Method::GET, FIRST, StatusCode::OK, stream, "t"),
            (Method::GET, FIRST, StatusCode::OK, protobuf::CONTENT, ""),
            (Method::GET, FIRST, StatusCode::OK, protobuf::CONTENT, "a+b/c="),
        ] {
            let log = Log::default();
            let mut client = client(log.clone(), move |_| at_once(Ok(answer(status, content, page("a", token)))));
            assert_eq!(read(send(&mut client, method, uri).await).await, Ok(page("a", token)));
            turns().await;
            assert_eq!(log.all(), [uri], "{status} {content} {token}");
        }
    }

    /// Through all that is around the client: the page that was asked for ahead is the one that kube's watcher asks for.
    #[tokio::test]
    async fn the_watcher_asks_for_the_pages_that_came_ahead() {
        let log = Log::default();
        let noted = log.clone();
        let server = service_fn(move |request: Request<Body>| {
            let accepted =
                request.headers().get(ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
            noted.note(format!("{} {accepted}", request.uri()));
            if request.uri().query().is_some_and(|query| query.contains("continue=")) {
                listed(page("b", ""))
            } else {
                listed(page("a", "t-1_2.x"))
            }
        });
        let client = layered(ClientBuilder::new(BoxService::new(server), "default"), Arc::new(|_| ()));
        let mut events = pin!(watcher(Api::<Pod>::all(client), watcher::Config::default()));
        for said in ["Init", "InitApply(a)", "InitApply(b)", "InitDone"] {
            let event = events.next().await.expect("it goes on");
            let event = event.map(|event| event.to_string()).map_err(|error| error.to_string());
            assert_eq!(event, Ok(said.to_owned()));
        }
        let accepted = "application/vnd.kubernetes.protobuf,application/json";
        let list = format!("/api/v1/pods?&limit=500 {accepted}");
        let next = format!("/api/v1/pods?&limit=500&continue=t-1_2.x {accepted}");
        assert_eq!(log.all(), [list, next]);
    }
}
