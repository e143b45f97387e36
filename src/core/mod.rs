//! Decides: what starts, where, and why something waits. Pure: no I/O, no clock, no thread, no lock.
//!
//! [`scheduler::Scheduler::step`] is the only way in: facts and a time go in, decisions come out. Planning reads,
//! committing writes; application, queue and node change together in [`books`].

mod absorb;
mod advance;
pub mod application;
pub mod arena;
pub mod ask;
mod audit;
pub mod bits;
pub mod books;
mod calls;
pub mod class;
pub mod codes;
mod contest;
pub mod decision;
pub mod event;
pub mod fill;
pub mod fit;
mod gang;
mod groups;
pub mod ids;
mod judge;
pub mod lifecycle;
pub mod misfit;
pub mod node;
mod objects;
mod outside;
mod pass;
mod plan;
mod pods;
pub mod queue;
mod rank;
pub mod reason;
pub mod recent;
mod recover;
mod replace;
pub mod report;
pub mod resources;
pub mod scheduler;
pub mod scratch;
mod search;
pub mod seat;
pub mod shape;
mod shelves;
mod shortlist;
pub mod time;
