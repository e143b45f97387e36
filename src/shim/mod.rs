//! Translates Kubernetes objects as data to the core's words and decisions back to calls. Pure: no client, no clock.

pub mod constraints;
pub mod decode;
pub mod escape;
pub mod group_check;
pub mod kinds;
pub mod known;
mod lean;
pub mod ledger;
pub mod mark;
pub mod node;
pub mod node_affinity;
pub mod observation;
pub mod op;
pub mod placeholder;
pub mod pod;
pub mod protobuf;
pub mod quantity;
mod quantity_text;
pub mod queue;
pub mod requests;
pub mod resource_quota;
pub mod show;
pub mod shown;
pub mod spec_errors;
pub mod syntax;
pub mod task_group;
pub mod wire;
