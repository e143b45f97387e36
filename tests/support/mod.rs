//! What the tests of the core share: a cluster in a few words, its phases, and what to ask of it.

pub mod cluster;
pub mod look;
pub mod phases;
