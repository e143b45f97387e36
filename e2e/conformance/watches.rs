//! Lists and watches of the real API server, read as the scheduler reads them: pods in the server's own encoding.

use std::io;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use gangline::core::base::ids::Key;
use gangline::shim::observation::Seen;
use gangline::shim::op::Kind;
use gangline::shim::{decode, protobuf};
use http::{Request, header};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::codec::{FramedRead, LengthDelimitedCodec, LinesCodec};
use tokio_util::io::StreamReader;

use super::place::Place;
use super::server::collection;
use crate::support::error::{During, Error, Result};

/// How long a watch may take to tell of what has happened. It takes milliseconds.
const TOLD_WITHIN: Duration = Duration::from_secs(30);

/// A change as a watch tells of it.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) kind: Kind,
    pub(super) what: What,
    pub(super) seen: Seen,
}

/// What a watch says of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum What {
    Added,
    Modified,
    Deleted,
    Error,
}

#[derive(Deserialize)]
struct Event<'a> {
    r#type: What,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct List<'a> {
    metadata: Meta,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    resource_version: String,
}

/// The objects of a kind that belong to a place, as a list of all of them has them, and the list's own revision.
pub(super) async fn list(client: &Client, kind: Kind, place: &Place) -> Result<(u64, Vec<Seen>)> {
    let path = collection(kind, "");
    let (_, body) = open(client, kind, &path).await?;
    let body = body.collect().await.during(&path)?.to_bytes().to_vec();
    let json = if kind == Kind::Pod { protobuf::to_json(&body).during(&path)? } else { body };
    let list: List = serde_json::from_slice(&json).during(&path)?;
    let items = list.items.iter().filter_map(|item| decode::seen(kind, item.get()));
    let items = items.filter(|seen| place.has(&seen.key)).collect();
    Ok((list.metadata.resource_version.parse().during(&path)?, items))
}

/// What a watch of all objects of a kind tells of a place after a revision, until the creation of an object.
pub(super) async fn watch(client: &Client, kind: Kind, place: &Place, after: u64, until: &Key) -> Result<Vec<Told>> {
    let mut all = Vec::new();
    let ends = |told: &Told| told.seen.key == *until;
    let read = follow(client, kind, after, |told| {
        let end = ends(&told);
        if !end && place.has(&told.seen.key) {
            all.push(told);
        }
        end
    });
    let step = format!("watching {} until {until}", kind.plural());
    tokio::time::timeout(TOLD_WITHIN, read).await.during(step)??;
    Ok(all)
}

/// Reads a watch until `enough` of what it tells.
pub(super) async fn follow(
    client: &Client,
    kind: Kind,
    after: u64,
    mut enough: impl FnMut(Told) -> bool,
) -> Result<()> {
    let path = format!("{}?watch=1&resourceVersion={after}&timeoutSeconds=300", collection(kind, ""));
    let (_, body) = open(client, kind, &path).await?;
    let bytes = StreamReader::new(body.into_data_stream().map_err(io::Error::other));
    let mut events = if kind == Kind::Pod {
        FramedRead::new(bytes, LengthDelimitedCodec::new()).map(|frame| text(&frame?)).boxed()
    } else {
        FramedRead::new(bytes, LinesCodec::new()).map_err(io::Error::other).boxed()
    };
    while let Some(event) = events.next().await {
        let event = event.during(&path)?;
        let Event { r#type: what, object } = serde_json::from_str(&event).during(&path)?;
        if what == What::Error {
            return Err(Error::new(format!("{path}: {}", object.get())));
        }
        let seen = decode::seen(kind, object.get()).ok_or_else(|| Error::new(format!("{path}: no name")))?;
        if enough(Told { kind, what, seen }) {
            return Ok(());
        }
    }
    Err(Error::new(format!("{path}: it ended")))
}

fn text(frame: &[u8]) -> io::Result<String> {
    let json = protobuf::event_to_json(frame).map_err(io::Error::other)?;
    String::from_utf8(json).map_err(io::Error::other)
}

async fn open(client: &Client, kind: Kind, path: &str) -> Result<(u16, Body)> {
    let accepted = if kind == Kind::Pod { protobuf::CONTENT } else { "application/json" };
    let request = Request::get(path).header(header::ACCEPT, accepted).body(Body::empty()).during(path)?;
    let answer = client.send(request).await.during(path)?;
    Ok((answer.status().as_u16(), answer.into_body()))
}
