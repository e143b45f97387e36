//! What knows nothing of scheduling: storage by id, bit sets, exact quantities, names.

pub mod arena;
pub mod bits;
pub mod ids;
pub mod marked;
pub mod recent;
pub mod resources;
pub mod share;
