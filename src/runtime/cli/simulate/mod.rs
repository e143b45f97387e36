//! `simulate`: plays manifests in virtual time on the scheduler as it is, without a cluster.

mod amounts;
mod annotations;
mod chart;
mod ending;
mod fields;
pub(super) mod input;
mod kinds;
mod nodes;
mod notes;
mod object;
pub(super) mod read;
mod show;
pub(super) mod typed;

use std::io::Write;
use std::time::{Duration, Instant};

use super::output::{self, json, yaml};
use super::{FAILED, Reply, complaint};
use crate::controller::settings::Settings;
use crate::core::model::bound::MostPlaceholders;
use crate::core::time::Millis;
use crate::runtime::args::{PlainOutput, SimulateArgs};
use crate::runtime::settings::{PLACEHOLDER_IMAGE, default_dialects, dialects};
use crate::shim::dialect::{Dialect, WAIT_TIMEOUT_SECONDS};
use crate::sim::api::Api;
use crate::sim::play::Play;
use crate::sim::story::Story;
use input::Input;
use read::InputError;

/// The answer to `simulate`. What was left out is said whether or not the rest could be read.
pub(super) fn simulate(args: &SimulateArgs) -> Reply {
    let mut input = Input::default();
    read::all(&mut input, args);
    let note = input.notes.text();
    if !input.errors.is_empty() {
        let lines = std::iter::once(note).chain(complaints(&input.errors)).filter(|line| !line.is_empty());
        return Reply { out: String::new(), note: lines.collect::<Vec<_>>().join("\n"), code: FAILED };
    }
    let story = play(input, args);
    let out = match args.output {
        PlainOutput::Table => show::words(&story, output::colours()),
        PlainOutput::Json => json(&story),
        PlainOutput::Yaml => yaml(&story),
    };
    Reply { out, note, code: 0 }
}

/// Most errors that are said: people mend some at a time.
const ERRORS_SAID: usize = 200;

fn complaints(errors: &[InputError]) -> impl Iterator<Item = String> {
    let more = errors.len().saturating_sub(ERRORS_SAID);
    let more = (more > 0).then(|| format!("error: and {more} more"));
    errors.iter().take(ERRORS_SAID).map(|error| complaint(error)).chain(more)
}

fn play(input: Input, args: &SimulateArgs) -> Story {
    cluster(input, args).run(millis(args.until), says_how_far())
}

/// The cluster that is to be played.
fn cluster(input: Input, args: &SimulateArgs) -> Play {
    let spoken = dialects(&args.dialects).unwrap_or_else(default_dialects);
    let mut play = Play::new(settings(args.ignore_foreign_markers, &spoken), input.classes);
    input.arrivals.into_iter().for_each(|arrival| play.expect(arrival));
    play
}

/// A scheduler as it is where nobody says anything but this.
pub(super) fn settings(ignore_foreign_markers: bool, dialects: &[Dialect]) -> Settings {
    Settings {
        scheduler_names: vec![crate::api::names::SCHEDULER.into()],
        placeholder_image: PLACEHOLDER_IMAGE.into(),
        ignore_foreign_markers,
        dialects: dialects.to_vec(),
        default_wait_timeout_seconds: WAIT_TIMEOUT_SECONDS,
        // What is played was made by whoever it says: there is no admission here.
        submitters: true,
        max_placeholders: MostPlaceholders::default().0,
        instance: 1,
    }
}

/// Says how far a play is, where it takes more than a second, and then seldom.
fn says_how_far() -> impl FnMut(Millis, &Api) {
    let (begun, mut next) = (Instant::now(), Duration::from_secs(1));
    move |played, _| {
        let took = begun.elapsed();
        if took >= next {
            next = took + Duration::from_secs(5);
            // Whoever does not listen misses nothing.
            let _ = writeln!(std::io::stderr(), "played {} so far", show::clock(played));
        }
    }
}

fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}

#[cfg(test)]
mod tests;
