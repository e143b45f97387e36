//! How full the queues were, as charts.

use std::collections::BTreeMap;

use super::show::clock;
use crate::core::base::resources::{Amount, BASE_NAMES};
use crate::core::time::Millis;
use crate::runtime::text::escape;
use crate::sim::story::{Queue, Story, Usage};

/// Columns of a chart.
const COLUMNS: u64 = 60;
/// Eighths of a column.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One line for each resource that a queue limits, or that was used and only some nodes have; of one without limits also
/// for its use of cpu.
pub(super) fn queues(story: &Story) -> String {
    let used = |queue: &&Queue| queue.resources.values().any(|usage| usage.peak > 0);
    let lines: Vec<_> = story.queues.iter().filter(used).flat_map(|queue| charts(queue, story)).collect();
    let names = lines.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    let column = (story.played / COLUMNS).max(1);
    let head = format!("USE OF QUEUES, from 0s to {}; a column is {}\n", clock(story.played), clock(column));
    let line = |(name, bars, peak): &(String, String, String)| format!("{name:names$}  |{bars}|  {peak}\n");
    if lines.is_empty() { String::new() } else { head + &lines.iter().map(line).collect::<String>() }
}

fn charts(queue: &Queue, story: &Story) -> Vec<(String, String, String)> {
    let limits = queue.resources.values().any(|usage| usage.max.is_some());
    let tells = |name: &str| !BASE_NAMES.contains(&name) || !limits && name == "cpu";
    let shown = queue.resources.iter().filter(|(name, usage)| usage.max.is_some() || usage.peak > 0 && tells(name));
    let line = |(name, usage): (&String, &Usage)| {
        let (whole, of) = whole(name, usage, &story.nodes_have);
        let peak = if usage.peak == 0 { "0" } else { &usage.peak_text };
        let bars = bars(usage, whole, story.played);
        (escape(&format!("{} {name}", queue.name)).into_owned(), bars, format!("peak {peak}{of}"))
    };
    shown.map(line).collect()
}

/// What a full column means, as a number and in words: the limit, or what all nodes have. (There may have been more.)
fn whole(name: &str, usage: &Usage, nodes_have: &BTreeMap<String, i64>) -> (i64, String) {
    let all = nodes_have.get(name).copied().unwrap_or(0);
    let have = Amount(name, i128::from(all));
    match (usage.max, &usage.max_text) {
        (Some(max), Some(text)) => (max, format!(" of {text}")),
        _ if all >= usage.peak => (all, format!(", unlimited; the nodes have {have}")),
        _ => (usage.peak, ", unlimited".to_owned()),
    }
}

/// The most that was used in each column, as a part of the whole.
pub(super) fn bars(usage: &Usage, whole: i64, played: Millis) -> String {
    let whole = i128::from(whole.max(1));
    let edge = |column: u64| u128::from(played) * u128::from(column) / u128::from(COLUMNS);
    let most = |column: u64| {
        let (from, to) = (edge(column), edge(column + 1));
        let before = usage.over_time.iter().rfind(|(at, _)| u128::from(*at) <= from).map_or(0, |(_, used)| *used);
        let within = usage.over_time.iter().filter(|(at, _)| (from..to).contains(&u128::from(*at)));
        within.map(|(_, used)| *used).chain([before]).max().unwrap_or(0)
    };
    let bar = |column| {
        let eighths = (i128::from(most(column)) * 8 + whole - 1) / whole;
        BARS[usize::try_from(eighths.clamp(0, 8)).unwrap_or(8)]
    };
    (0..COLUMNS).map(bar).collect()
}
