//! Delta debugging: the smallest plan of which the same holds.

use super::plan::Plan;
use super::run::play;

/// The smallest plan that still breaks the same promise.
pub(crate) fn shrink(plan: &Plan) -> Plan {
    let promise = |plan: &Plan| play(plan, false).violation.map(|violation| violation.promise);
    let Some(broken) = promise(plan) else { return plan.clone() };
    smallest(plan, |plan| promise(plan) == Some(broken))
}

/// Leaves out acts, and switches faults off, as long as it holds.
pub(crate) fn smallest(plan: &Plan, holds: impl Fn(&Plan) -> bool) -> Plan {
    let mut best = plan.clone();
    let mut size = best.acts.len().div_ceil(2);
    while size > 0 {
        let before = best.acts.len();
        let mut from = 0;
        while from < best.acts.len() {
            let mut smaller = best.clone();
            smaller.acts.drain(from..(from + size).min(best.acts.len()));
            if holds(&smaller) { best = smaller } else { from += size }
        }
        if size == 1 && best.acts.len() == before {
            break;
        }
        size = if size > 1 { size / 2 } else { 1 };
    }
    for fault in best.head.faults.names() {
        let mut calmer = best.clone();
        calmer.head.faults = best.head.faults.without(&fault);
        if holds(&calmer) {
            best = calmer;
        }
    }
    best
}
