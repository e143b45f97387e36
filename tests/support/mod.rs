//! What the tests of the core share: a cluster in a few words.

pub mod cluster;
pub mod driven;
