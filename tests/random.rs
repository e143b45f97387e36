//! Random histories: few nodes, queues and groups, everything that can happen to them, in any order and any delay; after
//! every step the books add up, and in the end everything that can run runs, and nothing is left of what is gone.
//!
//! `SEED=17 cargo test --test checks random` replays one history and prints it; `SEEDS=100000` runs so many.

mod actions;
mod dice;
mod oracle;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use world::World;

/// How many histories every run of the tests tries.
const SEEDS: u64 = 2_000;
/// Things that happen in one history.
const LENGTH: u32 = 80;

#[test]
fn random_histories_keep_every_promise() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    if let Some(seed) = number("SEED") {
        return history(seed, true);
    }
    let (first, count) = (number("FIRST").unwrap_or(0), number("SEEDS").unwrap_or(SEEDS));
    for seed in first..first + count {
        if catch_unwind(AssertUnwindSafe(|| history(seed, false))).is_err() {
            panic!("the history of SEED={seed} breaks a promise; run it alone to see it");
        }
    }
}

fn history(seed: u64, verbose: bool) {
    let mut world = World::new(seed, verbose);
    for _ in 0..LENGTH {
        world.act();
    }
    world.calm_down();
    world.check_quiet();
    world.check_nothing_is_overlooked();
    world.lose_a_waiting_pod();
    world.check_nothing_is_overlooked();
    world.enrich();
    world.check_everything_runs();
    world.clear_away();
    world.check_nothing_is_left();
}
