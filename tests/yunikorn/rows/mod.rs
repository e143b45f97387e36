//! The rows of the table, a file for each section.

pub(super) mod end_to_end;
pub(super) mod objects;
pub(super) mod pains;
pub(super) mod partition;
pub(super) mod shim;
