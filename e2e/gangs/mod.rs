//! Tests of gangs: how they start, wait, hold seats, and end.

mod endings;
mod harmless;
mod kuberay;
mod namespaces;
mod operated;
mod placeholders;
mod queues;
mod restarts;
mod sayings;
mod spark;
mod starts;
mod teams;
mod timeouts;
mod waits;
mod yunikorn;
mod yunikorn_scenarios;

use crate::harness::Test;

pub(crate) use spark::submit::main as spark_submit;

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
        kuberay::tests(),
        spark::tests(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
