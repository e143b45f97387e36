//! The life of an application's gang: a file for each phase.

mod absorb;
mod along;
mod calls;
mod gate;
mod heed;
mod join;
pub(in crate::core) mod judge;
mod kept;
mod life;
mod outside;
mod recover;
pub(in crate::core) mod replace;
mod reserve;
mod restart;
mod rounds;
mod swap;
mod timeout;
