//! Pods in the API server's own encoding: they are asked for in it and handed on in JSON, which is all that the client
//! library reads (docs/adr/0013). Whoever answers in JSON anyway is taken at that. And what time it is there, by every answer.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, DATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use kube::client::{Body, ClientBuilder, DynBody};
use kube::{Client, Config};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};
use tokio_util::io::StreamReader;
use tower::BoxError;
use tower::buffer::BufferLayer;
use tower::util::{BoxService, MapFutureLayer, MapRequestLayer, MapResponseLayer};

use super::ahead::AheadLayer;
use crate::core::time::Wall;
use crate::shim::protobuf;

/// Lists and watches of all pods. Everything else but [`is_answered_with_a_pod`] is either rare or of a kind that the server
/// knows in JSON only.
pub(super) const PATH: &str = "/api/v1/pods";
/// Below it are the pods of each namespace.
const NAMESPACES: &str = "/api/v1/namespaces/";

/// An answer that took longer says what time it was, not what time it is: this process may have been stopped meanwhile.
const PROMPT: Duration = Duration::from_secs(2);

/// Requests that have not left yet, at most: as many as the client itself lets wait. They leave as they come, so that it is never
/// reached.
const LEAVING_MAX: usize = 1_024;

/// Is told what time it is at the API server.
pub(super) type Heard = Arc<dyn Fn(Wall) + Send + Sync>;

/// An answer of the API server.
pub(super) type Answer = Response<Box<DynBody>>;

/// One that is to come.
pub(super) type ToBe = BoxFuture<'static, Result<Answer, BoxError>>;

/// A client that reads pods so, one page of a list ahead, and tells what time it is there.
///
/// # Errors
/// Unusable certificates or addresses.
pub(super) fn client(config: Config, heard: Heard) -> kube::Result<Client> {
    Ok(layered(ClientBuilder::try_from(config)?, heard))
}

/// The same around whatever answers.
pub(super) fn layered(builder: ClientBuilder<BoxService<Request<Body>, Answer, BoxError>>, heard: Heard) -> Client {
    let told = MapFutureLayer::new(move |answer: ToBe| tell(answer, Arc::clone(&heard)));
    builder
        // Innermost: a page that came ahead may be old when somebody asks for it, and so is the time that it says.
        .with_layer(&told)
        // Two can ask by it: the client, and who asks ahead.
        .with_layer(&BufferLayer::<Request<Body>>::new(LEAVING_MAX))
        .with_layer(&AheadLayer)
        .with_layer(&MapRequestLayer::new(ask))
        .with_layer(&MapResponseLayer::new(translate))
        .build()
}

fn tell(answer: ToBe, heard: Heard) -> ToBe {
    Box::pin(async move {
        let asked = Instant::now();
        let answer = answer.await?;
        if let Some(time) = time(answer.headers(), asked.elapsed()) {
            heard(time);
        }
        Ok(answer)
    })
}

/// What time it is by an answer that took so long: `Date: Sun, 29 Nov 2026 09:24:38 GMT` (RFC 9110, 6.6.1).
fn time(headers: &HeaderMap, took: Duration) -> Option<Wall> {
    let text = headers.get(DATE).filter(|_| took <= PROMPT)?.to_str().ok()?;
    let time = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Wall(time.as_millisecond()))
}

fn ask(mut request: Request<Body>) -> Request<Body> {
    let (method, path) = (request.method(), request.uri().path());
    if method == Method::GET && path == PATH || is_answered_with_a_pod(method, path) {
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(protobuf::ACCEPTED));
    }
    request
}

/// The creation of a pod, its deletion and the look at it: the first two happen for every member that takes a held seat.
fn is_answered_with_a_pod(method: &Method, path: &str) -> bool {
    let Some(path) = path.strip_prefix(NAMESPACES) else { return false };
    let segments: Vec<&str> = path.split('/').collect();
    match segments[..] {
        [_, "pods"] => method == Method::POST,
        [_, "pods", _] => method == Method::DELETE || method == Method::GET,
        [..] => false,
    }
}

fn translate(answer: Answer) -> Answer {
    let Some(is_stream) = protobuf_stream(answer.headers()) else { return answer };
    let (mut head, body) = answer.into_parts();
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let body = if is_stream { events(body) } else { whole(body, head.status) };
    Response::from_parts(head, body)
}

/// Whether protobuf is one object or a stream of events; `None`: it is no protobuf.
pub(super) fn protobuf_stream(headers: &HeaderMap) -> Option<bool> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let (media, parameters) = text.split_once(';').unwrap_or((text, ""));
    let is_stream = || parameters.split(';').any(|parameter| parameter.trim() == "stream=watch");
    (media.trim() == protobuf::CONTENT).then(is_stream)
}

fn whole(body: Box<DynBody>, status: StatusCode) -> Box<DynBody> {
    let text = async move {
        let bytes = body.collect().await?.to_bytes();
        match protobuf::to_json(&bytes) {
            Ok(text) => Ok::<_, BoxError>(Bytes::from(text)),
            // What its status says is the more important part of a refusal.
            Err(_) if !status.is_success() => Ok(Bytes::new()),
            Err(problem) => Err(problem.into()),
        }
    };
    streamed(stream::once(text))
}

/// Each event is a length of four bytes and so many bytes. The codec takes up to 8 MiB of them; the API server takes no
/// request above 3 MiB.
fn events(body: Box<DynBody>) -> Box<DynBody> {
    let bytes = StreamReader::new(body.into_data_stream().map_err(io::Error::other));
    let frames = FramedRead::new(bytes, LengthDelimitedCodec::new());
    streamed(frames.map(|frame| {
        let mut line = protobuf::event_to_json(&frame?)?;
        line.push(b'\n');
        Ok(Bytes::from(line))
    }))
}

pub(super) fn streamed(texts: impl stream::Stream<Item = Result<Bytes, BoxError>> + Send + 'static) -> Box<DynBody> {
    Box::new(StreamBody::new(Box::pin(texts.map_ok(Frame::data))))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(content: &'static str, chunks: &[&[u8]]) -> Result<(String, String), String> {
        let frames: Vec<_> = chunks.iter().map(|chunk| Ok(Frame::data(Bytes::copy_from_slice(chunk)))).collect();
        let body: Box<DynBody> = Box::new(StreamBody::new(stream::iter(frames)));
        let answer = Response::builder().header(CONTENT_TYPE, content).header(CONTENT_LENGTH, "7").body(body);
        let (head, body) = translate(answer.map_err(|error| error.to_string())?).into_parts();
        let bytes = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
        let media = head.headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
        assert_eq!(head.headers.contains_key(CONTENT_LENGTH), media != "application/json" || content == media);
        Ok((media.to_owned(), String::from_utf8_lossy(&bytes).into_owned()))
    }

    const POD: &[u8] = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x05\x0a\x03\x0a\x01p";
    const POD_IN_JSON: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}"#;

    fn event() -> Vec<u8> {
        let object = [b"\x0a", &[u8::try_from(POD.len()).expect("short")][..], POD].concat();
        let event = [b"\x0a\x05ADDED\x12", &[u8::try_from(object.len()).expect("short")][..], &object].concat();
        [&[0, 0, 0, u8::try_from(event.len()).expect("short")][..], &event].concat()
    }

    #[tokio::test]
    async fn protobuf_becomes_json_and_all_else_stays() {
        let json = || "application/json".to_owned();
        let one = "application/vnd.kubernetes.protobuf";
        let stream = "application/vnd.kubernetes.protobuf; charset=utf-8; stream=watch";
        let (start, rest) = POD.split_at(7);
        assert_eq!(read(one, &[start, rest]).await, Ok((json(), POD_IN_JSON.to_owned())));
        let line = format!("{{\"type\":\"ADDED\",\"object\":{POD_IN_JSON}}}\n");
        let two = [event(), event()].concat();
        let (start, rest) = two.split_at(event().len() + 2);
        assert_eq!(read(stream, &[start, rest]).await, Ok((json(), line.repeat(2))), "cut within a length");
        assert_eq!(read("application/json", &[b"{}"]).await, Ok((json(), "{}".to_owned())));
        assert_eq!(read("text/plain", &[POD]).await.map(|(media, _)| media), Ok("text/plain".to_owned()));
        let problem = Err("protobuf that does not begin as an object does".to_owned());
        assert_eq!(read(one, &[b"{}"]).await, problem, "a proxy that does not know what it says");
        assert!(read(stream, &[&event()[..9]]).await.is_err(), "cut off");
    }

    #[test]
    fn every_prompt_answer_says_what_time_it_is() {
        let says = |date: &str, took| time(&HeaderMap::from_iter([(DATE, date.parse().expect("a header"))]), took);
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(says(date, Duration::ZERO), Some(Wall(784_111_777_000)));
        assert_eq!(says(date, PROMPT + Duration::from_millis(1)), None, "it lay about");
        for nothing in ["", "yesterday", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(says(nothing, Duration::ZERO), None, "{nothing:?}");
        }
        assert_eq!(time(&HeaderMap::new(), Duration::ZERO), None);
    }

    #[test]
    fn only_pods_are_asked_for_in_protobuf() {
        for (method, uri, is) in [
            (Method::GET, "/api/v1/pods?limit=500", true),
            (Method::GET, "/api/v1/pods?watch=true", true),
            (Method::GET, "/api/v1/nodes", false),
            (Method::GET, "/api/v1/namespaces/a/pods/b", true),
            (Method::DELETE, "/api/v1/namespaces/a/pods/b?timeout=10s", true),
            (Method::PATCH, "/api/v1/namespaces/a/pods/b", false),
            (Method::PATCH, "/api/v1/namespaces/a/pods/b/status", false),
            (Method::POST, "/api/v1/namespaces/a/pods?timeout=10s", true),
            (Method::POST, "/api/v1/namespaces/a/pods/b/binding", false),
            (Method::POST, "/api/v1/namespaces/a/events", false),
            (Method::POST, "/api/v1/pods", false),
        ] {
            let request = Request::builder().method(method).uri(uri).body(Body::empty()).expect("a request");
            let accepted = ask(request).headers().get(ACCEPT).is_some_and(|value| value == protobuf::ACCEPTED);
            assert_eq!(accepted, is, "{uri}");
        }
    }
}
