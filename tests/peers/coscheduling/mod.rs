//! kube-scheduler's Coscheduling plugin (scheduler-plugins, August 2026, before 0.35.4): a file of rows for each section of its page.

mod controller;
mod integration;
mod plugin;

use super::table::{Peer, Verdict};

pub(super) const PEER: Peer = Peer {
    name: "Coscheduling",
    pains: 0,
    sections: &[
        ("The plugin (`pkg/coscheduling/coscheduling_test.go`)", plugin::ROWS),
        ("Its core (`pkg/coscheduling/core/core_test.go`)", plugin::CORE),
        ("The controller (`pkg/controllers/podgroup_controller_test.go`)", controller::ROWS),
        (
            "On a whole cluster (`test/integration/coscheduling_test.go`, `test/integration/podgroup_controller_test.go`)",
            integration::ROWS,
        ),
    ],
};

const NO_MIN_RESOURCES: Verdict =
    Verdict::Different("`minResources` decides nothing: the plan of all members says whether they fit");
