//! A model of the API server and of those who act on it, as far as the scheduler can tell it from a real one (design 02,
//! 2.1). Pure: what happens is what is called, and the time is an argument.

pub mod admission;
pub mod api;
mod defaults;
pub mod edit;
pub mod garbage;
pub mod job;
pub mod kubelet;
pub mod namespace;
pub mod ordered;
pub mod play;
pub mod priority;
pub mod quota;
pub mod resize;
pub mod schema;
pub mod store;
pub mod story;
pub mod waiting;
pub mod work;
