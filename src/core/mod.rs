//! Decides: what starts, where, and why something waits. Pure: no I/O, no clock, no thread, no lock.

pub mod arena;
pub mod decision;
pub mod event;
pub mod fit;
pub mod ids;
pub mod reason;
pub mod resources;
pub mod shape;
pub mod time;
