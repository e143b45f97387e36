//! Swaps on a control plane of their own, while other pods are bound: how long the room of a placeholder belongs to nobody,
//! from the end of its DELETE to that of its member's Binding, both as the API server recorded them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ::gangline::api::names::{BINDING, PLACEHOLDER};
use ::gangline::core::base::ids::Key;
use ::gangline::core::event::PlaceholderName;
use ::gangline::shim::mark;
use ::gangline::shim::placeholder::pod_name;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use serde::Serialize;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use super::contestant::Contestant;
use super::figures::quantile;
use super::workload::{self, MEMBER, Workload};
use crate::gangline;
use crate::support::audit::{self, Record};
use crate::support::components::Options;
use crate::support::control_plane::ControlPlane;
use crate::support::error::{Error, Result};
use crate::support::nodes::NodeSet;
use crate::support::objects::Objects;
use crate::support::scheduler::{Launch, Scheduler};

/// Gangs whose seats are held when their members come: 600 swaps, so that the 99th percentile is no single one.
const GANGS: Workload = Workload { gangs: 30, size: 20 };
/// Room for all of them and everybody else.
const NODES: u32 = 100;
/// A member comes each so often, and another pod each so often: about a fifth of what a small control plane can take, since
/// a server that is busy with something else is slow to answer whatever leaves first.
const MEMBER_EVERY: Duration = Duration::from_millis(25);
const OTHER_EVERY: Duration = Duration::from_millis(12);
/// Begins the names of pods outside gangs.
const OTHER: &str = "other-";

/// The swaps of one run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Swaps {
    /// Which build.
    pub(super) build: String,
    /// Milliseconds of each, in order.
    gaps_ms: Vec<f64>,
    /// Bindings of other pods in the meantime.
    others: usize,
}

/// Makes one run with a build of the scheduler.
pub(super) async fn run(build: &str, binary: &Path) -> Result<Swaps> {
    let plane = ControlPlane::start(Options { audit: true, ..Options::bare() }).await?;
    Contestant::All.install(&plane).await?;
    plane.add_nodes(&NodeSet::of_cpus("node", NODES, 32)).await?;
    let client = plane.client();
    let launch = gangline::account(&client, &plane.kubeconfig(), plane.dir()).await?;
    let scheduler = Scheduler::start(&Launch { binary: binary.to_path_buf(), ..launch }).await?;
    GANGS.create_groups(&client, Contestant::All, 0).await?;
    let pods = Objects::<Pod>::of(&client, "default");
    pods.wait_all(&format!("{PLACEHOLDER}=true"), "every seat is held", |pods| all_bound(pods, GANGS.pods())).await?;
    let others = come(&client).await?;
    let expected = GANGS.pods() + others;
    let pods =
        pods.wait_all(&format!("!{PLACEHOLDER}"), "every pod has a node", |pods| all_bound(pods, expected)).await?;
    drop(scheduler);
    let gaps_ms = gaps_ms(&pods, &audit::read(&plane.audit_log())?);
    if gaps_ms.len() < GANGS.pods() {
        return Err(Error::new(format!("only {} of {} members took a seat", gaps_ms.len(), GANGS.pods())));
    }
    Ok(Swaps { build: build.to_owned(), gaps_ms, others })
}

/// Whether a pod has a node.
pub(super) fn is_bound(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())
}

/// Whether there are so many pods and each has a node.
pub(super) fn all_bound(pods: &[&Pod], count: usize) -> bool {
    pods.len() >= count && pods.iter().all(|pod| is_bound(pod))
}

/// Members come one after the other, and other pods meanwhile; how many of these.
async fn come(client: &Client) -> Result<usize> {
    let mut members = (0..GANGS.size).flat_map(|member| (0..GANGS.gangs).map(move |gang| (gang, member)));
    let (mut next, mut meanwhile) = (interval(MEMBER_EVERY), interval(OTHER_EVERY));
    next.set_missed_tick_behavior(MissedTickBehavior::Delay);
    meanwhile.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut others = 0;
    loop {
        tokio::select! {
            _ = next.tick() => match members.next() {
                Some((gang, member)) => workload::post_pod(client, GANGS.pod(gang, member, Contestant::All)).await?,
                None => return Ok(others),
            },
            _ = meanwhile.tick() => {
                let mut pod = Workload { gangs: 1, size: 1 }.pod(0, 0, Contestant::All);
                pod["metadata"] = json!({"name": format!("{OTHER}{others}")});
                workload::post_pod(client, pod).await?;
                others += 1;
            }
        }
    }
}

/// How long each room belonged to nobody, in order of length.
pub(super) fn gaps_ms(pods: &[Pod], records: &[Record]) -> Vec<f64> {
    let own = || records.iter().filter(|record| record.is_by(Contestant::All.user()));
    let deleted: BTreeMap<&str, Timestamp> =
        own().filter_map(|record| Some((record.deleted()?.1, record.stage_timestamp))).collect();
    let bound: BTreeMap<&str, Timestamp> =
        own().filter_map(|record| Some((record.bound()?.1, record.stage_timestamp))).collect();
    let gap = |pod: &Pod| {
        let name = pod.metadata.name.as_deref().filter(|name| name.starts_with(MEMBER))?;
        let freed = deleted.get(&*placeholder_of(pod)?)?;
        Some(1e3 * bound.get(name)?.duration_since(*freed).as_secs_f64())
    };
    let mut gaps: Vec<f64> = pods.iter().filter_map(gap).collect();
    gaps.sort_by(f64::total_cmp);
    gaps
}

/// The name of the placeholder whose seat a member took, from what its Binding says. (None was lost: their first attempts.)
fn placeholder_of(pod: &Pod) -> Option<String> {
    let mark = mark::read(pod.metadata.annotations.as_ref()?.get(BINDING)?)?;
    let group = mark.task_group?;
    let name = PlaceholderName {
        group: Key::new("default", group.clone()),
        uid: mark.group?,
        incarnation: mark.incarnation,
        seat: mark.seat?,
        attempt: 0,
    };
    Some(pod_name(&name, &group))
}

impl Swaps {
    /// The run in a line.
    pub(super) fn sentence(&self) -> String {
        format!("{} swaps beside {} other pods: {}", self.gaps_ms.len(), self.others, lengths(&self.gaps_ms))
    }
}

/// `4.1 / 9.2 / 14.0 ms`: the median, the 99th percentile and the longest of some that are sorted.
pub(super) fn lengths(gaps_ms: &[f64]) -> String {
    let [p50, p99, longest] = [0.5, 0.99, 1.0].map(|part| quantile(gaps_ms, part));
    format!("{p50:.1} / {p99:.1} / {longest:.1} ms")
}

/// Prints all runs of a build as one row.
pub(super) fn print(all: &[Swaps]) {
    if all.is_empty() {
        return;
    }
    println!(
        "
| build | swaps | other pods meanwhile | from the end of a placeholder to its member's Binding, p50 / p99 / longest |
|---|---:|---:|---:|"
    );
    let mut runs: BTreeMap<&str, (Vec<f64>, usize)> = BTreeMap::new();
    for swaps in all {
        let (gaps, others) = runs.entry(&swaps.build).or_default();
        gaps.extend(&swaps.gaps_ms);
        *others += swaps.others;
    }
    for (build, (mut gaps, others)) in runs {
        gaps.sort_by(f64::total_cmp);
        println!("| {build} | {} | {others} | {} |", gaps.len(), lengths(&gaps));
    }
}
