//! A store that does not answer: the server gives a write up, and nobody knows what becomes of it.

use gangline::shim::observation::{Outcome, Seen};
use gangline::shim::op::{Kind, Op};
use gangline::shim::wire;
use gangline::sim::api::gave_up;
use kube::Client;
use serde_json::{Value, json};

use super::model::Model;
use super::place::Place;
use super::scripted::same;
use super::server::{Server, answered};
use super::steps::{Deed, Form, Step, Whose, op};
use super::view::{Lives, answer, whole};
use crate::harness::Context;
use crate::support::components::Component;
use crate::support::error::{Error, Result};

/// 504: the write is made when the store is back, or never, as a simulated call that is `late` or `lost`. (Never, more often:
/// of 44 that were seen 14 were made.) Who sends it again learns which, as only one of the two is the first; the answer to that one,
/// and what is left, are the model's.
pub(super) async fn a_write_takes_too_long(t: &mut Context, place: Place) -> Result<()> {
    let mut model = Model::new(&place);
    let mut server = Server { client: t.client.clone(), place, lives: Lives::default() };
    let (mut made, mut all) = (0, 0);
    for second in [false, true] {
        for deed in [Deed::Create(Form::PLAIN), Deed::Bind(Whose::Own)] {
            let step = Step { kind: Kind::Pod, second, deed };
            made += usize::from(is_made_in_the_end(t, &mut server, &mut model, step).await?);
            all += 1;
        }
    }
    println!("{made} of {all} writes that the server had given up were made in the end");
    Ok(())
}

/// Whether the write was made after all.
async fn is_made_in_the_end(t: &mut Context, server: &mut Server, model: &mut Model, step: Step) -> Result<bool> {
    let key = server.place.key(step.kind, step.second);
    let write = op(&key, &server.lives, step);
    let write = write.ok_or_else(|| Error::new("a write of the scheduler"))?;
    t.plane()?.pause(Component::Etcd)?;
    let told = send_impatiently(&server.client, &write).await;
    t.plane()?.resume(Component::Etcd)?;
    same(&answer(&gave_up(), step.kind, &mut model.lives), &answer(&told?, step.kind, &mut server.lives))?;

    let there = server.ask(&key, step).await?;
    let made = !matches!(there, Outcome::Ok(_) | Outcome::Removed);
    if made {
        model.ask(&key, step);
    }
    let here = model.ask(&key, step);
    let (left_here, left_there) = (model.get(step.kind, &key), server.get(step.kind, &key).await?);
    let show = |outcome, left: Option<Seen>, lives: &mut Lives| -> Value {
        json!([answer(outcome, step.kind, lives), left.map(|seen| whole(&seen, lives))])
    };
    same(&show(&here, left_here, &mut model.lives), &show(&there, left_there, &mut server.lives))?;
    Ok(made)
}

/// Sends a request of the scheduler that asks the server for an answer within a second.
async fn send_impatiently(client: &Client, op: &Op) -> Result<Outcome> {
    answered(client, op, wire::request(op, 1)).await
}
