//! Why a node does not fit, as small values; the static filters.

/// Why one node does not take a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misfit {}
/// How many nodes do not fit, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram;
