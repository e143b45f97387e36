//! Where: which nodes hold so many pods of a shape, and the plan of a gang. Reads the books, writes an overlay.

pub mod bounds;
pub mod fill;
pub mod misfit;
pub mod overlay;
pub(in crate::core) mod plan;
pub mod planner;
mod puzzle;
pub(in crate::core) mod search;
pub(in crate::core) mod shortlist;
mod tight;
