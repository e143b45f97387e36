//! Tests of gangs: how they start, wait, hold seats, and end.

mod endings;
mod harmless;
mod placeholders;
mod sayings;
mod starts;
mod waits;

use crate::harness::Test;

pub(crate) fn tests() -> Vec<Test> {
    [starts::tests(), waits::tests(), harmless::tests(), placeholders::tests(), sayings::tests(), endings::tests()]
        .into_iter()
        .flatten()
        .collect()
}
