//! Tests of gangs: how they start, wait, hold seats, and end.

mod endings;
mod placeholders;
mod starts;
mod waits;

use crate::harness::Test;

pub(crate) fn tests() -> Vec<Test> {
    [starts::tests(), waits::tests(), placeholders::tests(), endings::tests()].into_iter().flatten().collect()
}
