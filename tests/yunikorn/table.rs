//! One row for each behaviour of YuniKorn: the test that shows it there, what becomes of it here, and which test shows that.

use super::rows;

/// How a behaviour compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Gangline does what YuniKorn's test asserts.
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
    /// Each, as the page calls it.
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
    /// YuniKorn's test or tests, or the number of a defect of it.
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

/// The sections of the page, with their rows.
pub(super) const SECTIONS: [(&str, &[Row]); 5] = [
    ("Applications, placeholders and queues (`scheduler/objects`)", rows::objects::ROWS),
    ("Nodes and partitions (`scheduler`, `scheduler/tests`)", rows::partition::ROWS),
    ("Annotations, placeholders and recovery in the shim (`cache`)", rows::shim::ROWS),
    ("End to end", rows::end_to_end::ROWS),
    ("What goes wrong there", rows::pains::ROWS),
];
