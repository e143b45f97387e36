//! The whole pure controller on the model of the API server, in virtual time, with everything that can go wrong.

pub(crate) mod acts;
mod amount;
pub(crate) mod chance;
pub(crate) mod coverage;
mod disturb;
pub(crate) mod draw;
mod effects;
mod forge;
mod forks;
mod heard;
mod limits;
mod machines;
mod marks;
pub(crate) mod oracle;
pub(crate) mod pair;
mod people;
mod place;
pub(crate) mod plan;
mod pods;
mod process;
mod rare;
pub(crate) mod run;
pub(crate) mod same;
pub(crate) mod shrink;
mod spoken;
pub(crate) mod sweep;
pub(crate) mod world;
