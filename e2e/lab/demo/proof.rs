//! The proof, read back from the API server when the story is over.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use kube::{Client, ResourceExt};

use super::scene::{self, Gang, Scene};
use crate::support::audit::{self, Record};
use crate::support::error::{Error, Result};

/// Members and their nodes in one line.
const PLACES: usize = 4;

/// Gangs of the story that must not run at the end.
const REJECTED: &str = "too-big";

/// Prints it; an error if it is none.
pub(super) async fn give(client: &Client, audit_log: &Path) -> Result<()> {
    let scene = Scene::read(client).await?;
    let records: Vec<Record> = audit::read(audit_log)?.into_iter().filter(|record| record.is_by("gangline")).collect();
    println!("\nRead back from the API server and its audit log:\n");
    let spreads = spreads(&scene, &records);
    for gang in &scene.gangs {
        println!("{}", sentence(gang, spreads.get(gang.name.as_str())));
        scene.places(&gang.name).chunks(PLACES).for_each(|places| println!("      {}", places.join(", ")));
    }
    let nodes: Vec<String> = scene.by_node().into_iter().map(|(node, pods)| format!("{node} {pods}")).collect();
    println!("\n  pods by node:      {}", nodes.join(", "));
    let (partial, placeholders) = (partial(&scene), scene.placeholders());
    let refused: Vec<&Record> = records.iter().filter(|record| record.code() == 403).collect();
    println!("  partial gangs:     {}", partial.len());
    println!("  placeholders left: {placeholders}");
    println!("  gangline's writes: {}, refused by its role: {}", writes(&records), refused.len());
    let mut problems: Vec<String> = partial.iter().map(|name| format!("{name} runs in part")).collect();
    problems.extend((placeholders > 0).then(|| format!("{placeholders} placeholders are left")));
    problems
        .extend(refused.iter().map(|record| format!("its role does not let it {} {}", record.verb, record.resource())));
    problems.extend(scene.gangs.iter().filter_map(unexpected));
    if problems.is_empty() {
        return Ok(());
    }
    Err(Error::new("the proof fails").with_tail("problems", &problems.join("\n")))
}

fn sentence(gang: &Gang, spread: Option<&(Timestamp, Timestamp)>) -> String {
    let spread = spread.map_or_else(String::new, |(first, last)| {
        let millis = last.as_millisecond() - first.as_millisecond();
        format!("   first to last bind {millis:>4} ms")
    });
    format!("  {:<20} bound {}/{}{spread}", gang.name, gang.bound(), gang.min)
}

/// Task groups of which some but too few members have a node, and applications of which only some task groups run.
fn partial(scene: &Scene) -> Vec<String> {
    let mut partial: Vec<String> =
        scene.gangs.iter().filter(|gang| gang.is_partial()).map(|gang| gang.name.clone()).collect();
    let mut applications: BTreeMap<&str, Vec<&Gang>> = BTreeMap::new();
    scene.gangs.iter().for_each(|gang| applications.entry(&gang.application).or_default().push(gang));
    for (name, gangs) in applications {
        let running = gangs.iter().filter(|gang| gang.bound() > 0).count();
        if (1..gangs.len()).contains(&running) {
            partial.push(name.to_owned());
        }
    }
    partial
}

fn unexpected(gang: &Gang) -> Option<String> {
    let expected = if gang.name == REJECTED { gang.bound() == 0 } else { gang.bound() >= gang.min };
    (!expected).then(|| format!("{} has {} of {} members bound", gang.name, gang.bound(), gang.min))
}

/// First and last binding of each gang's members.
fn spreads<'a>(scene: &'a Scene, records: &[Record]) -> BTreeMap<&'a str, (Timestamp, Timestamp)> {
    let members = scene.pods.iter().filter(|pod| !scene::is_placeholder(pod));
    let groups: BTreeMap<String, &str> = members.filter_map(|pod| Some((pod.name_any(), scene::group(pod)?))).collect();
    let mut spreads = BTreeMap::new();
    for record in records {
        let Some(group) = record.bound().and_then(|(_, pod)| groups.get(pod)) else { continue };
        let at = record.stage_timestamp;
        let (first, last) = spreads.entry(*group).or_insert((at, at));
        (*first, *last) = (at.min(*first), at.max(*last));
    }
    spreads
}

fn writes(records: &[Record]) -> usize {
    records.iter().filter(|record| !matches!(record.verb.as_str(), "get" | "list" | "watch")).count()
}
