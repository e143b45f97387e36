//! Placeholder swaps with real containers on nodes that are exactly full, alone and while others wait for the room.

use std::cell::Cell;
use std::time::{Duration, Instant};

use gangline::api::names;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::release::{give_slots, in_slot, install, number, slot_ask};
use crate::breakage::wait_held;
use crate::harness::Context;
use crate::harness::context::{merge, node, phase};
use crate::harness::words::{is_placeholder, label, why_waits};
use crate::support::error::Result;

/// Slots of a node.
const EACH: u32 = 2;
/// Members of each gang: all slots of three nodes.
const SEATS: u32 = 6;
/// How many gangs of each kind follow each other, unless `E2E_ROUNDS` says otherwise.
const ROUNDS: u32 = 8;
/// How long a gang may take to be whole once nobody else wants its room.
const WHOLE_WITHIN: Duration = Duration::from_secs(60);

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

    fn tell(&self, rounds: u32, how: &str) {
        println!(
            "swaps on full nodes: {rounds} gangs of {SEATS} {how}: {} members refused, {} gangs in part, {} overtaken as a \
             whole; all of it within {:.1} s of the others' end",
            self.refused,
            self.partial,
            self.overtaken,
            self.healed.as_secs_f64()
        );
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

/// How a gang meets such pods, of which there are as many as members.
#[derive(Clone, Copy, PartialEq)]
enum Meets {
    Nobody,
    /// They wait for the room that its placeholders hold.
    Waiting,
    /// It holds nothing, and they come at the same moment as its members.
    Coming,
}

pub(super) async fn full_nodes(t: &mut Context) -> Result<()> {
    install(t).await?;
    give_slots(t, EACH).await?;
    let rounds = number("E2E_ROUNDS", ROUNDS)?;
    let alone = gangs(t, "alone", rounds, Meets::Nobody).await?;
    println!("swaps on full nodes: {rounds} gangs of {SEATS} alone: {} members refused", alone.refused);
    let words = format!("with {SEATS} pods of kube-scheduler waiting");
    gangs(t, "contended", rounds, Meets::Waiting).await?.tell(rounds, &words);
    let few = rounds.div_ceil(2);
    let words = format!("without placeholders, with {SEATS} pods of kube-scheduler coming at the same moment");
    gangs(t, "direct", few, Meets::Coming).await?.tell(few, &words);
    assert_eq!(alone.refused, 0, "nobody else is there");
    Ok(())
}

async fn gangs(t: &Context, name: &str, rounds: u32, meets: Meets) -> Result<Tally> {
    let mut tally = Tally::default();
    for round in 0..rounds {
        gang(t, &format!("{name}-{round}"), meets, &mut tally).await?;
    }
    Ok(tally)
}

/// One gang: held, then its members come; and others that want the same room. If one of them gets some of it, all of them go,
/// and the gang becomes whole. How often that is no promise can be made of (docs/known-breaks.md): it is counted.
async fn gang(t: &Context, name: &str, meets: Meets, tally: &mut Tally) -> Result<()> {
    reserve(t, name, meets).await?;
    let members = async { t.objects::<ReplicaSet>().create(replica_set(t, name)).await.map(drop) };
    match meets {
        Meets::Nobody => members.await?,
        Meets::Waiting => {
            make_strangers(t, name).await?;
            let wait = |pods: &[&Pod]| pods.iter().all(|pod| why_waits(pod).0 == "Unschedulable");
            t.pods().wait_all(&format!("{STRANGER}={name}"), "others wait", wait).await?;
            members.await?;
        }
        Meets::Coming => drop(tokio::try_join!(members, make_strangers(t, name))?),
    }
    settle(t, name, meets, tally).await?;
    t.objects::<ReplicaSet>().delete_with(name, &kube::api::DeleteParams::background()).await?;
    t.groups().delete(name).await?;
    t.pods().wait_all("", "all pods are gone", |pods| pods.is_empty()).await.map(drop)
}

/// The members' owner. It makes a refused one anew at once, where a Job waits 10 s after the first that failed, 20 after the
/// next, and so on: what is measured is not its patience.
fn replica_set(t: &Context, name: &str) -> Value {
    let pod = t.pod(name, "10m", json!({"spec": {"containers": [in_slot(&["1h"])]}}));
    let labels = json!({names::TASK_GROUP: name});
    json!({"metadata": {"name": name}, "spec": {
        "replicas": SEATS,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
    }})
}

/// The TaskGroup, and its placeholders run if it is to have some.
async fn reserve(t: &Context, name: &str, meets: Meets) -> Result<()> {
    let direct = meets == Meets::Coming;
    let mut spec = slot_ask();
    merge(&mut spec, if direct { json!({"reservation": "Direct"}) } else { json!({"placeholderFor": "all"}) });
    t.group(name, SEATS, "10m", spec).await?;
    if direct {
        return Ok(());
    }
    let held = wait_held(t, name, SEATS).await?;
    t.wait_placeholders("run", held.len(), |pod| phase(pod) == "Running").await.map(drop)
}

/// Sees who got the room, lets the others go, and waits until the gang is whole.
async fn settle(t: &Context, name: &str, meets: Meets, tally: &mut Tally) -> Result<()> {
    let settled = |pods: &[&Pod]| {
        let of = Outcome::of(pods);
        let starts = pods.iter().any(|pod| !node(pod).is_empty() && phase(pod) == "Pending");
        !starts && (of.running == SEATS || of.refused > 0 || of.others > 0)
    };
    let seen = t.pods().wait_all("", "members run or are refused, or others run", settled).await?;
    let (begin, early) = (Instant::now(), Outcome::of(&seen.iter().collect::<Vec<_>>()));
    if meets != Meets::Nobody {
        for number in 0..SEATS {
            t.pods().delete(&format!("{name}-stranger-{number}")).await?;
        }
    }
    let last = Cell::new(early);
    let whole = |pods: &[&Pod]| {
        last.set(Outcome::of(pods));
        last.get().running == SEATS
    };
    t.pods().within(WHOLE_WITHIN).wait_all("", "all members run", whole).await?;
    tally.add(early, last.get(), begin.elapsed());
    Ok(())
}

/// Pods of kube-scheduler, each of which wants a slot.
async fn make_strangers(t: &Context, gang: &str) -> Result<()> {
    for number in 0..SEATS {
        let labels = json!({"metadata": {"labels": {STRANGER: gang}}});
        let mut pod = t.pod(&format!("{gang}-stranger-{number}"), "10m", labels);
        merge(&mut pod, json!({"spec": {"schedulerName": "default-scheduler", "containers": [in_slot(&[])]}}));
        t.pods().create(pod).await?;
    }
    Ok(())
}
