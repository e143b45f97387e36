//! One row for each behaviour of another gang scheduler: the test that shows it there, what becomes of it here, and which test shows
//! that.

/// How a behaviour compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Gangline does what the other's test asserts.
    Same,
    /// What that test is for holds, also where there it does not.
    Better(&'static str),
    /// Otherwise, on purpose.
    Different(&'static str),
    /// There is nothing here of which it could be asserted.
    NotApplicable(&'static str),
    /// It should be so, and is not.
    Missing(&'static str),
}

impl Verdict {
    /// Each, as the pages call it.
    pub(super) const NAMES: [&'static str; 5] = ["same", "better", "different", "not applicable", "missing"];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Same => Self::NAMES[0],
            Self::Better(_) => Self::NAMES[1],
            Self::Different(_) => Self::NAMES[2],
            Self::NotApplicable(_) => Self::NAMES[3],
            Self::Missing(_) => Self::NAMES[4],
        }
    }

    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Same => "",
            Self::Better(why) | Self::Different(why) | Self::NotApplicable(why) | Self::Missing(why) => why,
        }
    }
}

/// A behaviour.
#[derive(Debug)]
pub(super) struct Row {
    /// The other's test or tests, or the number of a defect of it.
    pub(super) theirs: &'static str,
    /// What is asserted there, or what goes wrong.
    pub(super) says: &'static str,
    pub(super) verdict: Verdict,
    /// Tests of ours: `file::test` below `tests/`, or a path that begins with `src/` or `e2e/`; a file alone where that is the
    /// test.
    pub(super) ours: &'static [&'static str],
}

impl Row {
    pub(super) const fn of(
        theirs: &'static str,
        says: &'static str,
        verdict: Verdict,
        ours: &'static [&'static str],
    ) -> Self {
        Self { theirs, says, verdict, ours }
    }
}

/// Another gang scheduler.
#[derive(Debug)]
pub(super) struct Peer {
    /// How it is called. Its page and its rows are in files of that name.
    pub(super) name: &'static str,
    /// How many defects of it have a row each: `P1` and so on.
    pub(super) pains: u32,
    /// The sections of its page, with their rows.
    pub(super) sections: &'static [(&'static str, &'static [Row])],
}

impl Peer {
    /// Its page.
    pub(super) fn page(&self) -> String {
        format!("docs/{}-behaviours.md", self.name.to_lowercase())
    }

    /// Where its rows are.
    pub(super) fn source(&self) -> String {
        format!("tests/peers/{}", self.name.to_lowercase())
    }

    /// All its rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'static Row> + use<> {
        self.sections.iter().flat_map(|(_, rows)| rows.iter())
    }
}
