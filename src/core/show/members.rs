//! What is said of the members of a task group: who runs, who is missing, how they ended.

use crate::core::codes::Code;
use crate::core::model::application::App;
use crate::core::model::group::{Ended, Group, Members};

/// What timed out, as it was said then.
pub(super) fn timed_out_words(app: &App) -> String {
    app.timed_out.as_ref().map_or_else(String::new, |timed_out| timed_out.sentence.to_string())
}

/// The reason of a task group that has started, and its sentence; `in_rounds`: its members start together once more.
pub(super) fn running_reason(group: &Group, app: &App, in_rounds: bool) -> (Code, String) {
    let (tally, all, placed) = (group.seats.tally(), group.seats.len(), app.placed);
    let ended = how_ended(group).map_or(String::new(), |ended| format!("; {ended}"));
    if tally.open > 0 && !placed && app.timed_out.is_some() {
        let text = format!("{}; members that come are ordinary pods: {}", timed_out_words(app), who_runs(group, all));
        return (Code::PlaceholderTimeout, text + &ended);
    }
    if tally.kept > 0 && tally.open == 0 {
        // Members wait that fit no kept seat.
        let code = if group.without_node().next().is_none() { Code::SeatsKept } else { Code::PartiallyLost };
        let (kept, have) = (tally.kept, if tally.kept == 1 { "has" } else { "have" });
        return (code, format!("{kept} of {all} seats {have} no member{ended}"));
    }
    if tally.open > 0 {
        let lost = tally.open;
        let comes = match (placed, in_rounds) {
            (false, _) => "are placed first",
            (true, true) => "start together",
            (true, false) => "are ordinary pods",
        };
        let (have, them) = if lost == 1 { ("has", "it") } else { ("have", "them") };
        let text =
            format!("{lost} of {all} seats {have} no member and nothing holds {them}; members that come {comes}");
        return (Code::PartiallyLost, text + &ended);
    }
    let who = who_runs(group, all);
    if placed || tally.taken == all {
        return (Code::Running, who + &ended);
    }
    // Members that wait beside them have come.
    let held = match tally.held.saturating_sub(group.members.pending) {
        0 => String::new(),
        1 => ", 1 seat is held for one to come".to_owned(),
        held => format!(", {held} seats are held for those to come"),
    };
    (Code::Starting, format!("{who}{held}{ended}"))
}

/// `3 of 3 members run`, or `3 of 3 members have a node, 0 run: ImagePullBackOff on 3`.
fn who_runs(group: &Group, all: u32) -> String {
    let Members { scheduled, running, .. } = group.members;
    let of_all = if scheduled <= all { format!("of {all} ") } else { String::new() };
    let members = |count: u32, one: &str, more: &str| {
        let noun = if of_all.is_empty() && count == 1 { "member" } else { "members" };
        format!("{count} {of_all}{noun} {}", if count == 1 { one } else { more })
    };
    if scheduled == 0 && group.ended == Ended::default() {
        return format!("0 of {all} members have a node yet");
    }
    if running == scheduled {
        return members(running, "runs", "run");
    }
    let held_up: Vec<_> = group.held_up.iter().map(|(word, count)| format!("{word} on {count}")).collect();
    let why = if held_up.is_empty() { " yet".to_owned() } else { format!(": {}", held_up.join(", ")) };
    format!(
        "{}, {running} {}{why}",
        members(scheduled, "has a node", "have a node"),
        if running == 1 { "runs" } else { "run" }
    )
}

/// `3 members succeeded, 1 failed (OOMKilled)`; `None` while none has ended.
pub(super) fn how_ended(group: &Group) -> Option<String> {
    let Ended { succeeded, failed, how, .. } = &group.ended;
    let known: u32 = how.values().sum();
    let how: Vec<_> = match how.len() {
        1 if known == *failed => how.keys().map(ToString::to_string).collect(),
        _ => how.iter().map(|(how, count)| format!("{count} {how}")).collect(),
    };
    let how = if how.is_empty() { String::new() } else { format!(" ({})", how.join(", ")) };
    let members = |count: u32| if count == 1 { "member" } else { "members" };
    match (*succeeded, *failed) {
        (0, 0) => None,
        (succeeded, 0) => Some(format!("{succeeded} {} succeeded", members(succeeded))),
        (0, failed) => Some(format!("{failed} {} failed{how}", members(failed))),
        (succeeded, failed) => Some(format!("{succeeded} {} succeeded, {failed} failed{how}", members(succeeded))),
    }
}

/// An application that is complete: a member that failed is made good by another that succeeded.
pub(super) fn completed(group: &Group) -> (Code, String) {
    let Ended { succeeded, failed, .. } = group.ended;
    let needed = group.spec.as_ref().map_or(0, |spec| spec.min_member);
    let code = if failed > 0 && succeeded < needed { Code::SomeFailed } else { Code::Completed };
    let text = how_ended(group).map_or(String::new(), |ended| format!(": {ended}"));
    (code, format!("the application is complete{text}"))
}
