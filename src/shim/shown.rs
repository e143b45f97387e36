//! The status of an object: as the API server has it, and as it will be once the server has taken what was sent.

/// What an object shows, and what is on its way to it.
#[derive(Clone, Debug, Default)]
pub struct Shown<S> {
    /// As last read, or written and confirmed.
    confirmed: S,
    /// As sent, while the API server has not answered.
    sent: Option<Box<S>>,
    /// A status that was read soon after a write, or before the answer to it, and that is neither of the two above. The
    /// watch may show an older write of ours only now, or an older write may have come late and undone a newer one. The
    /// next reading tells which.
    doubt: Option<Box<S>>,
}

impl<S: Clone + PartialEq> Shown<S> {
    /// As it was read.
    pub const fn new(read: S) -> Self {
        Self { confirmed: read, sent: None, doubt: None }
    }

    /// As the API server has it.
    pub const fn confirmed(&self) -> &S {
        &self.confirmed
    }

    /// As it will be if what is on its way arrives. A new report is compared with this.
    pub fn latest(&self) -> &S {
        self.sent.as_deref().unwrap_or(&self.confirmed)
    }

    /// As it was last read, or written and confirmed after that. What is on its way does not count: it may have been refused, and
    /// then it is to be sent again.
    pub fn last_seen(&self) -> &S {
        self.doubt.as_deref().unwrap_or(&self.confirmed)
    }

    /// Sends a status; false: the API server has it already. What was read last counts as what the server has. While
    /// another status is on its way, this one is sent in any case.
    pub fn send(&mut self, status: &S) -> bool {
        if let Some(doubt) = self.doubt.take() {
            self.confirmed = *doubt;
        }
        if self.sent.is_none() && self.confirmed == *status {
            return false;
        }
        self.sent = Some(Box::new(status.clone()));
        true
    }

    /// What was sent has been written, or has not been and will not be.
    pub fn settle(&mut self, written: bool) {
        if let Some(sent) = self.sent.take().filter(|_| written) {
            self.confirmed = *sent;
        }
    }

    /// Takes a status that was read; `soon`: soon after a write of ours. Returns whether it is neither the confirmed
    /// one nor the one on its way.
    pub fn read(&mut self, status: S, soon: bool) -> bool {
        if self.sent.as_deref() == Some(&status) {
            // The status that was sent has arrived. If the one before it is read after this, somebody has written that
            // later.
            self.confirmed = status.clone();
        }
        let is_other = status != self.confirmed && self.sent.as_deref() != Some(&status);
        if soon || self.sent.is_some() {
            self.doubt = is_other.then(|| Box::new(status));
        } else {
            (self.confirmed, self.doubt) = (status, None);
        }
        is_other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_compared_with_what_is_on_its_way() {
        let mut shown = Shown::new(1);
        assert!(!shown.send(&1), "it is there");
        assert!(shown.send(&2));
        assert_eq!((shown.confirmed(), shown.latest()), (&1, &2));
        assert!(shown.send(&1), "the 2 may have been written");
        shown.settle(true);
        assert_eq!((shown.confirmed(), shown.latest()), (&1, &1));
        assert!(shown.send(&3));
        shown.settle(false);
        assert_eq!((shown.confirmed(), shown.latest()), (&1, &1));
        shown.settle(true);
        assert_eq!(shown.confirmed(), &1, "nothing was on its way");
        assert!(shown.read(4, false) && !shown.read(4, false));
        assert!(shown.send(&5));
        assert!(!shown.read(5, false), "our own, seen before its answer");
        assert!(shown.read(6, false), "somebody else's, after it, and before its answer");
        shown.settle(true);
        assert!(shown.send(&5), "the answer does not undo what was read");
        shown.settle(true);
        assert!(shown.send(&6) && !shown.read(6, false));
        assert!(shown.read(5, false), "an earlier 5 of ours came late");
        shown.settle(true);
        assert!(shown.send(&6), "what was read last is there");
    }

    /// Whoever acts on what is there does not take for done what was only sent.
    #[test]
    fn what_is_on_its_way_was_not_seen() {
        let mut shown = Shown::new(1);
        assert!(shown.send(&2) && shown.send(&2), "sent again, as it may have been refused");
        assert_eq!((shown.latest(), shown.last_seen()), (&2, &1));
        assert!(!shown.read(1, false) && *shown.last_seen() == 1);
        assert!(shown.read(3, false), "somebody else's");
        assert_eq!(shown.last_seen(), &3);
        assert!(!shown.read(2, false) && *shown.last_seen() == 2, "ours has arrived");
        shown.settle(true);
        assert!(shown.send(&4));
        shown.settle(true);
        assert_eq!(shown.last_seen(), &4);
    }

    /// An earlier write that timed out can be made after a later one.
    #[test]
    fn what_is_read_soon_after_a_write_counts_if_it_stays() {
        let mut shown = Shown::new(1);
        assert!(shown.send(&2));
        shown.settle(true);
        assert!(shown.read(1, true), "an echo, or a late write");
        assert!(!shown.read(2, true) && !shown.send(&2), "it was an echo");
        assert!(shown.read(1, true) && shown.send(&2), "nothing came after it");
        shown.settle(true);
        assert!(shown.read(1, true) && !shown.send(&1), "it came late, and is true by now");
        assert!(shown.send(&2), "it is not true any more");
    }
}
