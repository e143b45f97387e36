//! What a step of the controller hands to the shell.

use crate::core::time::Mono;
use crate::shim::op::Call;

/// What is to be done after a step.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// To be sent at once, once each, in this order.
    pub calls: Vec<Call>,
    /// When `step` must be called again even if nothing happens.
    pub wake: Option<Mono>,
    /// Whether there is more to decide now, without anything else happening.
    pub more: bool,
}
