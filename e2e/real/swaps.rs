//! Placeholder swaps with real containers on nodes that are exactly full, alone and while others wait for the room.

use std::cell::Cell;
use std::time::{Duration, Instant};

use gangline::api::names;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::release::{give_slots, in_slot, install, number, slot_ask};
use crate::breakage::wait_held;
use crate::harness::Context;
use crate::harness::context::{merge, phase};
use crate::harness::words::{is_placeholder, label, why_waits};
use crate::support::error::Result;

/// Slots of a node.
const EACH: u32 = 2;
/// Members of each gang: all slots of three nodes.
const SEATS: u32 = 6;
/// How many gangs of each kind follow each other, unless `E2E_ROUNDS` says otherwise.
const ROUNDS: u32 = 8;
/// How long a gang may take to be whole once nobody else wants its room: a Job waits before it makes a pod anew that has
/// failed, 10 s after the first, 20 after the next that failed, and so on.
const WHOLE_WITHIN: Duration = Duration::from_secs(180);

/// What became of the gangs so far.
#[derive(Default)]
struct Tally {
    /// Members that a kubelet refused.
    refused: u32,
    /// Gangs of which some members ran and others not.
    partial: u32,
    /// Gangs that others took the room of before any member had it: they wait, whole.
    overtaken: u32,
    /// How long it took until all of a gang ran once the others were gone.
    healed: Duration,
}

impl Tally {
    fn add(&mut self, early: Outcome, last: Outcome, took: Duration) {
        self.refused += last.refused;
        self.partial += u32::from(early.refused > 0 || early.others > 0 && early.running > 0 && early.running < SEATS);
        self.overtaken += u32::from(early.others > 0 && early.running == 0 && early.refused == 0);
        if early.running < SEATS {
            self.healed = self.healed.max(took);
        }
    }
}

/// How one gang stands.
#[derive(Clone, Copy)]
struct Outcome {
    running: u32,
    refused: u32,
    /// Pods of the other scheduler that run.
    others: u32,
}

impl Outcome {
    fn of(pods: &[&Pod]) -> Self {
        let count = |wanted: &dyn Fn(&Pod) -> bool| pods.iter().filter(|pod| wanted(pod)).count() as u32;
        let is_member = |pod: &Pod| !is_placeholder(pod) && label(pod, STRANGER).is_empty();
        Self {
            running: count(&|pod| is_member(pod) && phase(pod) == "Running"),
            refused: count(&|pod| is_member(pod) && phase(pod) == "Failed"),
            others: count(&|pod| !label(pod, STRANGER).is_empty() && phase(pod) == "Running"),
        }
    }
}

/// Label of the pods of another scheduler.
const STRANGER: &str = "stranger";

pub(super) async fn full_nodes(t: &mut Context) -> Result<()> {
    install(t).await?;
    give_slots(t, EACH).await?;
    let rounds = number("E2E_ROUNDS", ROUNDS)?;
    let mut alone = Tally::default();
    for round in 0..rounds {
        swap(t, &format!("alone-{round}"), 0, &mut alone).await?;
    }
    let mut contended = Tally::default();
    for round in 0..rounds {
        swap(t, &format!("contended-{round}"), SEATS, &mut contended).await?;
    }
    println!("swaps on full nodes: {rounds} gangs of {SEATS} alone: {} members refused", alone.refused);
    println!(
        "swaps on full nodes: {rounds} gangs of {SEATS} with {SEATS} pods of kube-scheduler waiting: {} members refused, \
         {} gangs in part, {} overtaken as a whole; all of it within {:.1} s of the others' end",
        contended.refused,
        contended.partial,
        contended.overtaken,
        contended.healed.as_secs_f64()
    );
    assert_eq!(alone.refused, 0, "nobody else is there");
    Ok(())
}

/// One gang: held, then its Job comes; with so many pods of another scheduler that wait for the room. If one of them gets
/// it, all of them go, and the gang becomes whole. How often that is no promise can be made of (docs/known-breaks.md): it is
/// counted.
async fn swap(t: &Context, name: &str, waiting: u32, tally: &mut Tally) -> Result<()> {
    let mut spec = slot_ask();
    merge(&mut spec, json!({"placeholderFor": "all"}));
    t.group(name, SEATS, "10m", spec).await?;
    let held = wait_held(t, name, SEATS).await?;
    t.wait_placeholders("run", held.len(), |pod| phase(pod) == "Running").await?;
    for number in 0..waiting {
        t.pods().create(stranger(t, name, number)).await?;
    }
    let others = format!("{STRANGER}={name}");
    let wait =
        |pods: &[&Pod]| pods.iter().filter(|pod| why_waits(pod).0 == "Unschedulable").count() == waiting as usize;
    t.pods().wait_all(&others, "others wait", wait).await?;

    t.objects::<Job>().create(job(t, name)).await?;
    let settled = |pods: &[&Pod]| {
        let of = Outcome::of(pods);
        of.running == SEATS || of.refused > 0 || of.others > 0
    };
    let seen = t.pods().wait_all("", "members run or are refused, or others run", settled).await?;
    let (begin, early) = (Instant::now(), Outcome::of(&seen.iter().collect::<Vec<_>>()));
    for number in 0..waiting {
        t.pods().delete(&format!("{name}-stranger-{number}")).await?;
    }
    let last = Cell::new(early);
    let whole = |pods: &[&Pod]| {
        last.set(Outcome::of(pods));
        last.get().running == SEATS
    };
    t.pods().within(WHOLE_WITHIN).wait_all("", "all members run", whole).await?;
    tally.add(early, last.get(), begin.elapsed());
    t.objects::<Job>().delete_with(name, &kube::api::DeleteParams::background()).await?;
    t.groups().delete(name).await?;
    t.pods().wait_all("", "all pods are gone", |pods| pods.is_empty()).await.map(drop)
}

/// A pod of kube-scheduler that wants a slot.
fn stranger(t: &Context, gang: &str, number: u32) -> serde_json::Value {
    let labels = json!({"metadata": {"labels": {STRANGER: gang}}});
    let mut pod = t.pod(&format!("{gang}-stranger-{number}"), "10m", labels);
    merge(&mut pod, json!({"spec": {"schedulerName": "default-scheduler", "containers": [in_slot(&[])]}}));
    pod
}

/// The gang's members, each made anew when it is refused.
fn job(t: &Context, name: &str) -> serde_json::Value {
    let pod = t.pod(name, "10m", json!({"spec": {"restartPolicy": "Never", "containers": [in_slot(&["1h"])]}}));
    let template = json!({"metadata": {"labels": {names::TASK_GROUP: name}}, "spec": pod["spec"]});
    json!({"metadata": {"name": name}, "spec": {
        "parallelism": SEATS, "completions": SEATS, "backoffLimit": 1000, "template": template,
    }})
}
