//! Decides: what starts, where, and why something waits. Pure: no I/O, no clock, no thread, no lock.
//!
//! [`step::Scheduler::step`] is the only way in: facts and a time go in, decisions come out. One step goes through the
//! rooms of this directory in this order:
//!
//! 1. `facts` puts what was observed into the books (`model`).
//! 2. `gang` moves each application on as far as it goes without competing for room.
//! 3. `order` says whose turn it is, `place` where that finds nodes, and the books take it all at once.
//! 4. `show` says what users are to be told.
//!
//! `base` knows nothing of scheduling; `audit` recomputes the books from scratch.

mod audit;
pub mod base;
pub mod codes;
pub mod decision;
pub mod event;
mod facts;
mod gang;
pub mod model;
mod order;
pub mod place;
pub mod reason;
pub mod shape;
pub mod show;
pub mod step;
pub mod time;

// The words that every layer uses, without the room they are defined in.
pub use base::{arena, bits, ids, resources};
pub use model::{application, ask, books, class, fit, lifecycle, node, queue, seat};
pub use place::{fill, misfit, overlay as scratch};
pub use show::report;
pub use step as scheduler;
