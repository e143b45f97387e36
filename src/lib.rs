//! Gangline: a gang scheduler for Kubernetes. A job starts with all its members or does not hold the cluster at all.
//!
//! One synchronous value decides; a thin asynchronous shell does the I/O (ARCHITECTURE.md):
//!
//! | module | layer |
//! |---|---|
//! | [`core`] | pure: decides. Queues, applications, seats, nodes, planning |
//! | `shim` | pure: translates Kubernetes objects to the core's words and back |
//! | `api` | the kinds we define, label and annotation names |
//! | `controller` | shim, core and outbox as one pure value |
//! | `sim` | pure: a model of the API server and its actors |
//! | `runtime` | asynchronous: watches, executor, HTTP, command line (feature `runtime`) |

pub mod api;
pub mod controller;
pub mod core;
#[cfg(feature = "runtime")]
pub mod runtime;
pub mod shim;
pub mod sim;
