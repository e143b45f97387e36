//! The end of a sequence: what the lists have, and what the watches told from its beginning, the same on both sides.

use futures::future::try_join_all;
use gangline::shim::observation::Seen;
use gangline::shim::op::Kind;
use serde_json::{Value, json};

use super::model::Model;
use super::place::PLAYED;
use super::server::Server;
use super::steps::{Deed, Form, Step};
use super::view::{Lives, object};
use super::watches::{self, Told, What};
use crate::support::error::{Error, Result};

/// Compares everything, and takes away what is left on the server.
pub(super) async fn compare(server: &Server, model: &Model, begins: u64) -> Result<()> {
    let lists = try_join_all(PLAYED.map(|kind| watches::list(&server.client, kind, &server.place))).await?;
    let told = try_join_all(PLAYED.map(|kind| told(server, kind, begins))).await?;
    let there = lines(told.into_iter().flatten().collect(), lists.into_iter().map(|(_, seen)| seen));
    let here = lines(model_told(model)?, PLAYED.into_iter().map(|kind| model.api.store.list(kind).1));
    let differs = here.iter().zip(&there).position(|(here, there)| here != there);
    let first = differs.or_else(|| (here.len() != there.len()).then(|| here.len().min(there.len())));
    let Some(first) = first else { return Ok(()) };
    let line = |lines: &[Value]| lines.get(first).map_or_else(|| "nothing".to_owned(), Value::to_string);
    Err(Error::new(format!("line {first}\nthe model tells {}\nthe server tells {}", line(&here), line(&there))))
}

/// What the server's watch of a kind tells, up to an object that is made for its end.
pub(super) async fn told(server: &Server, kind: Kind, begins: u64) -> Result<Vec<Told>> {
    let sentinel = server.place.sentinel(kind);
    server.make(&sentinel, Step { kind, second: false, deed: Deed::Create(Form::PLAIN) }).await?;
    let told = watches::watch(&server.client, kind, &server.place, begins, &sentinel).await?;
    server.force(kind, &sentinel, Deed::End).await?;
    Ok(told)
}

/// The same of the model: an object is added once.
fn model_told(model: &Model) -> Result<Vec<Told>> {
    let all = model.api.store.all_after(0).map_err(|_| Error::new("the model has forgotten its history"))?;
    let mut lives = Lives::default();
    let told = all.iter().map(|change| {
        let is_new = lives.number(change.kind, &change.seen).1;
        let what = match (change.deleted, is_new) {
            (true, _) => What::Deleted,
            (false, true) => What::Added,
            (false, false) => What::Modified,
        };
        Told { kind: change.kind, what, seen: change.seen.clone() }
    });
    Ok(told.collect())
}

/// All changes of all kinds by their revisions, then what is listed, each with the number of its last change.
fn lines(mut told: Vec<Told>, lists: impl Iterator<Item = Vec<Seen>>) -> Vec<Value> {
    told.sort_by_key(|told| told.seen.rv);
    let mut lives = Lives::default();
    let changes =
        told.iter().map(|told| json!([format!("{:?}", told.what), object(&told.seen, told.kind, &mut lives)]));
    let mut lines: Vec<Value> = changes.collect();
    for (kind, list) in PLAYED.into_iter().zip(lists) {
        lines.extend(list.iter().map(|seen| {
            let rank = told.iter().position(|told| told.seen.rv == seen.rv);
            json!(["listed", object(seen, kind, &mut lives), rank])
        }));
    }
    lines
}
