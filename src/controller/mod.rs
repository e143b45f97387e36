//! Shim, core and outbox as one pure value: observations and a time in, calls out.

pub mod outbox;
pub mod stats;
pub mod turn;
