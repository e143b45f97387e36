//! The status of an object: as the API server has it, and as it will have it once it answers.

/// What an object shows, and what is on its way to it.
#[derive(Clone, Debug, Default)]
pub struct Shown<S> {
    /// As last read, or written and confirmed.
    confirmed: S,
    /// Written, if the API server took it.
    sent: Option<Box<S>>,
}

impl<S: Clone + PartialEq> Shown<S> {
    /// As it was read.
    pub const fn new(read: S) -> Self {
        Self { confirmed: read, sent: None }
    }

    /// As the API server has it.
    pub const fn confirmed(&self) -> &S {
        &self.confirmed
    }

    /// As it will be if what is on its way arrives: what news are compared with.
    pub fn latest(&self) -> &S {
        self.sent.as_deref().unwrap_or(&self.confirmed)
    }

    /// Sends a status; false: the API server has it already. While another one is in doubt it is sent in any case.
    pub fn send(&mut self, status: &S) -> bool {
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

    /// Takes what was read; true: it is neither what we know of nor what is on its way.
    pub fn read(&mut self, status: S) -> bool {
        let is_other = status != self.confirmed && self.sent.as_deref() != Some(&status);
        self.confirmed = status;
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
        assert!(shown.read(4) && !shown.read(4));
        assert!(shown.send(&5));
        assert!(!shown.read(5), "our own, seen before its answer");
        assert!(shown.read(6));
    }
}
