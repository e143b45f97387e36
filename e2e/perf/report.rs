//! The table for people, and what must hold of any run.

use std::collections::BTreeSet;

use super::contestant::{self, Contestant};
use super::figures::{Cpu, Figures, quantile};
use super::workload::Workload;
use crate::support::error::{Error, Result};

/// Prints medians over the rounds as Markdown.
pub(super) fn print(all: &[Figures]) {
    println!(
        "
| workload | scheduler | pods/s | of the ceiling | CPU-s per 10k pods | a binding: API server + etcd + scheduler | peak MiB | pod writes per member | status writes per gang | first to last bind of a gang, p50 / p99 | partial gangs | requests per pod |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    );
    let mut workloads: Vec<Workload> = Vec::new();
    for figures in all {
        if !workloads.contains(&figures.workload) {
            workloads.push(figures.workload);
        }
    }
    for workload in workloads {
        for &contestant in contestant::of(workload) {
            let runs = runs(all, workload, contestant);
            if !runs.is_empty() {
                println!("{}", row(workload, contestant, &runs));
            }
        }
    }
}

fn row(workload: Workload, contestant: Contestant, runs: &[&Figures]) -> String {
    let of = |figure: &dyn Fn(&Figures) -> f64| median(runs.iter().map(|run| figure(run)));
    let per_bind = per_bind(runs).map_or_else(|| "–".to_owned(), |cpu| cpu.to_string());
    let gangs = workload.has_gangs();
    let (status, spread) = if gangs && contestant.is_gangline() {
        let spread = format!("{:.0} / {:.0} ms", of(&|run| run.spread_p50_ms), of(&|run| run.spread_p99_ms));
        (format!("{:.1}", of(&Figures::status_writes_per_gang)), spread)
    } else {
        ("–".to_owned(), "–".to_owned())
    };
    format!(
        "| {workload} | {contestant} | {:.0} | {} | {:.1} | {per_bind} | {:.0} | {:.2} | {status} | {spread} | {} | {} |",
        of(&|run| run.pods_per_second),
        share(runs),
        of(&Figures::cpu_per_10k),
        of(&|run| run.used.peak_mib),
        of(&Figures::pod_writes_per_member),
        runs.iter().map(|run| run.partial_gangs).sum::<usize>(),
        requests(workload, runs),
    )
}

/// How often each kind of request was made for a pod: `create pods/binding 1.00, …`. Lists and the like, of which there
/// are a few in a run, are left out.
fn requests(workload: Workload, runs: &[&Figures]) -> String {
    let rules: BTreeSet<&String> = runs.iter().flat_map(|run| run.requests.keys()).collect();
    let of = |rule: &str| median(runs.iter().map(|run| run.requests_of(&[rule]) as f64)) / workload.pods() as f64;
    let often = rules.into_iter().map(|rule| (rule, of(rule))).filter(|(_, each)| *each >= 0.005);
    often.map(|(rule, each)| format!("{rule} {each:.2}")).collect::<Vec<_>>().join(", ")
}

/// What part of the ceiling beside it was reached, median and range: `88 % (86–90)`.
fn share(runs: &[&Figures]) -> String {
    let mut shares: Vec<f64> = runs.iter().filter_map(|run| Some(100.0 * run.of_ceiling?)).collect();
    shares.sort_by(f64::total_cmp);
    match (shares.first(), shares.last()) {
        (Some(least), Some(most)) => format!("{:.0} % ({least:.0}–{most:.0})", quantile(&shares, 0.5)),
        _ => "100 %".to_owned(),
    }
}

/// What a binding cost, in those runs that were long enough to see it.
fn per_bind(runs: &[&Figures]) -> Option<Cpu> {
    let seen: Vec<Cpu> = runs.iter().filter_map(|run| run.used.per_bind).collect();
    let of = |part: fn(&Cpu) -> f64| median(seen.iter().map(part));
    (!seen.is_empty()).then(|| Cpu {
        api_server: of(|cpu| cpu.api_server),
        etcd: of(|cpu| cpu.etcd),
        scheduler: of(|cpu| cpu.scheduler),
    })
}

fn runs(all: &[Figures], workload: Workload, contestant: Contestant) -> Vec<&Figures> {
    all.iter().filter(|run| run.workload == workload && run.contestant == contestant).collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// The most writes for each member, without those of gangs' statuses (what counts: [`Figures::other_writes_per_member`]): a Binding, and
/// for ten members one more, such as the TaskGroup that is made of what another system's users declare.
const MOST_PER_MEMBER: f64 = 1.1;
/// The most writes of status for each gang: of its TaskGroup, and of the PodGroup of which that was made.
const MOST_PER_GANG: f64 = 3.0;

/// Whoever does without placeholders writes no more than so much, in whose words ever gangs are. The median counts, as it is printed:
/// where the machine stands still for a moment, a few pods are told in one run that they wait.
fn check_writes(all: &[Figures]) -> Result<()> {
    let is_bounded = |run: &&Figures| run.workload.has_many_gangs() && run.contestant.is_direct();
    for run in all.iter().filter(is_bounded) {
        let (workload, contestant) = (run.workload, run.contestant);
        let runs = runs(all, workload, contestant);
        for (figure, most, of) in [
            (median(runs.iter().map(|run| run.other_writes_per_member())), MOST_PER_MEMBER, "a member"),
            (median(runs.iter().map(|run| run.status_writes_per_gang())), MOST_PER_GANG, "a gang for its status"),
        ] {
            if figure > most {
                let what = format!("{workload}, {contestant}: {figure:.3} writes {of}, {most} at most");
                return Err(Error::new(what));
            }
        }
    }
    Ok(())
}

/// Speed is a matter of the machine; half a gang, a refused request and how much is written are not.
pub(super) fn check(all: &[Figures]) -> Result<()> {
    let partial: usize = all.iter().map(|run| run.partial_gangs).sum();
    if partial > 0 {
        return Err(Error::new(format!("{partial} gangs were bound in part")));
    }
    let refused = all.iter().flat_map(|run| &run.errors).find(|(rule, _)| rule.ends_with(" 403"));
    if let Some((rule, count)) = refused {
        return Err(Error::new(format!("{count} requests were refused: {rule}")));
    }
    check_writes(all)
}
