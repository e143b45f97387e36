//! Numbers about the controller, for metrics and `/state`.

use std::collections::BTreeMap;

use crate::core::base::ids::Text;
use crate::shim::op::Rule;

/// A picture of the controller in numbers.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Whether this process decides; the other way round it follows one that does.
    pub leads: bool,
    /// Whether every kind is listed or known to be unserved.
    pub synced: bool,
    /// Decisions so far, by kind.
    pub decisions: BTreeMap<&'static str, u64>,
    /// Ended calls so far by (verb, resource, HTTP code; 0 = unknown or not sent).
    pub calls: BTreeMap<(&'static str, &'static str, u16), u64>,
    /// Calls waiting to be sent.
    pub outbox_waiting: u64,
    /// Calls in flight.
    pub outbox_in_flight: u64,
    /// Events that were not written: too many waited, or the API server did not take them.
    pub events_dropped: u64,
    /// How many calls may be in flight now.
    pub outbox_window: u64,
    /// Objects known, by kind.
    pub objects: BTreeMap<&'static str, u64>,
    /// Objects that could not be read, by kind.
    pub malformed: BTreeMap<&'static str, u64>,
    /// Seats by state.
    pub seats: BTreeMap<&'static str, u64>,
    /// Applications by state.
    pub applications: BTreeMap<&'static str, u64>,
    /// Pods of ours that wait for a node.
    pub pending_pods: u64,
    /// What the API server denies us.
    pub denied: Vec<Rule>,
    /// Audits of the books so far.
    pub audits: u64,
    /// Violations that the audit of the books found so far.
    pub violations: u64,
    /// Use of each queue.
    pub queues: Vec<QueueUse>,
}

/// Use of one resource in one queue; cpu in millicores.
#[derive(Clone, Debug)]
pub struct QueueUse {
    /// The queue's path.
    pub queue: Text,
    /// Kubernetes' name of the resource.
    pub resource: Text,
    /// What is allocated.
    pub allocated: i128,
    /// What may be at most.
    pub max: Option<i128>,
}
