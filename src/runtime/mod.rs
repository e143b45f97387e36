//! The asynchronous shell: the only place with a client, clocks and tasks. It decides nothing.

pub mod client;
pub mod clock;
pub mod driver;
pub mod execute;
mod item;
pub mod meter;
pub mod watch;
