//! Koordinator (1.3, 1.6, and its main branch of July 2026, after 1.8): a file of rows for each section of its page.

mod later;
mod made;
mod order;
mod starts;
mod told;
mod tried;

use super::table::{Peer, Verdict};

pub(super) const PEER: Peer = Peer {
    name: "Koordinator",
    pains: 0,
    sections: &[
        ("Whether a pod is tried (`core/core_test.go`)", tried::ROWS),
        ("When a gang starts, and what ends its waiting (`core/core_test.go`, `coscheduling_test.go`)", starts::ROWS),
        ("In which order (`coscheduling_test.go`)", order::ROWS),
        (
            "What a gang is made of (`core/gang_cache_test.go`, `core/gang_test.go`, `core/ganggroup_test.go`, `util/gang_helper_test.go`)",
            made::ROWS,
        ),
        (
            "What is told of it (`controller/podgroup_test.go`, `core/core_test.go`, `core/gang_context_test.go`, `coscheduling_test.go`)",
            told::ROWS,
        ),
        (
            "Preemption and network topologies (`core/preemption_test.go`, `core/network_topology_*_test.go`)",
            later::ROWS,
        ),
    ],
};

const NO_CYCLE: Verdict = Verdict::Different(
    "no cycles are counted; a gang is planned whole, and again when what it lacked has changed (ADR 18)",
);
const NO_PREEMPTION: Verdict = Verdict::Missing("nobody is preempted for anybody yet");
const NO_TOPOLOGY: Verdict = Verdict::Missing("a gang that asks for a network topology is refused by name");
const NO_BIND_MARKS: Verdict = Verdict::Missing(
    "`bind-gang-*` is not written on pods yet; a Binding has one annotation, which names the TaskGroup (ADR 12)",
);
const NO_METRIC: Verdict = Verdict::Missing("Koordinator's metrics are not served; `docs/metrics.md` says which are");
const NO_TURNS: Verdict = Verdict::NotApplicable(
    "neither cycles nor last tries are counted; who waits keeps its place in the order, however often it was tried",
);
const NO_REPRESENTATIVE: Verdict =
    Verdict::NotApplicable("a gang is planned whole, so that no pod stands for it in a queue");
