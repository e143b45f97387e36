//! Whose turn it is: gangs before their start and ordinary pods, in the order of a pass.

pub(in crate::core) mod heads;
pub(in crate::core) mod lines;
pub(in crate::core) mod merge;
pub(in crate::core) mod pass;
mod pods;
mod turns;
