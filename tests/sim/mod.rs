//! The whole pure controller on the model of the API server, in virtual time, with everything that can go wrong.

pub(crate) mod chance;
pub(crate) mod coverage;
mod disturb;
pub(crate) mod draw;
mod effects;
mod forks;
mod marks;
pub(crate) mod oracle;
mod people;
mod place;
pub(crate) mod plan;
mod process;
pub(crate) mod run;
pub(crate) mod shrink;
pub(crate) mod world;
