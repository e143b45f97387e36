//! Delta debugging: the smallest plan that still breaks the same promise.

use super::plan::{Faults, Plan};
use super::run::play;

/// Leaves out acts, and switches faults off, as long as the same promise is broken.
pub(crate) fn shrink(plan: &Plan) -> Plan {
    let promise = |plan: &Plan| play(plan, false).violation.map(|violation| violation.promise);
    let Some(broken) = promise(plan) else { return plan.clone() };
    let fails = |plan: &Plan| promise(plan) == Some(broken);
    let mut best = plan.clone();
    let mut size = best.acts.len().div_ceil(2);
    while size > 0 {
        let before = best.acts.len();
        let mut from = 0;
        while from < best.acts.len() {
            let mut smaller = best.clone();
            smaller.acts.drain(from..(from + size).min(best.acts.len()));
            if fails(&smaller) { best = smaller } else { from += size }
        }
        if size == 1 && best.acts.len() == before {
            break;
        }
        size = if size > 1 { size / 2 } else { 1 };
    }
    for without in WITHOUT {
        let mut calmer = best.clone();
        without(&mut calmer.head.faults);
        if fails(&calmer) {
            best = calmer;
        }
    }
    best
}

const WITHOUT: [fn(&mut Faults); 14] = [
    |faults| faults.refused = 0,
    |faults| faults.answer_lost = 0,
    |faults| faults.lost = 0,
    |faults| faults.late = 0,
    |faults| faults.slow_ms = 0,
    |faults| faults.lag_ms = 0,
    |faults| faults.cut = 0,
    |faults| faults.stall_ms = 0,
    |faults| faults.idle_ms = 0,
    |faults| faults.crash = 0,
    |faults| faults.unfit = 0,
    |faults| faults.stale = 0,
    |faults| faults.denied = None,
    |faults| faults.admission = None,
];
