//! Translates Kubernetes objects as data to the core's words and decisions back to calls. Pure: no client, no clock.

pub mod decode;
pub mod observation;
pub mod op;
pub mod wire;
