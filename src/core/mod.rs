//! Decides: what starts, where, and why something waits. Pure: no I/O, no clock, no thread, no lock.

pub mod arena;
pub mod bits;
pub mod class;
pub mod fill;
pub mod fit;
pub mod ids;
pub mod misfit;
pub mod node;
mod rank;
pub mod recent;
pub mod resources;
pub mod scratch;
mod search;
pub mod shape;
mod shortlist;
pub mod time;
