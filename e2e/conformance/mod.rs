//! The simulation's model of the API server against a real one: the same random requests, made and read by what ships
//! (`shim/wire.rs`, `shim/decode.rs`), must have the same outcomes, leave the same objects, lists and changes in watches
//! (issue 4; design 04, 4.2).
//!
//! `CONFORMANCE=5000 cargo test --test e2e -- conformance` plays so many sequences.

mod fixtures;
mod garbage;
mod model;
mod namespaces;
mod place;
mod quotas;
mod scripted;
mod server;
mod steps;
mod story;
mod view;
mod watches;

use std::sync::Mutex;
use std::time::Instant;

use futures::{StreamExt, TryStreamExt, stream};
use gangline::shim::observation::Seen;
use gangline::shim::op::Kind;
use kube::Client;
use serde_json::{Value, json};

use crate::harness::{Context, Needs, Test, test};
use crate::support::components::Options;
use crate::support::error::{During, Error, Result};
use model::{Model, NOW};
use place::Place;
use server::Server;
use steps::{Deed, LENGTH, Step};
use view::Lives;

/// How many sequences every run plays.
const SEQUENCES: usize = 300;
/// Of so many requests one may be a deletion that reads its pod as it was before its Binding; about a fifth was seen.
const QUICK_ONCE_IN: usize = 10_000;
/// Sequences at a time.
const AT_ONCE: usize = 16;

pub(crate) fn tests() -> Vec<Test> {
    let needs = || Needs::OwnControlPlane(Options::bare());
    vec![
        test("conformance: the model answers as the API server does", needs(), conforms).without_gangline(),
        test("conformance: what chance does not bring", needs(), scripted::cases).without_gangline(),
        test("conformance: what has no owner any more", Needs::Shared, garbage::collected),
        test("conformance: what a quota leaves", Needs::Shared, quotas::counted),
        test("conformance: what is left of a namespace", Needs::Shared, namespaces::emptied),
    ]
}

async fn conforms(t: &mut Context) -> Result<()> {
    let count = std::env::var("CONFORMANCE").ok().map_or(Ok(SEQUENCES), |text| text.parse()).during("CONFORMANCE")?;
    let places = Mutex::new(fixtures::install(t, AT_ONCE).await?);
    let begun = Instant::now();
    let plays = sequences(count, &places, &t.client)?;
    let quick: Vec<usize> = stream::iter(plays).buffer_unordered(AT_ONCE).try_collect().await?;
    let quick: usize = quick.iter().sum();
    println!(
        "{count} sequences of {LENGTH} requests in {:.1?}: the model answered as the server did, but for {quick} pods that \
         went without grace right after their Binding",
        begun.elapsed()
    );
    if quick > 1 + count * LENGTH / QUICK_ONCE_IN {
        return Err(Error::new(format!("{quick} deletions without grace are more than ever were seen")));
    }
    Ok(())
}

/// Each plays where nobody else does.
fn sequences<'a>(
    count: usize,
    places: &'a Mutex<Vec<Place>>,
    client: &Client,
) -> Result<Vec<impl Future<Output = Result<usize>> + use<'a>>> {
    let plays = steps::sequences(count)?.into_iter().map(|steps| {
        let client = client.clone();
        async move {
            let free = || places.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let place = free().pop().ok_or_else(|| Error::new("more sequences than places"))?;
            let quick = play(&mut Server { client, place: place.clone(), lives: Lives::default() }, &steps).await?;
            free().push(place);
            Ok(quick)
        }
    });
    Ok(plays.collect())
}

/// Plays a sequence on both, compares after each request, and everything in the end. How many pods the server took away
/// as if their node had been quick.
async fn play(server: &mut Server, steps: &[Step]) -> Result<usize> {
    let begins = watches::list(&server.client, Kind::Pod, &server.place).await?.0;
    let mut model = Model::new(&server.place);
    let mut quick = 0;
    for (number, step) in steps.iter().enumerate() {
        let before = steps[..number].iter().rev().find(|one| (one.kind, one.second) == (step.kind, step.second));
        let just_bound = before.is_some_and(|before| matches!(before.deed, Deed::Bind(_)));
        let was_quick = play_one(server, &mut model, *step, just_bound).await;
        quick += usize::from(was_quick.map_err(|error| after(&error, &steps[..=number]))?);
    }
    // What a node that was quick left out cannot be told.
    if quick == 0 {
        story::compare(server, &model, begins).await.map_err(|error| after(&error, steps))?;
    }
    server.clean_up(&model).await?;
    Ok(quick)
}

fn after(error: &Error, steps: &[Step]) -> Error {
    let steps: Vec<String> = steps.iter().map(|step| format!("{step:?}")).collect();
    Error::new(format!("{error}\nafter {}", steps.join("\n")))
}

/// Whether the server took a pod away as if its node had been quick.
async fn play_one(server: &mut Server, model: &mut Model, step: Step, just_bound: bool) -> Result<bool> {
    let key = server.place.key(step.kind, step.second);
    let said = (model.ask(&key, step), server.ask(&key, step).await?);
    let there = server.get(step.kind, &key).await?;
    let deletes = matches!(step.deed, Deed::Delete(_) | Deed::Drop) && step.kind == Kind::Pod;
    let quick = deletes && just_bound && there.is_none() && model.get(step.kind, &key).is_some();
    if quick {
        // Seen about once in fifty thousand requests: a deletion right after a Binding reads the pod as it was before it,
        // and takes it away without grace. To the scheduler it is a node that was quick.
        model.api.end_pod(&key, NOW).ok();
    }
    let here = model.get(step.kind, &key);
    let show = |outcome, left: &Option<Seen>, lives: &mut Lives| -> Value {
        json!([view::answer(outcome, step.kind, lives), left.as_ref().map(|seen| view::whole(seen, lives))])
    };
    let (here, there) = (show(&said.0, &here, &mut model.lives), show(&said.1, &there, &mut server.lives));
    if here == there {
        return Ok(quick);
    }
    Err(Error::new(format!("the model: {here}\nthe server: {there}")))
}
