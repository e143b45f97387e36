//! YuniKorn: a file of rows for each section of its page.

mod end_to_end;
mod objects;
mod pains;
mod partition;
mod shim;

use super::table::Peer;

pub(super) const PEER: Peer = Peer {
    name: "YuniKorn",
    pains: 37,
    sections: &[
        ("Applications, placeholders and queues (`scheduler/objects`)", objects::ROWS),
        ("Nodes and partitions (`scheduler`, `scheduler/tests`)", partition::ROWS),
        ("Annotations, placeholders and recovery in the shim (`cache`)", shim::ROWS),
        ("End to end", end_to_end::ROWS),
        ("What goes wrong there", pains::ROWS),
    ],
};
