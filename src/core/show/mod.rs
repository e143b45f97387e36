//! What users are told: which task groups, pods and queues changed, and what to say of each.

pub mod kept;
pub mod lacks;
mod members;
mod pods;
pub mod queues;
pub mod report;
mod turn;
