//! Draws what happens to two processes of which one decides: by dice of its own, so that plans of one are as they were.

use super::acts::{Act, ReplicaDeed, Which};
use super::chance::mix;
use super::draw::Dice;
use super::plan::{Head, Plan};

/// Numbers from here on are plans with two processes: the rest of each is that of the number without this.
pub(crate) const FROM: u64 = 1_000_000_000_000_000_000;

/// The same plan with two processes, and what happens to them. Nobody begins a process beside these.
pub(super) fn draw(seed: u64, plan: Plan) -> Plan {
    let mut dice = Dice(mix(seed));
    let Plan { head: Head { faults, dialects, .. }, mut acts } = plan;
    acts.retain(|(_, act)| !matches!(act, Act::Overlap { .. }));
    let times: Vec<u64> = acts.iter().map(|(at, _)| *at).chain([0]).collect();
    for _ in 0..=dice.few(5) {
        let which = if dice.percent(75) { Which::Leader } else { Which::Follower };
        let does = dice.of(&ReplicaDeed::ALL);
        let ms = match does {
            ReplicaDeed::Stop | ReplicaDeed::Part => dice.of(&[500, 9_500, 12_000, 16_000, 40_000]),
            ReplicaDeed::Kill | ReplicaDeed::End => dice.of(&[10, 1_000, 10_000, 30_000]),
            ReplicaDeed::Clock => dice.of(&[20_000, 3_600_000]),
            ReplicaDeed::Clear | ReplicaDeed::Steal | ReplicaDeed::Delete => 0,
        };
        // Often when there is something to decide.
        let at = if dice.percent(50) { dice.of(&times) } else { dice.time() };
        acts.push((at, Act::Replica { which, does, ms }));
    }
    acts.sort_by_key(|(at, _)| *at);
    Plan { head: Head { seed, faults, replicas: true, dialects }, acts }
}
