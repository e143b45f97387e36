//! Translates Kubernetes objects as data to the core's words and decisions back to calls. Pure: no client, no clock.

pub mod constraints;
pub mod decode;
pub mod escape;
pub mod group_check;
pub mod node;
pub mod observation;
pub mod op;
pub mod placeholder;
pub mod pod;
pub mod quantity;
pub mod queue;
pub mod requests;
pub mod resource_quota;
pub mod spec_errors;
pub mod syntax;
pub mod task_group;
pub mod wire;
