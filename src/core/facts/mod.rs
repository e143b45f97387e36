//! Events become facts in the books: pods, task groups, queues, nodes, and what became of our calls.

mod calls;
mod groups;
mod objects;
mod pods;
