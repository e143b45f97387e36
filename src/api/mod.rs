//! The kinds we define and the names of labels and annotations. No logic.

pub mod names;
pub mod queue;
pub mod task_group;
