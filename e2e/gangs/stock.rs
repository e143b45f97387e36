//! Gangs in the hands of Kubernetes' own scheduler, as it is: a PodGroup is nothing to it, and it places pod by pod. What Gangline
//! does in the same scenarios is in other tests; `docs/beside-kube-scheduler.md` names both.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::declared::{Gang, Words};
use super::restarts::{delete_all, wait_none};
use crate::harness::context::{merge, phase};
use crate::harness::operators::STOCK;
use crate::harness::words::is_bound;
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;
use crate::support::objects::Objects;

pub(crate) fn tests() -> Vec<Test> {
    let tests = [
        test("stock kube-scheduler: the first member of a gang runs before there is another", Needs::Nodes(1), first),
        test("stock kube-scheduler: a gang that lacks a member runs in part", Needs::Nodes(1), short),
        test("stock kube-scheduler: a gang with a member too large for any node runs in part", Needs::Nodes(1), large),
        test(
            "stock kube-scheduler: of three gangs of one group in two namespaces whoever is there runs",
            Needs::Nodes(1),
            group,
        ),
        test("stock kube-scheduler: two gangs of 60 % both run in part, for ever", Needs::Nodes(2), two_gangs),
        test("stock kube-scheduler: a pod that waits gets the room of a lost member", Needs::Nodes(3), lost),
    ];
    tests.map(|test| test.without_gangline().operated()).into()
}

/// In whose words its gangs are: those that have a kind PodGroup.
const WORDS: [Words; 3] = [Words::Koordinator, Words::Coscheduling, Words::Volcano];

/// A gang of its pods, none of which is there yet.
async fn gang<'a>(t: &Context, words: Words, suffix: &str, (min, cpu): (u32, &'a str)) -> Result<Gang<'a>> {
    t.cluster.kube_scheduler().await?;
    words.define(t).await?;
    let patch = json!({"spec": {"schedulerName": STOCK}});
    let gang = Gang { patch, ..Gang::new(words, suffix, min, cpu) };
    gang.declare(t).await?;
    Ok(gang)
}

/// All pods of the test go.
async fn clear(t: &Context) -> Result<()> {
    delete_all(t, "").await?;
    wait_none(t, "").await
}

async fn first(t: &mut Context) -> Result<()> {
    for words in WORDS {
        let gang = gang(t, words, "", (3, "1")).await?;
        gang.create(t, 0..1).await?;
        gang.wait_running(t, 1).await?;
        gang.create(t, 1..3).await?;
        gang.wait_running(t, 3).await?;
    }
    Ok(())
}

async fn short(t: &mut Context) -> Result<()> {
    for words in WORDS {
        let gang = gang(t, words, "", (3, "1")).await?;
        gang.create(t, 0..2).await?;
        gang.wait_running(t, 2).await?;
    }
    Ok(())
}

async fn large(t: &mut Context) -> Result<()> {
    for words in WORDS {
        let gang = gang(t, words, "", (3, "1")).await?;
        let mut large = gang.pod(t, 0);
        large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("17");
        t.pods().create(large).await?;
        t.wait_pod_reason(&gang.member(0), "Unschedulable").await?;
        gang.create(t, 1..3).await?;
        gang.wait_running(t, 2).await?;
    }
    Ok(())
}

/// Two gangs are whole, and the third, elsewhere, lacks a member.
async fn group(t: &mut Context) -> Result<()> {
    let other = t.add_namespace("other", json!({})).await?;
    let words = Words::KoordinatorAnnotations;
    let places = [("a", &t.namespace), ("b", &t.namespace), ("c", &other)];
    let listed = places.map(|(suffix, namespace)| format!("{namespace}/{}", words.gang(suffix)));
    let listed = json!(listed).to_string();
    let declares = json!({"metadata": {"annotations": {"gang.scheduling.koordinator.sh/groups": listed}}});
    let mut gangs = Vec::new();
    for suffix in ["a", "b", "c"] {
        let mut gang = gang(t, words, suffix, (2, "1")).await?;
        merge(&mut gang.patch, declares.clone());
        gangs.push(gang);
    }
    let mut member = gangs[2].pod(t, 0);
    merge(&mut member, json!({"metadata": {"namespace": other}}));
    let there = Objects::<Pod>::of(&t.client, &other);
    there.create(member).await?;
    for gang in &gangs[..2] {
        gang.create(t, 0..2).await?;
        gang.wait_running(t, 2).await?;
    }
    there.wait(&gangs[2].member(0), "runs", |pod| phase(pod) == "Running").await.map(drop)
}

/// Members come in turns, and eight of ten find room; nothing gives it back.
async fn two_gangs(t: &mut Context) -> Result<()> {
    for words in WORDS {
        let gangs = [gang(t, words, "-a", (5, "4")).await?, gang(t, words, "-b", (5, "4")).await?];
        for number in 0..4 {
            for gang in &gangs {
                gang.create(t, number..number + 1).await?;
                gang.wait_bound(t, number + 1).await?;
            }
        }
        for gang in &gangs {
            gang.create(t, 4..5).await?;
        }
        for gang in &gangs {
            t.wait_pod_reason(&gang.member(4), "Unschedulable").await?;
            gang.wait_running(t, 4).await?;
        }
        // What comes later is placed, while they wait for each other.
        let later = format!("later-{}", gangs[0].name);
        t.pods().create(t.pod(&later, "0", json!({"spec": {"schedulerName": STOCK}}))).await?;
        t.pods().wait(&later, "runs", |pod| phase(pod) == "Running").await?;
        for gang in &gangs {
            gang.wait_bound(t, 4).await?;
        }
        clear(t).await?;
    }
    Ok(())
}

/// A gang fills its nodes, and somebody waits there.
async fn lost(t: &mut Context) -> Result<()> {
    for words in WORDS {
        let gang = gang(t, words, "", (3, "9")).await?;
        gang.create(t, 0..3).await?;
        gang.wait_running(t, 3).await?;
        t.pods().create(t.pod("stranger", "9", json!({"spec": {"schedulerName": STOCK}}))).await?;
        t.wait_pod_reason("stranger", "Unschedulable").await?;
        t.pods().delete(&gang.member(2)).await?;
        t.pods().wait("stranger", "has its room", is_bound).await?;
        // As its controller makes it anew.
        gang.create(t, 3..4).await?;
        t.wait_pod_reason(&gang.member(3), "Unschedulable").await?;
        gang.wait_running(t, 2).await?;
        clear(t).await?;
    }
    Ok(())
}
