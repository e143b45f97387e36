//! One run: a contestant and the ceiling, side by side, each on a control plane of its own, in turns of a tenth of a
//! second. Whoever has no turn stands still (SIGSTOP), server and store included.
//!
//! A shared machine is half as fast for a minute and twice as fast in the next: two runs one after the other differ by a
//! fifth though nothing did. In turns this short both sides meet the same machine.

use std::path::Path;
use std::time::{Duration, Instant};

use super::Plan;
use super::figures::Figures;
use super::side::{Ready, Side};
use crate::support::error::{Error, Result};

/// How long a side runs until it is the other's turn: a few times what one request takes, and short beside a run.
const SHIFT: Duration = Duration::from_millis(100);

/// How long a run may take: the slowest contestant needs a minute beside the ceiling.
const GIVE_UP: Duration = Duration::from_secs(300);

/// How long the rest of a scheduler's work is waited for when every pod has a node: status and events.
const SETTLE: Duration = Duration::from_secs(4);

/// Makes one run: the figures of the ceiling and of the contestant, whose share of it is among them.
pub(super) async fn run(plan: Plan, keep: Option<&Path>, tell: impl Fn(&str)) -> Result<[Figures; 2]> {
    tell("making the nodes and pods of the ceiling");
    let ceiling = Ready::make(Plan { contestant: plan.contestant.ceiling(), ..plan }).await?;
    tell("making its own");
    let contestant = Ready::make(plan).await?;
    let mut sides = [ceiling.start().await?, contestant.start().await?];
    tell("scheduling");
    take_turns(&mut sides).await?;
    tell("waiting for status and events");
    sides.iter_mut().try_for_each(Side::resume)?;
    tokio::time::sleep(SETTLE).await;
    let [ceiling, contestant] = sides;
    let (ceiling, contestant) = (ceiling.finish(None)?, contestant.finish(keep)?);
    let of_ceiling = (ceiling.pods_per_second > 0.0).then(|| contestant.pods_per_second / ceiling.pods_per_second);
    Ok([ceiling, Figures { of_ceiling, ..contestant }])
}

/// Until every pod of both sides is bound; who is done first leaves the machine to the other.
async fn take_turns(sides: &mut [Side; 2]) -> Result<()> {
    let give_up = Instant::now() + GIVE_UP;
    while let Some(slowest) = sides.iter().find(|side| !side.is_done()) {
        if Instant::now() > give_up {
            let progress = slowest.progress();
            return Err(Error::new(format!("only {progress} pods were bound in {} s", GIVE_UP.as_secs())));
        }
        for side in sides.iter_mut().filter(|side| !side.is_done()) {
            side.shift(SHIFT).await?;
        }
    }
    Ok(())
}
