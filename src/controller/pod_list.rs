//! Which answers are older than the latest list of pods.

use crate::shim::observation::WatchFact;
use crate::shim::op::CallId;

/// The latest list of pods, by the calls that had left before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PodList {
    /// A list has begun and has not ended.
    open: bool,
    /// The last call that had left when the latest list ended.
    newest: u64,
}

impl PodList {
    /// Takes what the watch of pods said; `newest` is the last call that has left.
    pub(super) fn hear(&mut self, fact: &WatchFact, newest: u64) {
        match fact {
            WatchFact::ListBegin => self.open = true,
            WatchFact::ListEnd => *self = Self { open: false, newest },
            // The list breaks off. The one that follows shows what is there then.
            WatchFact::Broken { .. } | WatchFact::Unserved => self.open = false,
            WatchFact::Listed(_) | WatchFact::Upsert(_) | WatchFact::Gone(_) => {}
        }
    }

    /// Whether a pod that a call created may have gone again before the latest list. Then the list does not show the
    /// pod, and the watch after the list does not say that it has gone.
    pub(super) const fn may_hide(&self, call: CallId) -> bool {
        self.open || call.sequence <= self.newest
    }
}
