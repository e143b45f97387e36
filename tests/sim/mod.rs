//! The whole pure controller on the model of the API server, in virtual time.

pub(crate) mod world;
