//! Parts of sentences that several reasons share.

use std::fmt;

use crate::core::base::resources::Amount;
use crate::core::event::MatchPolicy;
use crate::core::model::queue::{First, Kept, QuotaExcess};
use crate::core::reason::Refusal;
use crate::core::time::Wall;

/// A quota that lacks room, as a sentence.
pub fn quota_sentence(what: &str, refused: &QuotaExcess) -> String {
    let QuotaExcess { queue, excess, kept } = refused;
    let name = &excess.resource;
    let (asked, left, max) = (Amount(name, excess.asked), Amount(name, excess.left), Amount(name, excess.max));
    let sentence = format!("{what} asks for {asked} {name}, but queue {queue} has {left} of {max} left");
    match kept {
        None => sentence,
        Some(Kept { gangs, amount, first }) => {
            let amount = Amount(name, *amount);
            let first = first.as_ref().map_or_else(String::new, |first| format!("; {first}"));
            format!("{sentence}, of which gangs before it ({gangs}) have the first {amount}{first}")
        }
    }
}

/// `the gang asks for 20 cpu, but queue root.q allows at most 10: it can never start`.
pub(super) fn never_sentence(what: &str, QuotaExcess { queue, excess, kept: _ }: &QuotaExcess) -> String {
    let (name, asked, max) = (&excess.resource, excess.asked, excess.left);
    let (asked, max) = (Amount(name, asked), Amount(name, max));
    format!("{what} asks for {asked} {name}, but queue {queue} allows at most {max}: it can never start")
}

/// What is said of a placeholder that was not made.
pub(super) fn rejected_sentence(refusal: &Refusal) -> String {
    if refusal.code >= 500 {
        format!("the API server failed to create a placeholder, so nothing is held: {refusal}; trying again soon")
    } else {
        format!("a placeholder was refused by the API server, so nothing is held: {refusal}")
    }
}

/// What is said of an application that never started, before its next life.
pub(super) fn next_life_sentence(lives: u32, at: Wall) -> String {
    let often = if lives > 1 { format!(" {lives} times in a row") } else { String::new() };
    format!("the application timed out{often} before it started; its next life begins at {at}")
}

impl fmt::Display for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { application, queue, since } = self;
        write!(
            f,
            "{application} is first in line in queue {queue} and was overtaken for long enough: since {since} nothing \
             behind it starts before it does"
        )
    }
}

/// Pods that start with a gang and that nothing can place, as a sentence.
pub(super) fn members_refused_sentence(count: u32) -> String {
    if count == 1 {
        "a pod that starts with the gang uses what this version does not honour, so nothing is held until it is gone or changed"
            .to_owned()
    } else {
        format!(
            "{count} pods that start with the gang use what this version does not honour, so nothing is held until they are gone \
             or changed"
        )
    }
}

/// What is said of members that start together once more and are too few.
pub(super) fn round_sentence(group: &str, (have, need): (u32, u32), policy: MatchPolicy) -> String {
    let how = if policy == MatchPolicy::OnlyWaiting { "wait" } else { "wait or have a node" };
    format!(
        "{have} of {need} members of {group} {how}; those that wait are placed together when all do (matchPolicy {policy:?})"
    )
}

/// What is said of a gang that waits for another one's start in a `StateAware` queue.
pub(super) fn start_sentence(queue: &str, application: &str) -> String {
    format!(
        "{application} has passed the gate of queue {queue} and not started yet; the queue is StateAware, so one gang starts at a time"
    )
}
