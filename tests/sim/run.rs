//! Plays a plan from its first act to an empty cluster, and says which promise was broken.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::draw::LENGTH_MS;
use super::oracle::Violation;
use super::plan::Plan;
use super::world::World;

/// What a play came to.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    pub(crate) violation: Option<Violation>,
    pub(crate) steps: u64,
    pub(crate) writes: usize,
}

/// Plays a plan. Our own mistakes are assertions: a panic is a broken promise like any other.
pub(crate) fn play(plan: &Plan, verbose: bool) -> Played {
    catch_unwind(AssertUnwindSafe(|| play_on(plan, verbose))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let what = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let violation = Violation::new("panic", what.unwrap_or_default());
        Played { violation: Some(violation), steps: 0, writes: 0 }
    })
}

fn play_on(plan: &Plan, verbose: bool) -> Played {
    let mut world = World::new(plan.head.seed, plan.head.faults, None);
    world.verbose = verbose;
    world.plan(&plan.acts);
    world.run_for(LENGTH_MS);
    world.calm_down();
    let phases: [fn(&mut World); 8] = [
        World::rest,
        World::check_at_rest,
        World::check_restart,
        World::enrich,
        World::check_at_rest,
        World::check_everything_runs,
        World::clear_away,
        World::check_nothing_is_left,
    ];
    for phase in phases {
        if world.violation.is_none() {
            phase(&mut world);
        }
    }
    Played { violation: world.violation, steps: world.steps, writes: world.writes.len() }
}
