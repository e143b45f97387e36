//! How long pods run and when objects come: annotations that a simulation alone reads.

use std::time::Duration;

use serde_json::Value;

use super::kinds::Played;
use crate::api::names::{SIMULATED_PREFIX, SIMULATED_RUN, SIMULATED_START};
use crate::runtime::text;

/// Where annotations of an object are.
const OWN: &str = "metadata.annotations";
/// Where those of a Job's pods are.
const TEMPLATE: &str = "spec.template.metadata.annotations";

/// What the annotations of an object say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) run: Option<Duration>,
    pub(super) start: Option<Duration>,
}

/// Reads them. An object's own win over those of its pods.
///
/// # Errors
/// Every annotation that means nothing there, and why.
pub(super) fn times(object: &Value, played: Option<Played>) -> Result<Times, Vec<String>> {
    let (mut times, mut wrong) = (Times::default(), Vec::new());
    let places: &[&str] = if played == Some(Played::Job) { &[TEMPLATE, OWN] } else { &[OWN] };
    for place in places {
        let found = object.pointer(&format!("/{}", place.replace('.', "/"))).and_then(Value::as_object);
        let ours = found.into_iter().flatten().filter(|(name, _)| name.starts_with(SIMULATED_PREFIX));
        for (name, value) in ours {
            if let Err(problem) = take(&mut times, name, value, played) {
                wrong.push(format!("{place}[{name}]: {problem}"));
            }
        }
    }
    if wrong.is_empty() { Ok(times) } else { Err(wrong) }
}

fn take(times: &mut Times, name: &str, value: &Value, played: Option<Played>) -> Result<(), String> {
    let slot = slot(times, name, played)?;
    let duration = text::duration(value.as_str().unwrap_or_default());
    *slot = Some(duration.ok_or_else(|| format!("{value} is no duration as in \"90s\" or \"1h 30m\""))?);
    Ok(())
}

fn slot<'a>(times: &'a mut Times, name: &str, played: Option<Played>) -> Result<&'a mut Option<Duration>, String> {
    match (name, played) {
        (SIMULATED_RUN, Some(Played::Pod | Played::Job)) => Ok(&mut times.run),
        (SIMULATED_RUN, Some(_) | None) => Err("only Pods and Jobs run".to_owned()),
        (SIMULATED_START, Some(Played::PriorityClass) | None) => Err("objects of this kind do not come".to_owned()),
        (SIMULATED_START, Some(_)) => Ok(&mut times.start),
        _ => Err(format!("unknown; there are {SIMULATED_RUN} and {SIMULATED_START}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_annotation_of_the_simulation_means_something_or_is_refused() {
        let own = |all: Value| json!({"metadata": {"annotations": all}});
        let seconds = |run: Option<u64>, start: Option<u64>| {
            Ok(Times { run: run.map(Duration::from_secs), start: start.map(Duration::from_secs) })
        };
        let both = json!({"gangline.dev/simulated-run": "10s", "gangline.dev/simulated-start": "1m", "a.b/c": "d"});
        let template = json!({"spec": {"template": own(both.clone())},
                              "metadata": {"annotations": {"gangline.dev/simulated-run": "5s"}}});
        let start = json!({"gangline.dev/simulated-start": "1m"});
        for (object, played, expected) in [
            (own(both.clone()), Some(Played::Pod), seconds(Some(10), Some(60))),
            (template.clone(), Some(Played::Job), seconds(Some(5), Some(60))),
            (template, None, Err("metadata.annotations[gangline.dev/simulated-run]: only Pods and Jobs run")),
            (own(start.clone()), Some(Played::TaskGroup), seconds(None, Some(60))),
            (
                own(start),
                Some(Played::PriorityClass),
                Err("metadata.annotations[gangline.dev/simulated-start]: objects of this kind do not come"),
            ),
            (
                own(both),
                Some(Played::TaskGroup),
                Err("metadata.annotations[gangline.dev/simulated-run]: only Pods and Jobs run"),
            ),
            (
                own(json!({"gangline.dev/simulated-runs": "10s"})),
                Some(Played::Job),
                Err(
                    "metadata.annotations[gangline.dev/simulated-runs]: unknown; there are gangline.dev/simulated-run and \
                     gangline.dev/simulated-start",
                ),
            ),
        ] {
            assert_eq!(times(&object, played), expected.map_err(|problem: &str| vec![problem.to_owned()]), "{object}");
        }
    }
}
