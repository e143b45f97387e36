//! A story in words: what became what, gang by gang, and how full the queues were.

use crate::core::time::Millis;
use crate::runtime::cli::output::{self, Tone};
use crate::runtime::text::{count as count_of, escape};
use crate::sim::story::{Gang, Moment, Queue, Story, Usage, Waiting};

/// Columns of a chart.
const COLUMNS: u64 = 60;
/// Eighths of a column.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Most pods that are named in the end.
const PODS_NAMED: usize = 10;

/// Everything, in the order in which somebody asks.
pub(super) fn words(story: &Story, colours: bool) -> String {
    let parts = [
        timeline(&story.timeline, colours),
        gangs(&story.gangs, colours),
        queues(story),
        pods(&story.waiting),
        summary(story),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// `12.3s`, `5m02s`, `3h07m`.
pub(super) fn clock(at: Millis) -> String {
    let seconds = at / 1_000;
    match seconds {
        0..600 => format!("{}.{}s", seconds, at % 1_000 / 100),
        600..36_000 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

fn timeline(moments: &[Moment], colours: bool) -> String {
    let row = |moment: &Moment| {
        let cells = [clock(moment.at), moment.gang.clone(), moment.state.into(), moment.reason.into()];
        (tone(moment.state), cells.into_iter().chain([moment.message.clone()]).collect())
    };
    let rows: Vec<_> = moments.iter().map(row).collect();
    if rows.is_empty() {
        String::new()
    } else {
        output::table(&["AT", "GANG", "STATE", "REASON", "MESSAGE"], &rows, colours)
    }
}

fn tone(state: &str) -> Tone {
    match state {
        "Running" | "Waiting" | "Completed" => Tone::Plain,
        "Rejected" => Tone::Problem,
        _ => Tone::Waiting,
    }
}

fn gangs(gangs: &[Gang], colours: bool) -> String {
    let time = |at: Option<Millis>| at.map_or("-".to_owned(), clock);
    let row = |gang: &Gang| {
        let waited: Vec<_> = gang.waited.iter().map(|(reason, long)| format!("{reason} {}", clock(*long))).collect();
        let cells = vec![
            gang.name.clone(),
            gang.queue.clone(),
            gang.members.to_string(),
            clock(gang.submitted),
            time(gang.admitted),
            time(gang.started),
            time(gang.placed),
            time(gang.finished),
            gang.state.to_owned(),
            if waited.is_empty() { "-".to_owned() } else { waited.join(", ") },
        ];
        (tone(gang.state), cells)
    };
    let rows: Vec<_> = gangs.iter().map(row).collect();
    let header =
        ["GANG", "QUEUE", "MEMBERS", "SUBMITTED", "ADMITTED", "STARTED", "PLACED", "FINISHED", "STATE", "WAITED FOR"];
    if rows.is_empty() { String::new() } else { output::table(&header, &rows, colours) }
}

/// One line for each resource that a queue limits, or that was used in one without limits.
fn queues(story: &Story) -> String {
    let used = |queue: &&Queue| queue.resources.values().any(|usage| usage.peak > 0);
    let lines: Vec<_> = story.queues.iter().filter(used).flat_map(|queue| charts(queue, story.ended)).collect();
    let names = lines.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    let column = (story.ended / COLUMNS).max(1);
    let head = format!("USE OF QUEUES, from 0s to {}; a column is {}\n", clock(story.ended), clock(column));
    let line = |(name, bars, peak): &(String, String, String)| format!("{name:names$}  |{bars}|  {peak}\n");
    if lines.is_empty() { String::new() } else { head + &lines.iter().map(line).collect::<String>() }
}

fn charts(queue: &Queue, ended: Millis) -> Vec<(String, String, String)> {
    let limits = queue.resources.values().any(|usage| usage.max.is_some());
    let shown = queue
        .resources
        .iter()
        .filter(|(name, usage)| if limits { usage.max.is_some() } else { *name == "cpu" && usage.peak > 0 });
    let line = |(name, usage): (&String, &Usage)| {
        let of = usage.max_text.as_ref().map_or(", unlimited".to_owned(), |max| format!(" of {max}"));
        let peak = if usage.peak == 0 { "0" } else { &usage.peak_text };
        (escape(&format!("{} {name}", queue.name)).into_owned(), bars(usage, ended), format!("peak {peak}{of}"))
    };
    shown.map(line).collect()
}

/// The most that was used in each column, as a part of the limit or of the peak.
pub(super) fn bars(usage: &Usage, ended: Millis) -> String {
    let whole = i128::from(usage.max.unwrap_or(usage.peak).max(1));
    let edge = |column: u64| u128::from(ended) * u128::from(column) / u128::from(COLUMNS);
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

/// Pods that have no node in the end.
fn pods(waiting: &[Waiting]) -> String {
    let line = |pod: &Waiting| {
        let why = match (&pod.reason, &pod.message) {
            (Some(reason), Some(message)) => format!("{reason}: {message}"),
            (Some(reason), None) => reason.clone(),
            (None, _) => "nothing is said of it".to_owned(),
        };
        format!("{}\n", escape(&format!("  {}  {why}", pod.pod)))
    };
    if waiting.is_empty() {
        return String::new();
    }
    let named: String = waiting.iter().take(PODS_NAMED).map(line).collect();
    let more = waiting.len().saturating_sub(PODS_NAMED);
    let more = if more > 0 { format!("  and {more} more\n") } else { String::new() };
    format!("WITHOUT A NODE IN THE END\n{named}{more}")
}

fn summary(story: &Story) -> String {
    let count = |states: &[&str]| story.gangs.iter().filter(|gang| states.contains(&gang.state)).count();
    let (rejected, finished) = (count(&["Rejected"]), count(&["Waiting", "Completed"]));
    let (running, waiting) = (count(&["Running"]), count(&["New", "Accepted"]));
    let gangs = count_of(story.gangs.len(), "gang");
    let after = clock(story.ended);
    format!("{gangs} after {after}: {finished} finished, {running} running, {waiting} waiting, {rejected} rejected.\n")
}
