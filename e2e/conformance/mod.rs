//! The simulation's model of the API server against a real one: the same random requests, made and read by what ships
//! (`shim/wire.rs`, `shim/decode.rs`), must have the same outcomes, leave the same objects, lists and changes in watches
//! (design 04, 4.2).
//!
//! `CONFORMANCE=5000 cargo test --test e2e -- conformance` plays so many sequences, `CONFORMANCE_SEED=17` that one of the
//! fresh ones.

mod fixtures;
mod garbage;
mod history;
mod model;
mod namespaces;
mod place;
mod quotas;
mod scripted;
mod server;
mod slow;
mod steps;
mod story;
mod view;
mod watches;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use futures::{StreamExt, TryStreamExt, stream};
use gangline::shim::observation::{Outcome, Seen};
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

/// How many sequences every run plays: the same ones, and some that no run has had before.
const SEQUENCES: usize = 300;
/// One in so many is fresh.
const FRESH_ONE_IN: usize = 6;
/// Of so many requests one may be a deletion that reads its pod as it was before its Binding; about a fifth was seen.
const QUICK_ONCE_IN: usize = 10_000;
/// Sequences at a time.
const AT_ONCE: usize = 16;

pub(crate) fn tests() -> Vec<Test> {
    let needs = || Needs::OwnControlPlane(Options::bare());
    let scripted = Options { api_server_flags: vec![history::FLAG.to_owned()], ..Options::bare() };
    let scripted = Needs::OwnControlPlane(scripted);
    vec![
        test("conformance: the model answers as the API server does", needs(), conforms).without_gangline(),
        test("conformance: what chance does not bring", scripted, scripted::cases).without_gangline(),
        test("conformance: what has no owner any more", Needs::Shared, garbage::collected),
        test("conformance: what a quota leaves", Needs::Shared, quotas::counted),
        test("conformance: what is left of a namespace", Needs::Shared, namespaces::emptied),
    ]
}

async fn conforms(t: &mut Context) -> Result<()> {
    let sequences = chosen()?;
    let count = sequences.len();
    let places = Mutex::new(fixtures::install(t, AT_ONCE).await?);
    let begun = Instant::now();
    let plays = plays(sequences, &places, &t.client);
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

/// A sequence, and how to name it.
type Sequence = (String, Vec<Step>);

/// What is played: the fresh sequence that is asked for, or all.
fn chosen() -> Result<Vec<Sequence>> {
    if let Some(seed) = number("CONFORMANCE_SEED")? {
        return Ok(vec![fresh(seed)?]);
    }
    let count = number("CONFORMANCE")?.map_or(SEQUENCES, |count| count as usize);
    let (news, first) = (count / FRESH_ONE_IN, unheard(count)?);
    println!("{news} of {count} sequences are fresh: from CONFORMANCE_SEED={first} on");
    let fixed = steps::fixed(count - news)?.into_iter().enumerate();
    let mut all: Vec<Sequence> = fixed.map(|(number, steps)| (format!("fixed sequence {number}"), steps)).collect();
    for seed in (first..).take(news) {
        all.push(fresh(seed)?);
    }
    Ok(all)
}

fn number(name: &str) -> Result<Option<u64>> {
    std::env::var(name).ok().map(|text| text.parse()).transpose().during(name)
}

fn fresh(seed: u64) -> Result<Sequence> {
    Ok((format!("CONFORMANCE_SEED={seed}"), steps::of_seed(seed)?))
}

/// Where numbers begin that no other source has had before: as for simulated clusters, `FRESH` or the time says.
fn unheard(count: usize) -> Result<u64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).during("the time")?;
    Ok(number("FRESH")?.unwrap_or(since.as_secs()) * count as u64)
}

/// Each plays where nobody else does.
fn plays<'a>(
    sequences: Vec<Sequence>,
    places: &'a Mutex<Vec<Place>>,
    client: &Client,
) -> Vec<impl Future<Output = Result<usize>> + use<'a>> {
    let plays = sequences.into_iter().map(|(name, steps)| {
        let client = client.clone();
        async move {
            let free = || places.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let place = free().pop().ok_or_else(|| Error::new("more sequences than places"))?;
            let mut server = Server { client, place: place.clone(), lives: Lives::default() };
            let quick = play(&mut server, &steps).await.during(name)?;
            free().push(place);
            Ok(quick)
        }
    });
    plays.collect()
}

/// Plays a sequence on both, compares after each request, and everything in the end. How many pods the server took away
/// as if their node had been quick.
async fn play(server: &mut Server, steps: &[Step]) -> Result<usize> {
    let begins = watches::list(&server.client, Kind::Pod, &server.place).await?.0;
    let mut model = Model::new(&server.place);
    let mut quick = 0;
    // Pods whose last request was a Binding that was made.
    let mut bound = BTreeSet::new();
    for (number, step) in steps.iter().enumerate() {
        let pod = (step.kind, step.second);
        let played = play_one(server, &mut model, *step, bound.remove(&pod)).await;
        let (was_quick, is_done) = played.map_err(|error| after(&error, &steps[..=number]))?;
        quick += usize::from(was_quick);
        bound.extend((is_done && matches!(step.deed, Deed::Bind(_))).then_some(pod));
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

/// Whether the server took a pod away as if its node had been quick, and whether what was asked for was done.
async fn play_one(server: &mut Server, model: &mut Model, step: Step, just_bound: bool) -> Result<(bool, bool)> {
    let key = server.place.key(step.kind, step.second);
    let mut said = (model.ask(&key, step), server.ask(&key, step).await?);
    let there = server.get(step.kind, &key).await?;
    let deletes = matches!(step.deed, Deed::Delete(_) | Deed::Drop) && step.kind == Kind::Pod;
    let quick = deletes && just_bound && there.is_none() && model.get(step.kind, &key).is_some();
    if quick {
        // Seen about once in fifty thousand requests: a deletion right after a Binding reads the pod as it was before it,
        // and takes it away without grace. To the scheduler it is a node that was quick.
        model.api.end_pod(&key, NOW).ok();
        if matches!(step.deed, Deed::Delete(_)) {
            said.0 = Outcome::Removed;
        }
    }
    let is_done = matches!(said.1, Outcome::Ok(_));
    let here = model.get(step.kind, &key);
    let show = |outcome, left: &Option<Seen>, lives: &mut Lives| -> Value {
        json!([view::answer(outcome, step.kind, lives), left.as_ref().map(|seen| view::whole(seen, lives))])
    };
    let (here, there) = (show(&said.0, &here, &mut model.lives), show(&said.1, &there, &mut server.lives));
    if here == there {
        return Ok((quick, is_done));
    }
    Err(Error::new(format!("the model: {here}\nthe server: {there}")))
}
