//! The API server's own encoding: it writes and reads it in a fraction of the time that JSON takes it, so that the two
//! things which happen for every pod use it (docs/adr/0012 and 0013). A Binding is sent in it; pods come in it, and
//! become JSON with those fields that are read here, since the client library's watches know nothing else.
//!
//! Numbers of fields are those of `generated.proto` in `k8s.io/api/core/v1`, `k8s.io/apimachinery/pkg/apis/meta/v1` and
//! `…/pkg/runtime` (1.36); they are part of the API and never change.

mod binding;
mod fields;
mod json;
#[cfg(test)]
mod left_out;
mod message;

pub use binding::{Binding, ObjectMeta, ObjectReference};
pub use json::{Unreadable, continue_token, event_to_json, to_json};
pub use message::NoMessage;

/// The media type.
pub const CONTENT: &str = "application/vnd.kubernetes.protobuf";

/// What is asked for where an answer is a pod, and what else is understood.
pub const ACCEPTED: &str = "application/vnd.kubernetes.protobuf,application/json";

/// An object by itself begins with these bytes and is a `runtime.Unknown` from there.
const MAGIC: &[u8] = b"k8s\0";
