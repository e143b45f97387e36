//! Which bug of another scheduler is in: `src/rivals.rs` of the copy that `scripts/rivals` makes, and asked by its patches.
//!
//! A thread holds it. The patches lie in functions that share no value, and plays run side by side, so that a static would
//! put the bug of one play into another. A play has no bug, or one from its beginning to its end, like its plan.

use std::cell::Cell;

thread_local! {
    static IN: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Whether a bug is in, by the name of its patch.
pub(crate) fn has(bug: &str) -> bool {
    IN.get() == Some(bug)
}

/// Does something on this thread with a bug in, and takes it out again, whatever happens.
pub fn with<R>(bug: &'static str, something: impl FnOnce() -> R) -> R {
    /// Takes the bug out.
    struct Out;
    impl Drop for Out {
        fn drop(&mut self) {
            IN.set(None);
        }
    }
    IN.set(Some(bug));
    let _out = Out;
    something()
}
