//! Which answers are older than the latest list of pods.

use crate::shim::observation::WatchFact;
use crate::shim::op::CallId;

/// The latest list of pods, by the calls that had left before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PodList {
    /// It has begun, and goes on.
    open: bool,
    /// The last call that had left when one ended.
    newest: u64,
}

impl PodList {
    /// Takes what the watch of pods said; `newest` is the last call that has left.
    pub(super) fn hear(&mut self, fact: &WatchFact, newest: u64) {
        match fact {
            WatchFact::ListBegin => self.open = true,
            WatchFact::ListEnd => *self = Self { open: false, newest },
            // The list that follows shows what is there then.
            WatchFact::Broken { .. } | WatchFact::Unserved => self.open = false,
            WatchFact::Listed(_) | WatchFact::Upsert(_) | WatchFact::Gone(_) => {}
        }
    }

    /// Whether what a call made may have gone again before the list: then the list does not show it, and the watch after it
    /// does not tell.
    pub(super) const fn may_hide(&self, call: CallId) -> bool {
        self.open || call.sequence <= self.newest
    }
}
