//! How a play ended: who has no node, what would have come later, and why no more was played.

use std::collections::BTreeSet;

use super::show::clock;
use crate::runtime::text::{count as count_of, escape};
use crate::sim::play::PODS_MAX;
use crate::sim::story::{End, Later, Story};
use crate::sim::waiting::Waiting;

/// Most gangs of which it is said why their pods wait.
const GANGS_NAMED: usize = 50;
/// Most lines of one gang, and of all pods outside gangs.
const LINES: usize = 10;

/// Pods that have no node in the end: a line for those that wait for the same.
pub(super) fn pods(waiting: &[Waiting]) -> String {
    if waiting.is_empty() {
        return String::new();
    }
    let gangs: Vec<&[Waiting]> = waiting.chunk_by(|one, other| one.gang == other.gang).collect();
    let named: String = gangs.iter().take(GANGS_NAMED).map(|gang| of_a_gang(gang)).collect();
    let rest = more(gangs.iter().skip(GANGS_NAMED).copied().flatten(), "  and");
    format!("WITHOUT A NODE IN THE END\n{named}{rest}")
}

fn of_a_gang(waiting: &[Waiting]) -> String {
    let line = |same: &Waiting| {
        let first = same.pods.first().map_or("", String::as_str);
        let others = same.pods.len().saturating_sub(1);
        let others = if others > 0 { format!(" and {others} more") } else { String::new() };
        format!("{}\n", escape(&format!("  {first}{others}  {}: {}", same.reason, same.message)))
    };
    let lines: String = waiting.iter().take(LINES).map(line).collect();
    lines + &more(waiting.iter().skip(LINES), "  and, for other reasons,")
}

fn more<'a>(rest: impl Iterator<Item = &'a Waiting>, words: &str) -> String {
    let pods: usize = rest.map(|same| same.pods.len()).sum();
    if pods > 0 { format!("{words} {} more\n", count_of(pods, "pod")) } else { String::new() }
}

/// What would have come.
pub(super) fn later(later: &[Later]) -> String {
    if later.is_empty() {
        return String::new();
    }
    let line = |one: &Later| format!("{}\n", escape(&format!("  {}  at {}", one.what, clock(one.at))));
    let lines: String = later.iter().take(LINES).map(line).collect();
    let rest = later.len().saturating_sub(LINES);
    let rest = if rest > 0 { format!("  and {rest} more\n") } else { String::new() };
    format!("NOT PLAYED, as it comes after the end\n{lines}{rest}")
}

/// The last line: numbers, how long was played, and why no longer.
pub(super) fn summary(story: &Story) -> String {
    // The TaskGroups of an application are one gang; one that it is closed to is Rejected, and none of it.
    let gangs: BTreeSet<_> = story.gangs.iter().map(|gang| (&gang.application, gang.state)).collect();
    let count = |states: &[&str]| gangs.iter().filter(|(_, state)| states.contains(state)).count();
    let (rejected, finished) = (count(&["Rejected"]), count(&["Waiting", "Completed"]));
    let (running, waiting) = (count(&["Running"]), count(&["New", "Accepted"]));
    let gangs = count_of(gangs.len(), "gang");
    let after = clock(story.played);
    let numbers = format!("{finished} finished, {running} running, {waiting} waiting, {rejected} rejected");
    format!("{gangs} after {after}: {numbers}. {}\n", why(story))
}

fn why(story: &Story) -> String {
    match story.end {
        End::NothingMore => "Nothing more will happen.".to_owned(),
        End::Until => "No more was played (--until).".to_owned(),
        End::TooManyPods => {
            let job = story.lacks.as_deref().unwrap_or_default();
            escape(&format!("No more was played: Job {job} wants more than the {PODS_MAX} pods of one play."))
                .into_owned()
        }
    }
}
