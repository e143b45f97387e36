//! `simulate`: plays manifests in virtual time on the scheduler as it is, without a cluster.

mod fields;
mod nodes;
mod read;
mod show;

use std::time::Duration;

use super::Reply;
use super::output::{self, json, yaml};
use crate::controller::settings::Settings;
use crate::core::time::Millis;
use crate::runtime::args::{PlainOutput, SimulateArgs};
use crate::runtime::settings::PLACEHOLDER_IMAGE;
use crate::sim::play::Play;
use read::{Input, InputError};

/// The answer to `simulate`.
pub(super) fn simulate(args: &SimulateArgs) -> Result<Reply, InputError> {
    let input = read::all(args)?;
    let note = input.note();
    let story = play(input, args);
    let out = match args.output {
        PlainOutput::Table => show::words(&story, output::colours()),
        PlainOutput::Json => json(&story),
        PlainOutput::Yaml => yaml(&story),
    };
    Ok(Reply { out, note, code: 0 })
}

fn play(input: Input, args: &SimulateArgs) -> crate::sim::story::Story {
    let mut play = Play::new(Settings {
        scheduler_names: vec![crate::api::names::SCHEDULER.into()],
        placeholder_image: PLACEHOLDER_IMAGE.into(),
        instance: 1,
    });
    input.arrivals.into_iter().for_each(|arrival| play.expect(arrival));
    play.run(millis(args.until))
}

fn millis(duration: Duration) -> Millis {
    Millis::try_from(duration.as_millis()).unwrap_or(Millis::MAX)
}

#[cfg(test)]
mod tests;
