//! The metrics: what the controller and the shell count, as OpenMetrics. `docs/metrics.md` is made from this.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::shell::{ShellCounters, WatchState};
use crate::controller::stats::{QueueUse, Stats};

/// Content type of [`text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Queues with label values of their own; the rest is added up as `overflow`. A queue has some 10 series here, and a
/// scrape of more than some thousand series is a burden on the monitoring.
const QUEUES: usize = 256;

type Labels = Vec<(&'static str, String)>;

/// All metrics as OpenMetrics text. Without `stats` (the owner task does not answer) only those of the shell.
///
/// # Errors
/// Formatting cannot fail; the encoder's signature says that it can.
pub fn text(stats: Option<&Stats>, shell: &ShellCounters) -> Result<String, fmt::Error> {
    let mut text = String::new();
    encode(&mut text, &registry(stats, shell))?;
    Ok(text)
}

/// A registry is made for each scrape: so a queue that is gone leaves no series behind, and nothing counts twice.
fn registry(stats: Option<&Stats>, shell: &ShellCounters) -> Registry {
    let mut set = Set(Registry::with_prefix("gangline"));
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    set.0.register("build", "Version of the running program", Info::new(version));
    let answering = f64::from(u8::from(stats.is_some()));
    set.gauge("answering", "Whether the scheduling loop answered this scrape (1) or only the shell did (0)", answering);
    if let Some(stats) = stats {
        set.progress(stats);
        set.population(stats);
        set.queues(&stats.queues);
    }
    set.steps_and_requests(shell);
    set.watches(shell);
    set.pages(shell);
    set.0
}

/// The registry under construction.
struct Set(Registry);

impl Set {
    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        let gauge = Gauge::<f64, AtomicU64>::default();
        gauge.set(value);
        self.0.register(name, help, gauge);
    }

    fn gauges(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).inc_by(value);
        }
        self.0.register(name, help, family);
    }

    fn counters(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, Counter>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).inc_by(value);
        }
        self.0.register(name, help, family);
    }

    fn progress(&mut self, stats: &Stats) {
        let decisions = stats.decisions.iter().map(|(name, number)| (vec![("decision", (*name).to_owned())], *number));
        self.counters("decisions", "Decisions taken, by kind", decisions);
        let calls = stats.calls.iter().map(|((verb, resource, code), number)| {
            let text = [("verb", *verb), ("resource", *resource)].map(|(name, value)| (name, value.to_owned()));
            (text.into_iter().chain([("code", code.to_string())]).collect(), *number)
        });
        self.counters(
            "calls",
            "Ended calls to the API server by HTTP code, 200 for every success; code 0 means that the outcome is unknown or it was not sent",
            calls,
        );
        let leads = float(stats.leads.into());
        self.gauge("leader", "Whether this process decides (1) or follows another one that does (0)", leads);
        self.gauge("synced", "Whether every kind was listed or is known not to be served (1), or not yet (0)", {
            f64::from(u8::from(stats.synced))
        });
        self.gauge("outbox_waiting", "Calls that are decided and wait to be sent", float(stats.outbox_waiting));
        self.gauge("outbox_in_flight", "Calls that were sent and not answered yet", float(stats.outbox_in_flight));
        let help = "How many calls may be in flight now; it shrinks while the API server answers 429 or 5xx";
        self.gauge("outbox_window", help, float(stats.outbox_window));
        let dropped = Counter::<u64>::default();
        dropped.inc_by(stats.events_dropped);
        self.0.register(
            "events_dropped",
            "Events that too many others crowded out, or that the API server refused",
            dropped,
        );
        let audits = Counter::<u64>::default();
        audits.inc_by(stats.audits);
        self.0.register("invariant_audits", "Audits of the books: one a minute, when something happens", audits);
        let help = "Violations of its invariants that the audit of the books found; above 0 is a bug in Gangline";
        let violations = Counter::<u64>::default();
        violations.inc_by(stats.violations);
        self.0.register("invariant_violations", help, violations);
    }

    fn population(&mut self, stats: &Stats) {
        let by = |label: &'static str, map: &std::collections::BTreeMap<&'static str, u64>| {
            map.iter().map(|(value, number)| (vec![(label, (*value).to_owned())], float(*number))).collect::<Vec<_>>()
        };
        self.gauges("objects", "Objects known, by kind", by("kind", &stats.objects));
        let help = "Objects that could not be read and are ignored, by kind; the log names them";
        self.gauges("malformed_objects", help, by("kind", &stats.malformed));
        self.gauges("seats", "Seats guaranteed to members of gangs, by state", by("state", &stats.seats));
        self.gauges("applications", "Applications, by state", by("state", &stats.applications));
        self.gauge("pending_pods", "Pods of ours that wait for a node", float(stats.pending_pods));
    }

    fn queues(&mut self, uses: &[QueueUse]) {
        let names: BTreeSet<_> = uses.iter().map(|used| &*used.queue).collect();
        let shown: BTreeSet<_> = names.into_iter().take(QUEUES).collect();
        let labels = |used: &QueueUse| -> Labels {
            let queue = if shown.contains(&*used.queue) { &*used.queue } else { "overflow" };
            vec![("queue", queue.to_owned()), ("resource", used.resource.to_string())]
        };
        let allocated = uses.iter().map(|used| (labels(used), base_units(used, used.allocated)));
        self.gauges(
            "queue_allocated",
            "What pods of the queue and all below it use, placeholders and kept seats included, in cores, bytes or pieces",
            allocated,
        );
        let limited = uses.iter().filter_map(|used| Some((labels(used), base_units(used, used.max?))));
        let help = "What the queue and all below it may use at most, in cores, bytes or pieces; absent means no limit";
        self.gauges("queue_max", help, limited);
    }

    fn steps_and_requests(&mut self, shell: &ShellCounters) {
        let help = "Time that one step of the scheduling loop took";
        self.0.register_with_unit("step_duration", help, Unit::Seconds, shell.steps.clone());
        let help = "Time from sending a request to the API server to its answer; code 0 means that there was none";
        self.0.register_with_unit("api_request_duration", help, Unit::Seconds, shell.requests.clone());
        let help = "How far this machine's clock is ahead of the API server's, whose time counts; 0 below five seconds";
        self.0.register_with_unit("clock_ahead", help, Unit::Seconds, shell.clock_ahead.clone());
    }

    fn watches(&mut self, shell: &ShellCounters) {
        let kinds = || shell.watched().map(|kind| (shell.watch(kind), vec![("kind", kind.plural().to_owned())]));
        let synced = kinds().map(|(watch, labels)| (labels, f64::from(u8::from(watch.state() == WatchState::Synced))));
        let help = "Whether the watch of a kind was listed (1) or not, or its kind is not served (0)";
        self.gauges("watch_synced", help, synced);
        let lag = kinds().map(|(watch, labels)| (labels, watch.lag_seconds()));
        let help = "How long the newest fact of a watch waited for the step that took it";
        self.gauges("watch_lag_seconds", help, lag);
        let relists = kinds().map(|(watch, labels)| (labels, watch.relists()));
        self.counters("watch_lists", "Lists that the watch of a kind began, the first one included", relists);
        let help = "Watches that broke, by HTTP code; code 0 means that the connection was lost";
        self.0.register("watch_errors", help, shell.watch_errors.clone());
    }

    fn pages(&mut self, shell: &ShellCounters) {
        let help = "Requests for /metrics and /state that were refused, by path and HTTP code: 401 without a token that the \
                    API server knows, 403 without the right, 429 too many unknown tokens, 503 the API server does not say";
        self.0.register("http_refused", help, shell.turned_away.clone());
    }
}

/// Counts stay far below 2^53.
fn float(number: u64) -> f64 {
    number as f64
}

/// cpu in cores, everything else as it is.
fn base_units(used: &QueueUse, amount: i128) -> f64 {
    let amount = amount as f64;
    if &*used.resource == "cpu" { amount / 1000.0 } else { amount }
}

#[cfg(test)]
mod tests;
