//! What one run comes to.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::Plan;
use super::contestant::Contestant;
use super::shifts::Shifts;
use super::workload::{MEMBER, Workload};
use crate::support::audit::Record;

/// CPU seconds of everybody who works for a binding.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Cpu {
    pub(super) api_server: f64,
    pub(super) etcd: f64,
    pub(super) scheduler: f64,
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [api_server, etcd, scheduler] = [self.api_server, self.etcd, self.scheduler].map(|seconds| 1e3 * seconds);
        write!(f, "{api_server:.2} + {etcd:.2} + {scheduler:.2} ms")
    }
}

/// What a run used, read when it was over.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Used {
    /// CPU seconds of the scheduler.
    pub(super) scheduler_cpu: f64,
    /// CPU seconds of one binding, in the middle of the run; none if it was over too soon to be looked at twice.
    pub(super) per_bind: Option<Cpu>,
    /// The most memory that the scheduler had, MiB.
    pub(super) peak_mib: f64,
}

/// The figures of one run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Figures {
    /// Its place among all runs.
    pub(super) turn: usize,
    pub(super) round: u32,
    pub(super) nodes: u32,
    pub(super) workload: Workload,
    pub(super) contestant: Contestant,
    pub(super) used: Used,
    /// Pods bound per second of its own time, over the middle 80 % of the bindings.
    pub(super) pods_per_second: f64,
    /// That, over what the ceiling beside it bound; none for the ceiling itself.
    pub(super) of_ceiling: Option<f64>,
    /// In its own time, from the scheduler's start to its first and to its last binding of a pod that counts.
    pub(super) first_bind_seconds: f64,
    pub(super) last_bind_seconds: f64,
    /// From the first to the last binding of a gang: median and 99th percentile.
    pub(super) spread_p50_ms: f64,
    pub(super) spread_p99_ms: f64,
    /// Gangs of which some but not all members were bound.
    pub(super) partial_gangs: usize,
    /// Requests of the scheduler by verb and resource.
    pub(super) requests: BTreeMap<String, usize>,
    /// Requests of the scheduler that were answered with an error, by verb, resource and code.
    pub(super) errors: BTreeMap<String, usize>,
}

impl Figures {
    /// Computes them, but for the share.
    pub(super) fn of(plan: Plan, shifts: &Shifts, used: Used, records: &[Record]) -> Self {
        let own: Vec<&Record> = records.iter().filter(|record| record.is_by(plan.contestant.user())).collect();
        let mut binds: Vec<(f64, usize)> = own.iter().filter_map(|record| bind(record, shifts)).collect();
        binds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let times: Vec<f64> = binds.iter().map(|(at, _)| *at).collect();
        let spreads = spreads(&binds);
        Self {
            turn: plan.turn,
            round: plan.round,
            nodes: plan.nodes,
            workload: plan.workload,
            contestant: plan.contestant,
            used,
            pods_per_second: middle_rate(&times),
            of_ceiling: None,
            first_bind_seconds: times.first().copied().unwrap_or_default(),
            last_bind_seconds: times.last().copied().unwrap_or_default(),
            spread_p50_ms: 1e3 * quantile(&spreads, 0.5),
            spread_p99_ms: 1e3 * quantile(&spreads, 0.99),
            partial_gangs: partial(&binds, plan.workload),
            requests: count(own.iter().map(|record| rule(record))),
            errors: count(
                own.iter()
                    .filter(|record| record.code() >= 400)
                    .map(|record| format!("{} {}", rule(record), record.code())),
            ),
        }
    }

    /// The scheduler's CPU seconds for 10 000 pods.
    pub(super) fn cpu_per_10k(&self) -> f64 {
        self.used.scheduler_cpu * 1e4 / self.workload.pods() as f64
    }

    /// Requests of one kind.
    pub(super) fn requests_of(&self, rules: &[&str]) -> usize {
        rules.iter().filter_map(|rule| self.requests.get(*rule)).sum()
    }

    /// Writes about pods for each member.
    pub(super) fn pod_writes_per_member(&self) -> f64 {
        let rules = ["create pods", "create pods/binding", "delete pods", "patch pods", "patch pods/status"];
        self.requests_of(&rules) as f64 / self.workload.pods() as f64
    }

    /// Status writes for each gang: of its TaskGroup, and of the PodGroup of which that was made.
    pub(super) fn status_writes_per_gang(&self) -> f64 {
        self.requests_of(&STATUS_WRITES) as f64 / self.workload.gangs as f64
    }

    /// All other writes for each member: requests of the scheduler that change something, whatever became of them. So Bindings, what is
    /// written about pods (conditions, events, annotations), placeholders, the TaskGroups that are made of what pods or PodGroups
    /// declare, events of these, and the Lease. Not what others write: the pods and PodGroups themselves.
    pub(super) fn other_writes_per_member(&self) -> f64 {
        self.writes(|rule| !STATUS_WRITES.contains(&rule)) as f64 / self.workload.pods() as f64
    }

    /// The same with those of gangs' statuses.
    fn writes_per_member(&self) -> f64 {
        self.writes(|_| true) as f64 / self.workload.pods() as f64
    }

    /// Requests that change something, of these kinds.
    fn writes(&self, counts: impl Fn(&str) -> bool) -> usize {
        let writes = self.requests.iter().filter(|(rule, _)| is_write(rule) && counts(rule.as_str()));
        writes.map(|(_, count)| *count).sum()
    }

    /// The run in a line.
    pub(super) fn sentence(&self) -> String {
        let share =
            self.of_ceiling.map_or_else(String::new, |share| format!(" ({:.0} % of the ceiling)", 100.0 * share));
        format!(
            "{:.0} pods/s{share}, {:.1} CPU-s per 10k ({} a bind), {:.0} MiB, {:.2} pod writes a member; \
             writes of all kinds: {:.2} a member; without gangs' statuses {:.2} a member, and {:.2} a gang for its status",
            self.pods_per_second,
            self.cpu_per_10k(),
            self.used.per_bind.map_or_else(|| "not seen".to_owned(), |cpu| cpu.to_string()),
            self.used.peak_mib,
            self.pod_writes_per_member(),
            self.writes_per_member(),
            self.other_writes_per_member(),
            self.status_writes_per_gang()
        )
    }
}

/// Writes of the status of a gang. That of Koordinator's and Volcano's PodGroups is no resource of its own.
const STATUS_WRITES: [&str; 3] = ["patch taskgroups/status", "patch podgroups/status", "patch podgroups"];

/// Whether requests of this kind change something.
fn is_write(rule: &str) -> bool {
    !["get ", "list ", "watch "].iter().any(|reads| rule.starts_with(reads))
}

/// Second and gang of a binding of a pod that counts.
fn bind(record: &Record, shifts: &Shifts) -> Option<(f64, usize)> {
    let (_, pod) = record.bound()?;
    let gang = Workload::gang_of(pod).filter(|_| pod.starts_with(MEMBER))?;
    Some((shifts.own_seconds(record.stage_timestamp), gang))
}

fn rule(record: &Record) -> String {
    format!("{} {}", record.verb, record.resource())
}

fn count(names: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}

/// Start and end are not the rate that a scheduler keeps up.
fn middle_rate(times: &[f64]) -> f64 {
    let (from, to) = (times.len() / 10, times.len() * 9 / 10);
    if to <= from { 0.0 } else { (to - from) as f64 / (times[to] - times[from]).max(1e-6) }
}

fn spreads(binds: &[(f64, usize)]) -> Vec<f64> {
    let mut gangs: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (at, gang) in binds {
        gangs.entry(*gang).or_insert((*at, *at)).1 = *at;
    }
    let mut spreads: Vec<f64> = gangs.into_values().map(|(first, last)| last - first).collect();
    spreads.sort_by(f64::total_cmp);
    spreads
}

fn partial(binds: &[(f64, usize)], workload: Workload) -> usize {
    let mut gangs: BTreeMap<usize, usize> = BTreeMap::new();
    binds.iter().for_each(|(_, gang)| *gangs.entry(*gang).or_default() += 1);
    gangs.values().filter(|bound| **bound < workload.size).count()
}

/// A quantile of sorted values; 0 if there is none.
pub(super) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = (sorted.len() as f64 * part) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}
