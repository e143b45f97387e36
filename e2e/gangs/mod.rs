//! Tests of gangs: how they start, wait, hold seats, and end.

mod declared;
mod dialects;
mod endings;
mod harmless;
mod interrupted;
mod koordinator;
mod kuberay;
mod kuberay_volcano;
mod middles;
mod mpi;
mod namespaces;
mod native;
mod operated;
mod placeholders;
mod pod_groups;
mod queues;
mod restarts;
mod sayings;
mod spark;
mod starts;
mod stock;
mod teams;
mod timeouts;
mod training;
mod waits;
mod yunikorn;
mod yunikorn_apps;
mod yunikorn_failures;
mod yunikorn_many;
mod yunikorn_scenarios;
mod yunikorn_waves;

use crate::harness::Test;
use middles::Scenario;

pub(crate) use spark::submit::main as spark_submit;

pub(crate) fn tests() -> Vec<Test> {
    let with_a_middle = [
        yunikorn_scenarios::scenarios(),
        yunikorn_failures::scenarios(),
        yunikorn_waves::scenarios(),
        namespaces::scenarios(),
    ];
    let with_a_middle = with_a_middle.concat();
    let beside_others = with_a_middle.iter().copied().map(Scenario::test);
    // What is written is read in the audit log.
    let audited = yunikorn_many::scenarios().into_iter().map(|scenario| scenario.test().audited());
    let killed = [with_a_middle.clone(), yunikorn_many::scenarios(), yunikorn_failures::restarts()].concat();
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
        koordinator::tests(),
        dialects::tests(),
        pod_groups::tests(),
        native::tests(),
        kuberay::tests(),
        kuberay_volcano::tests(),
        mpi::tests(),
        training::tests(),
        spark::tests(),
        interrupted::tests(),
        stock::tests(),
    ]
    .into_iter()
    .flatten()
    .chain(beside_others)
    .chain(audited)
    .chain([middles::killed(killed)])
    .collect()
}
