//! Decides: what starts, where, and why something waits. Pure: no I/O, no clock, no thread, no lock.

pub mod arena;
pub mod ids;
pub mod resources;
pub mod shape;
pub mod time;
