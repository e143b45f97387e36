//! How much is played: little after every edit, enough before a change is handed in, all before a capability is done.

use std::env;

/// What grows from circle to circle.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    /// Plans that are the same each time.
    pub(crate) plans: u64,
    /// Plans that no other commit had.
    pub(crate) fresh: u64,
    /// Plans that are played once more in another process, and with lists in another order.
    pub(crate) twice: u64,
    /// Of how many plans one has its reasons looked into, which takes a play for each.
    pub(crate) forked: u64,
    /// Of how many deaths of the process at a write one is played.
    pub(crate) deaths: usize,
}

/// `make quick`
const QUICK: Size = Size { plans: 300, fresh: 0, twice: 5, forked: 50, deaths: 101 };
/// `make test`, and what is run by hand.
const TEST: Size = Size { plans: 2_000, fresh: 300, twice: 50, forked: 50, deaths: 11 };
/// `make verify`
const VERIFY: Size = Size { plans: FIXED, fresh: 0, twice: 2_000, forked: 2, deaths: 1 };

/// Plans of which it is known what they reach: the first so many.
pub(crate) const FIXED: u64 = 20_000;

/// The size that `CIRCLE` says. Who says by `SEEDS` how many plans there are to be has some of them played twice.
pub(crate) fn size() -> Size {
    let size = match variable("CIRCLE").as_deref() {
        Some("quick") => QUICK,
        Some("test") | None => TEST,
        Some("verify") => VERIFY,
        Some(other) => panic!("CIRCLE is quick, test or verify, not {other:?}"),
    };
    match number("SEEDS") {
        Some(seeds) => Size { twice: size.twice.min(seeds / 10).max(1), ..size },
        None => size,
    }
}

/// A variable of the environment. What is empty is not given, as make passes it on.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}

/// A number from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    let text = variable(name)?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number from 0 on, not {text:?}")))
}
