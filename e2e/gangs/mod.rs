//! Tests of gangs: how they start, wait, hold seats, and end.

mod endings;
mod harmless;
mod namespaces;
mod placeholders;
mod queues;
mod restarts;
mod sayings;
mod starts;
mod teams;
mod timeouts;
mod waits;
mod yunikorn;
mod yunikorn_scenarios;

use crate::harness::Test;

pub(crate) fn tests() -> Vec<Test> {
    [
        starts::tests(),
        waits::tests(),
        harmless::tests(),
        placeholders::tests(),
        sayings::tests(),
        timeouts::tests(),
        restarts::tests(),
        teams::tests(),
        endings::tests(),
        queues::tests(),
        yunikorn::tests(),
        yunikorn_scenarios::tests(),
        namespaces::tests(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
