//! The books: everything that the core knows, and the only functions that change more than one of its parts at once.

pub mod application;
pub mod ask;
pub mod books;
pub mod bound;
pub mod changes;
pub mod claims;
pub mod class;
pub mod countdown;
pub mod due;
pub mod fit;
pub mod front;
pub(in crate::core) mod fullness;
pub mod gang;
pub mod group;
pub mod kept;
pub mod lifecycle;
mod membership;
pub mod node;
mod questions;
pub mod queue;
pub mod seat;
pub mod size;
mod standing;
pub mod timers;
pub mod turn;
mod verbs;
mod waiting;
