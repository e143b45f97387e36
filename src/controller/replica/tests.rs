//! A follower sends nothing, and begins as a process would that lists everything at that moment.

use serde_json::json;

use super::*;
use crate::core::time::{Mono, Wall};
use crate::shim::decode;
use crate::shim::kinds::Kind;
use crate::shim::observation::{Seen, WatchFact};

fn settings() -> Settings {
    Settings {
        scheduler_names: vec!["gangline".into()],
        placeholder_image: "pause".into(),
        ignore_foreign_markers: false,
        max_placeholders: 5_000,
        instance: 1,
    }
}

fn now() -> Now {
    Now { mono: Mono(5_000), wall: Wall(1_700_000_000_000) }
}

fn told(kind: Kind, fact: WatchFact) -> Observation {
    Observation::Watch { kind, conn: 1, fact }
}

fn node(name: &str) -> Seen {
    let allocatable = json!({"cpu": "4", "memory": "8Gi", "pods": "10"});
    let node = json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1"}, "status": {"allocatable": allocatable}});
    decode::seen(Kind::Node, &node.to_string()).expect("it has a name")
}

fn pod(name: &str) -> Seen {
    let requests = json!({"requests": {"cpu": "1", "memory": "1Gi"}});
    let spec = json!({"schedulerName": "gangline", "containers": [{"name": "c", "resources": requests}]});
    let metadata = json!({"name": name, "namespace": "ns", "uid": name, "resourceVersion": "2"});
    let pod = json!({"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}});
    decode::seen(Kind::Pod, &pod.to_string()).expect("it has a name")
}

fn list(kind: Kind, objects: Vec<Seen>) -> Vec<Observation> {
    let listed = objects.into_iter().map(WatchFact::Listed);
    let facts = [WatchFact::ListBegin].into_iter().chain(listed).chain([WatchFact::ListEnd]);
    facts.map(|fact| told(kind, fact)).collect()
}

/// Lists of everything: two nodes, two pods; queues are not served.
fn lists() -> Vec<Observation> {
    let mut lists = list(Kind::Node, vec![node("n1"), node("n2")]);
    lists.extend(list(Kind::Pod, vec![pod("a"), pod("b")]));
    lists.extend([Kind::TaskGroup, Kind::ResourceQuota].into_iter().flat_map(|kind| list(kind, Vec::new())));
    lists.push(told(Kind::Queue, WatchFact::Unserved));
    lists
}

fn step(replica: &mut Replica, mut batch: Vec<Observation>) -> String {
    let turn = replica.step(now(), &mut batch);
    assert!(batch.is_empty());
    format!("{:?}", turn.calls)
}

/// What a process sends that lists this now.
fn fresh(mut facts: Vec<Observation>) -> String {
    format!("{:?}", Controller::new(settings()).step(now(), &mut facts).calls)
}

#[test]
fn a_follower_sends_nothing_and_a_leader_what_a_new_process_would() {
    let mut replica = Replica::new(settings());
    assert!(!replica.stats().synced);
    assert_eq!(step(&mut replica, lists()), "[]");
    let stats = replica.stats();
    assert!(stats.synced && !stats.leads && stats.objects["pods"] == 2, "{stats:?}");
    let calls = step(&mut replica, vec![Observation::Lead]);
    assert!(calls.contains("Bind"), "{calls}");
    assert_eq!(calls, fresh(lists()));
    assert!(replica.stats().leads);
}

#[test]
fn what_came_and_went_meanwhile_counts_as_it_is_now() {
    let mut replica = Replica::new(settings());
    step(&mut replica, lists());
    step(&mut replica, vec![told(Kind::Pod, WatchFact::Gone(pod("a"))), told(Kind::Pod, WatchFact::Upsert(pod("c")))]);
    step(&mut replica, list(Kind::Node, vec![node("n3")]));
    let mut expected = list(Kind::Pod, vec![pod("b"), pod("c")]);
    expected.extend(list(Kind::Node, vec![node("n3")]));
    expected.extend(
        lists().into_iter().filter(|fact| !matches!(fact, Observation::Watch { kind: Kind::Pod | Kind::Node, .. })),
    );
    assert_eq!(step(&mut replica, vec![Observation::Lead]), fresh(expected));
}

/// The list goes on after the beginning, and what it does not show is gone then.
#[test]
fn a_list_may_end_after_the_beginning() {
    let mut replica = Replica::new(settings());
    step(&mut replica, lists());
    let mut again = list(Kind::Pod, vec![pod("b"), pod("c")]);
    let rest = again.split_off(2);
    step(&mut replica, again);
    assert!(step(&mut replica, vec![Observation::Lead]).contains("name: \"a\""), "it is known");
    step(&mut replica, rest);
    assert_eq!(replica.stats().objects["pods"], 2);
}

#[test]
fn half_a_picture_is_enough_to_lead_but_not_to_send() {
    let mut replica = Replica::new(settings());
    let mut lists = lists();
    let last = lists.pop().into_iter().collect();
    assert_eq!(step(&mut replica, lists), "[]");
    assert_eq!(step(&mut replica, vec![Observation::Lead]), "[]");
    assert!(!replica.stats().synced);
    assert!(step(&mut replica, last).contains("Bind"));
}

#[test]
fn a_follower_knows_what_it_may_not_watch() {
    let mut replica = Replica::new(settings());
    let denied = WatchFact::Broken { code: 403, message: "list pods: forbidden".into() };
    step(&mut replica, vec![told(Kind::Pod, denied)]);
    assert_eq!(replica.stats().denied, [("pods", "list")]);
    step(&mut replica, lists());
    assert!(replica.stats().denied.is_empty());
}
