//! Plays a plan from its first act to an empty cluster, and says which promise was broken.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gangline::shim::op::Op;

use super::coverage::{Coverage, Reached};
use super::draw::LENGTH_MS;
use super::forks;
use super::oracle::Violation;
use super::plan::Plan;
use super::world::World;

/// What a play came to.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    pub(crate) violation: Option<Violation>,
    pub(crate) steps: u64,
    /// How many of them were decided by what a queue is promised.
    pub(crate) contended: u64,
    /// Every write, in its order.
    pub(crate) writes: Vec<String>,
    /// Every call, where that is noted.
    pub(crate) calls: Vec<Op>,
    /// What was reached, where that is noted.
    pub(crate) reached: Reached,
}

/// Plays a plan. Our own mistakes are assertions: a panic is a broken promise like any other.
pub(crate) fn play(plan: &Plan, verbose: bool) -> Played {
    let mut world = World::new(plan.head.seed, plan.head.faults, None);
    world.verbose = verbose;
    play_in(world, plan)
}

/// Plays a plan, and looks into each reason that is given, whatever its number.
pub(crate) fn play_closely(plan: &Plan) -> Played {
    let mut world = World::new(plan.head.seed, plan.head.faults, None);
    world.looks_closely = true;
    play_in(world, plan)
}

/// Plays a plan, and notes what it reaches.
pub(crate) fn play_and_look(plan: &Plan) -> Played {
    let mut world = World::new(plan.head.seed, plan.head.faults, None);
    world.coverage = Some(Coverage::default());
    play_in(world, plan)
}

/// Plays a plan in a world that is about to begin.
pub(crate) fn play_in(world: World, plan: &Plan) -> Played {
    catch_unwind(AssertUnwindSafe(|| play_on(world, plan))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let what = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let violation = Some(Violation::new("panic", what.unwrap_or_default()));
        let (writes, calls, reached) = (Vec::new(), Vec::new(), Reached::new());
        Played { violation, steps: 0, contended: 0, writes, calls, reached }
    })
}

/// Plays a plan until nothing happens any more.
pub(crate) fn to_rest(mut world: World, plan: &Plan) -> World {
    if plan.head.dialects {
        world.speak();
    }
    if plan.head.replicas {
        world.replicate();
    }
    world.plan(&plan.acts);
    world.run_for(LENGTH_MS);
    world.calm_down();
    world.rest();
    world
}

fn play_on(world: World, plan: &Plan) -> Played {
    let mut world = to_rest(world, plan);
    let phases: [fn(&mut World); 6] = [
        World::check_restart,
        World::enrich,
        World::check_at_rest,
        World::check_everything_runs,
        World::clear_away,
        World::check_nothing_is_left,
    ];
    if world.violation.is_none() {
        world.check_at_rest();
    }
    if world.violation.is_none() && world.looks_closely {
        forks::check(&mut world);
    }
    for phase in phases {
        if world.violation.is_none() {
            phase(&mut world);
        }
    }
    let reached = world.coverage.map(|coverage| coverage.reached).unwrap_or_default();
    let calls = world.calls.unwrap_or_default();
    let World { violation, steps, contended, writes, .. } = world;
    Played { violation, steps, contended, writes, calls, reached }
}
