//! The same scenarios in the words of each system in which a gang does without placeholders: annotations of Koordinator's on pods,
//! and the PodGroups of Koordinator, scheduler-plugins, Volcano and Kubernetes. Which of them are played in whose words, and why
//! not in all, is in `docs/verification.md`.

use gangline::shim::dialect::koordinator::{TIMED_OUT, TIMEOUT};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::declared::{Gang, Lack, Words};
use super::koordinator::whole_or_none;
use super::restarts::{delete_all, wait_none};
use crate::harness::context::phase;
use crate::harness::words::{annotation, is_bound};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::Result;

pub(crate) fn tests() -> Vec<Test> {
    let of_all = [
        test(
            "dialects: a gang that lacks a member, or has one too large for any node, starts nothing and says so",
            Needs::Nodes(2),
            short,
        ),
        test("dialects: a gang that times out says so, and starts when it is made smaller", Needs::Nodes(0), late),
        test("dialects: three gangs of one group in two namespaces start together or not", Needs::Nodes(2), across),
        test("dialects: the room of a lost member is kept while a stranger waits", Needs::Nodes(3), keeps_room),
        test("dialects: who replaces lost members waits as the match policy says", Needs::Nodes(2), policies),
    ];
    let turns = [
        (
            "koordinator: of two gangs that do not fit together one runs, twenty times over",
            Words::KoordinatorAnnotations,
            20,
        ),
        ("pod groups: of two gangs of Koordinator that do not fit together one runs", Words::Koordinator, 4),
        ("pod groups: of two gangs of scheduler-plugins that do not fit together one runs", Words::Coscheduling, 4),
        ("pod groups: of two gangs of Volcano that do not fit together one runs", Words::Volcano, 4),
        ("native: of two gangs of Kubernetes' own that do not fit together one runs", Words::Kubernetes, 4),
    ];
    let turns = turns.map(|(name, words, rounds)| {
        let body = async move |t: &mut Context| in_turns(t, words, rounds).await;
        let turns = test(name, Needs::Nodes(2), body);
        // Annotations need no kind of others.
        if words == Words::KoordinatorAnnotations { turns } else { turns.operated() }
    });
    of_all.into_iter().map(Test::operated).chain(turns).collect()
}

/// Whether nobody has a node.
fn none_bound(pods: &[&Pod]) -> bool {
    !pods.iter().any(|pod| is_bound(pod))
}

/// A gang of three in the words of each. Two of each come; then one that is larger than any node; then one that is not.
async fn short(t: &mut Context) -> Result<()> {
    let gangs = Words::WITHOUT_PLACEHOLDERS.map(|words| Gang::new(words, "", 3, "1"));
    for gang in &gangs {
        gang.words.define(t).await?;
        gang.declare(t).await?;
    }
    let wait = async {
        for gang in &gangs {
            gang.create(t, 0..2).await?;
        }
        for gang in &gangs {
            says_that_one_is_missing(t, gang).await?;
        }
        Ok(())
    };
    t.pods().always("", "no member has a node", none_bound, wait).await?;
    // All are there now, and still none of them starts.
    let large = async {
        for gang in &gangs {
            let mut large = gang.pod(t, 2);
            large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("17");
            t.pods().create(large).await?;
        }
        for gang in &gangs {
            t.wait_pod_reason(&gang.member(2), "Unschedulable").await?;
            gang.wait_said_to_lack(t, Lack::Room).await?;
        }
        Ok(())
    };
    t.pods().always("", "no member has a node", none_bound, large).await?;
    for gang in &gangs {
        t.pods().delete(&gang.member(2)).await?;
        gang.create(t, 3..4).await?;
    }
    for gang in &gangs {
        gang.wait_running(t, 3).await?;
        gang.wait_said(t, 3).await?;
    }
    Ok(())
}

/// The pods of a gang of three say that there are two, as do its TaskGroup, its PodGroup, and the command.
async fn says_that_one_is_missing(t: &Context, gang: &Gang<'_>) -> Result<()> {
    let member = gang.member(1);
    let message = t.wait_pod_reason(&member, "WaitingForMembers").await?;
    assert_eq!(message, format!("2 of 3 members of {} exist; the gang starts when all do", gang.name));
    t.wait_reason(&gang.name, "WaitingForMembers").await?;
    gang.wait_said_to_lack(t, Lack::Members).await?;
    let (code, why) = t.gangline(&["why", &format!("pod/{member}")])?;
    assert!(code == Some(0) && why.contains(&message), "{why}");
    Ok(())
}

/// Two gangs, each of which takes five of the eight places that the nodes have. What one had is the other's as soon as its pods and
/// what declares it are gone, though room is kept for lost members otherwise.
async fn in_turns(t: &Context, words: Words, rounds: u32) -> Result<()> {
    words.define(t).await?;
    for round in 0..rounds {
        let [a, b] = ["a", "b"].map(|which| Gang::new(words, &format!("-{which}{round}"), 5, "4"));
        for gang in [&a, &b] {
            gang.declare(t).await?;
        }
        let both = async {
            for number in 0..5 {
                for gang in [&a, &b] {
                    gang.create(t, number..number + 1).await?;
                }
            }
            let one = |pods: &[&Pod]| a.bound(pods) == 5 || b.bound(pods) == 5;
            t.pods().wait_all("", "one of the two has its nodes", one).await
        };
        let either = |pods: &[&Pod]| a.bound(pods) == 0 || b.bound(pods) == 0;
        let pods = t.pods().always("", "only one of the two has nodes", either, both).await?;
        let pods: Vec<&Pod> = pods.iter().collect();
        let (first, second) = if a.bound(&pods) == 5 { (&a, &b) } else { (&b, &a) };
        first.end(t, 0..5).await?;
        second.wait_bound(t, 5).await?;
        second.end(t, 0..5).await?;
    }
    Ok(())
}

/// Gangs of two in the words of each system that bounds how long they may wait, each on a node that has room for one of them.
async fn late(t: &mut Context) -> Result<()> {
    let all = Words::WITHOUT_PLACEHOLDERS.into_iter();
    let bounded: Vec<(Words, Value)> = all.filter_map(|words| Some((words, words.waits(2)?))).collect();
    let nodes = t.add_nodes("late", bounded.len() as u32, |_| ()).await?;
    let gangs = bounded.into_iter().zip(&nodes).map(|((words, terms), node)| {
        let node = Some(node.as_str());
        Gang { node, terms, ..Gang::new(words, "", 2, "10") }
    });
    let gangs: Vec<Gang<'_>> = gangs.collect();
    for gang in &gangs {
        gang.words.define(t).await?;
        gang.declare(t).await?;
        gang.create(t, 0..2).await?;
    }
    for gang in &gangs {
        times_out(t, gang).await?;
    }
    for gang in &gangs {
        goes_on_smaller(t, gang).await?;
    }
    Ok(())
}

/// Whether a pod says that its gang has timed out.
fn says_timed_out(pod: &Pod) -> bool {
    annotation(pod, TIMEOUT) == TIMED_OUT
}

/// A gang says that it has timed out, on its pods, too, if its system has a word for that.
async fn times_out(t: &Context, gang: &Gang<'_>) -> Result<()> {
    t.wait_reason(&gang.name, "WaitTimeout").await?;
    for number in 0..2 {
        let message = t.wait_pod_reason(&gang.member(number), "WaitTimeout").await?;
        assert!(message.contains("(waitTimeoutSeconds)"), "{message}");
    }
    let is_said = Words::OF_KOORDINATOR.contains(&gang.words);
    let say = |pods: &[&Pod]| pods.len() == 2 && pods.iter().all(|pod| says_timed_out(pod) == is_said);
    let pods = t.pods().wait_all(&gang.selector(), "say that it has timed out, if they can", say).await?;
    assert!(none_bound(&pods.iter().collect::<Vec<_>>()), "nothing is held in part");
    Ok(())
}

/// With one member less it starts, and its pods say no more that it has timed out.
async fn goes_on_smaller(t: &Context, gang: &Gang<'_>) -> Result<()> {
    let start = async {
        gang.resize(t, 1).await?;
        gang.wait_running(t, 1).await
    };
    let right = |pods: &[&Pod]| !pods.iter().any(|pod| says_timed_out(pod) && is_bound(pod));
    t.pods().always(&gang.selector(), "who says so has no node", right, start).await?;
    let none = |pods: &[&Pod]| !pods.iter().any(|pod| says_timed_out(pod));
    t.pods().wait_all(&gang.selector(), "say no more that it has", none).await.map(drop)
}

/// What Koordinator's annotation of this key says.
fn annotated(key: &str, value: &str) -> Value {
    let key = format!("gang.scheduling.koordinator.sh/{key}");
    json!({"metadata": {"annotations": {key: value}}})
}

async fn across(t: &mut Context) -> Result<()> {
    let other = t.add_namespace("other", json!({})).await?;
    for words in Words::OF_KOORDINATOR {
        words.define(t).await?;
        three_together(t, words, &other).await?;
    }
    Ok(())
}

/// Label of all pods of a group of gangs in several namespaces.
const GROUP: &str = "e2e.gangline.dev/group";

/// Two gangs are whole, and the third, elsewhere, lacks a member until the end.
async fn three_together(t: &Context, words: Words, other: &str) -> Result<()> {
    let places = [("-a", None), ("-b", None), ("-c", Some(other))];
    let listed = places.map(|(suffix, place)| format!("{}/{}", place.unwrap_or(&t.namespace), words.gang(suffix)));
    let group = format!("{}-{}", t.id, words.gang(""));
    let gangs = places.map(|(suffix, namespace)| {
        let (terms, patch) =
            (annotated("groups", &json!(listed).to_string()), json!({"metadata": {"labels": {GROUP: group}}}));
        Gang { namespace, terms, patch, ..Gang::new(words, suffix, 2, "1") }
    });
    for gang in &gangs {
        gang.declare(t).await?;
    }
    let [a, b, c] = &gangs;
    let (pods, selector) = (t.everywhere::<Pod>(), format!("{GROUP}={group}"));
    let wait = async {
        for gang in [a, b] {
            gang.create(t, 0..2).await?;
        }
        c.create(t, 0..1).await?;
        for gang in [a, b] {
            let message = t.wait_pod_reason(&gang.member(1), "WaitingForMembers").await?;
            assert!(message.contains(&c.name), "{message}");
        }
        Ok(())
    };
    pods.always(&selector, "no member has a node", none_bound, wait).await?;
    let start = async {
        c.create(t, 1..2).await?;
        let run = |pods: &[&Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == 6;
        pods.wait_all(&selector, "all six run", run).await.map(drop)
    };
    pods.always(&selector, "none has a node before all are there", |pods| whole_or_none(pods, 6), start).await
}

/// A gang fills its nodes, and somebody waits there.
async fn keeps_room(t: &mut Context) -> Result<()> {
    for words in Words::WITHOUT_PLACEHOLDERS {
        words.define(t).await?;
        let gang = Gang::new(words, "", 3, "9");
        gang.declare(t).await?;
        gang.create(t, 0..3).await?;
        gang.wait_running(t, 3).await?;
        t.pods().create(t.pod("stranger", "9", json!({}))).await?;
        t.wait_pod_reason("stranger", "Unschedulable").await?;
        let replaced = async {
            // Not the first one, with which the TaskGroup goes that was made of what pods say: nobody controls these.
            t.pods().delete(&gang.member(2)).await?;
            t.pods().wait_gone(&gang.member(2)).await?;
            gang.create(t, 3..4).await?;
            gang.wait_running(t, 3).await
        };
        let waits = |pods: &[&Pod]| !pods.iter().any(|pod| pod.name_any() == "stranger" && is_bound(pod));
        t.pods().always("", "the stranger has no node", waits, replaced).await?;
        delete_all(t, "").await?;
        wait_none(t, "").await?;
        gang.withdraw(t).await?;
    }
    Ok(())
}

/// Of three members some are lost while they run, and others come: how many of these have nodes with `min` of them there.
async fn policies(t: &mut Context) -> Result<()> {
    for words in Words::OF_KOORDINATOR {
        words.define(t).await?;
        for (policy, lost, comes) in [("once-satisfied", 1, 1), ("waiting-and-running", 2, 2), ("only-waiting", 1, 3)] {
            let terms = annotated("match-policy", policy);
            let gang = Gang { terms, ..Gang::new(words, &format!("-{policy}"), 3, "1") };
            replaced(t, &gang, (lost, comes)).await?;
        }
    }
    Ok(())
}

/// So many of a gang of three are lost, and so many come, which have nodes when all of them are there.
async fn replaced(t: &Context, gang: &Gang<'_>, (lost, comes): (u32, u32)) -> Result<()> {
    gang.declare(t).await?;
    gang.create(t, 0..3).await?;
    gang.wait_running(t, 3).await?;
    // Not the first one, as above.
    for number in 3 - lost..3 {
        t.pods().delete(&gang.member(number)).await?;
    }
    // One that is being deleted counts until it is gone (ADR 41).
    for number in 3 - lost..3 {
        t.pods().wait_gone(&gang.member(number)).await?;
    }
    let come = async {
        for number in 3..3 + comes {
            gang.create(t, number..number + 1).await?;
            if number + 1 < 3 + comes {
                t.wait_pod_reason(&gang.member(number), "WaitingForMembers").await?;
            }
        }
        gang.wait_running(t, 3 - lost + comes).await
    };
    let is_new = |pod: &Pod| (3..3 + comes).any(|number| pod.name_any() == gang.member(number));
    let whole = |pods: &[&Pod]| {
        let new: Vec<&Pod> = pods.iter().copied().filter(|pod| is_new(pod)).collect();
        whole_or_none(&new, comes as usize)
    };
    t.pods().always(&gang.selector(), "those that come have nodes together", whole, come).await
}
