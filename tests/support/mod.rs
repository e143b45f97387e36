//! What the tests share: a cluster in a few words, its phases, what to ask of it, and a driven controller.

pub mod cluster;
pub mod driven;
pub mod look;
pub mod phases;
