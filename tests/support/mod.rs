//! What the tests share: a cluster for the core in a few words, its phases, what to ask of it; the whole controller.

pub mod cluster;
pub mod driven;
pub mod look;
pub mod names;
pub mod phases;
