//! A story in words: what became what, gang by gang, and how full the queues were.

use super::{chart, ending};
use crate::core::time::Millis;
use crate::runtime::cli::output::{self, Tone};
use crate::sim::story::{End, Gang, Moment, Story};
use crate::sim::work::Work;

/// Most lines of a table that says less than the gangs do.
const WORKS_NAMED: usize = 30;

/// Everything, in the order in which somebody asks.
pub(super) fn words(story: &Story, colours: bool) -> String {
    let parts = [
        timeline(&story.timeline, colours),
        gangs(story, colours),
        outside(&story.outside, colours),
        chart::queues(story),
        ending::pods(&story.waiting),
        ending::later(&story.later),
        ending::summary(story),
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
        output::table(&["AT", "TASKGROUP", "STATE", "REASON", "MESSAGE"], &rows, colours)
    }
}

fn tone(state: &str) -> Tone {
    match state {
        "Running" | "Waiting" | "Completed" => Tone::Plain,
        "Rejected" => Tone::Problem,
        _ => Tone::Waiting,
    }
}

fn time(at: Option<Millis>) -> String {
    at.map_or("-".to_owned(), clock)
}

fn gangs(story: &Story, colours: bool) -> String {
    let row = |gang: &Gang| {
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
            waited(gang, story.end),
        ];
        (tone(gang.state), cells)
    };
    let rows: Vec<_> = story.gangs.iter().map(row).collect();
    let header = [
        "TASKGROUP",
        "QUEUE",
        "MEMBERS",
        "SUBMITTED",
        "ADMITTED",
        "STARTED",
        "PLACED",
        "FINISHED",
        "STATE",
        "WAITED FOR",
    ];
    if rows.is_empty() { String::new() } else { output::table(&header, &rows, colours) }
}

/// What it waited for, and how long. What will never come has no length.
fn waited(gang: &Gang, end: End) -> String {
    let mut parts: Vec<_> = gang.waited.iter().map(|(reason, long)| format!("{reason} {}", clock(*long))).collect();
    if gang.still_waits && end == End::NothingMore {
        parts.push(format!("{}: still waits, and nothing more will happen", gang.reason));
    }
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

fn outside(works: &[Work], colours: bool) -> String {
    let row = |work: &Work| {
        let tone = if work.started.is_some() { Tone::Plain } else { Tone::Waiting };
        (tone, vec![work.name.clone(), work.pods.to_string(), time(work.started), time(work.ended)])
    };
    let rows: Vec<_> = works.iter().take(WORKS_NAMED).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let more = works.len().saturating_sub(WORKS_NAMED);
    let more = if more > 0 { format!("and {more} more\n") } else { String::new() };
    output::table(&["OUTSIDE GANGS", "PODS", "STARTED", "ENDED"], &rows, colours) + &more
}
