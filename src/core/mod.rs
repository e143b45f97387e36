//! Decides: what starts, where, and why something waits. Pure: no I/O, no clock, no thread, no lock.
//!
//! [`step::Scheduler::step`] is the only way in: facts and a time go in, decisions come out. One step goes through the
//! rooms of this directory in this order:
//!
//! 1. `facts` puts what was observed into the books (`model`), and notes there what that calls for (`model/due.rs`).
//! 2. `gang` does what was called for (`gang/heed.rs`), then moves each application on as far as it goes without
//!    competing for room.
//! 3. `order` says whose turn it is, `place` finds the nodes, and the books take a whole plan at once.
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
