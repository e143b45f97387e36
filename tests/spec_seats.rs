//! What may happen to a seat before its member has it: nodes change, sizes differ, deletions fail (01, 1.3 to 1.5).

use std::sync::Arc;

use gangline::core::base::ids::{Key, Uid};
use gangline::core::codes::Code;
use gangline::core::decision::Decision;
use gangline::core::event::{AskSpec, BindOutcome, Event, GroupSpec, Place, Role};
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::{Objection, Refusal, Unsupported};
use gangline::core::shape::Shape;

use crate::support::cluster::{Cluster, size};

/// An `all` gang of so many members of 1 core, every seat held.
fn held(cluster: Cluster, members: u32) -> Cluster {
    let mut cluster = cluster;
    let spec = cluster.all("g", members);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, members);
    cluster.taken();
    cluster
}

fn node_of(cluster: &Cluster, pod: &str) -> String {
    match &cluster.pods[pod].1.place {
        Place::On { node, .. } => node.to_string(),
        other => panic!("{pod} is {other:?}"),
    }
}

/// A Binding that was decided is called off for what its pod says now, not because that was written; that of a placeholder for
/// nothing that somebody writes on it.
#[test]
fn a_binding_is_called_off_by_what_its_pod_says_and_by_nothing_else() {
    let is_called_off = |placeholder: bool, change: fn(&mut AskSpec)| {
        let mut cluster = Cluster::default().nodes(1, 4);
        let spec = if placeholder { cluster.all("g", 1) } else { cluster.direct("g", 1) };
        cluster.apply("g", spec);
        cluster.members("g", 1);
        cluster.step().carry("create");
        let pod = cluster.pods.keys().find(|pod| pod.starts_with("ph-") == placeholder).expect("it is there").clone();
        assert!(
            cluster.waiting().iter().any(|what| what.contains(&format!("bind {pod} n0"))),
            "{:?}",
            cluster.waiting()
        );
        cluster.change(&pod, change);
        cluster.step();
        cluster.waiting().contains(&format!("recall {pod}"))
    };
    let changes: [fn(&mut AskSpec); 3] = [
        |pod| pod.queue = Some("root.other".into()),
        |pod| pod.role = Role::Member { group: "other".into() },
        |pod| {
            pod.place =
                Place::Refused(Box::new(Objection::Unsupported(Unsupported { field: "metadata.labels".into() })))
        },
    ];
    assert_eq!(changes.map(|change| is_called_off(false, change)), [false, true, true]);
    assert_eq!(changes.map(|change| is_called_off(true, change)), [false; 3]);
}

/// 01, 1.3: all members or none, also of what only some nodes have: an accelerator that another scheduler gives away at
/// the same moment is found before the start.
#[test]
fn a_seat_whose_accelerators_somebody_else_took_is_given_up_before_the_start() {
    let shape = |gpus| {
        let mut request = size(1);
        request.set("nvidia.com/gpu", gpus);
        Arc::new(Shape { request, ..Shape::default() })
    };
    let mut cluster = Cluster::default().nodes(2, 4);
    for name in ["n0", "n1"] {
        let mut spec = cluster.nodes[name].clone();
        spec.allocatable.set("nvidia.com/gpu", 4);
        cluster.show_node(name, spec);
    }
    let mut spec = cluster.all("g", 2);
    (spec.shape, spec.min_resource) = (shape(4), shape(4).request.clone());
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 2);
    let mut foreign = cluster.pod("foreign", Role::Foreign);
    (foreign.shape, foreign.place) = (shape(1), Place::On { node: "n0".into(), running: true });
    cluster.show(foreign);
    for name in ["g-0", "g-1"] {
        let mut member = cluster.pod(name, Role::Member { group: "g".into() });
        member.shape = shape(4);
        cluster.show(member);
    }
    cluster.settle();
    assert!(!cluster.bound().iter().any(|name| name.starts_with("g-")), "{:#?}", cluster.log);
    cluster.delete("foreign");
    cluster.settle();
    cluster.wait(61_000).settle();
    assert!(["g-0", "g-1"].iter().all(|name| cluster.bound().iter().any(|bound| bound == name)), "{:#?}", cluster.log);
}

fn cordon(cluster: &mut Cluster, node: &str, unschedulable: bool) {
    let mut spec = cluster.nodes[node].clone();
    spec.unschedulable = unschedulable;
    cluster.show_node(node, spec);
}

fn refusal(code: u16) -> Refusal {
    Refusal { code, message: "no".into() }
}

/// 01, 1.3: "if before the start a seat is lost … the missing seats are planned again at once".
#[test]
fn a_held_seat_on_a_cordoned_node_moves() {
    let mut cluster = held(Cluster::default().nodes(3, 1).queue("root.q", 2), 2);
    let node = node_of(&cluster, "ph-g-1-1-0");
    cordon(&mut cluster, &node, true);
    cluster.step();
    assert_eq!(cluster.waiting(), ["release ph-g-1-1-0 stopped"]);
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1"]);
    assert!(cluster.log.contains(&"create g/1".into()), "{:#?}", cluster.log);
}

/// 01, 1.3: "if that fails, every seat returns to Open": half a gang never starts.
#[test]
fn a_cordoned_seat_without_another_node_gives_everything_back() {
    let mut cluster = held(Cluster::default().nodes(2, 1).queue("root.q", 2), 2);
    let node = node_of(&cluster, "ph-g-1-1-0");
    cordon(&mut cluster, &node, true);
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.state("g")), (0, AppState::Accepted), "{:#?}", cluster.log);
    cordon(&mut cluster, &node, false);
    cluster.settle().wait(120_000).settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1"], "{:#?}", cluster.log);
}

/// As above where the node changed while nobody looked.
#[test]
fn a_node_cordoned_while_we_were_down_starts_no_half_gang() {
    let mut cluster = held(Cluster::default().nodes(2, 1).queue("root.q", 2), 2);
    let node = node_of(&cluster, "ph-g-1-0-0");
    cluster.nodes.get_mut(&node).expect("the node exists").unschedulable = true;
    cluster.restart().settle();
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.state("g")), (0, AppState::Accepted), "{:#?}", cluster.log);
}

/// A seat whose placeholder was being bound when the node was cordoned.
#[test]
fn a_seat_in_the_middle_of_its_binding_moves_too() {
    let mut cluster = Cluster::default().nodes(2, 1).queue("root.q", 2);
    let spec = cluster.all("g", 2);
    cluster.submit("g", "root.q", spec);
    cluster.step().carry("create");
    let bind = cluster.waiting().into_iter().find(|line| line.starts_with("bind ph-g-1-1-0")).expect("it is planned");
    let node = bind.split(' ').nth(2).expect("a node").to_owned();
    cordon(&mut cluster, &node, true);
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.state("g")), (0, AppState::Accepted), "{:#?}", cluster.log);
    cluster.node("n9", 1);
    cluster.wait(120_000).settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1"], "{:#?}", cluster.log);
}

/// 01, 1.4.1: "Choose a seat the member fits"; "The other seats are untouched" by one that is too large.
#[test]
fn a_member_that_is_too_large_does_not_block_one_that_fits() {
    let mut cluster = held(Cluster::default().nodes(1, 1).queue("root.q", 9), 1);
    cluster.large_member("a-big", "g", 2);
    cluster.settle();
    cluster.member("b-small", "g");
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.why("a-big")), (vec!["b-small".to_owned()], Some("Unschedulable")));
}

/// 01, 1.3 "Autoscaler" and 1.4: SeatTooSmall is for the quota alone; what nodes lack is Unschedulable.
#[test]
fn a_larger_member_that_fits_no_node_is_unschedulable() {
    let mut cluster = Cluster::default().nodes(2, 1).queue("root.q", 2);
    cluster.other("other", "root.q", 1);
    let mut cluster = held(cluster, 1);
    cluster.large_member("g-0", "g", 2);
    cluster.settle();
    assert_eq!(cluster.why("g-0"), Some("SeatTooSmall"));
    cluster.set_queue("root.q", 3);
    cluster.settle();
    assert_eq!(cluster.why("g-0"), Some("Unschedulable"));
    cluster.node("n9", 2);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "other"]);
}

/// 01, 1.5: a placeholder lost with its node is one seat; its own charge must not count against it.
#[test]
fn a_lost_node_costs_one_seat_where_the_quota_is_as_large_as_the_gang() {
    let mut cluster = held(Cluster::default().nodes(4, 1).queue("root.q", 3), 3);
    let node = node_of(&cluster, "ph-g-1-1-0");
    cluster.lose_node(&node);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 3, "{:#?}", cluster.log);
    let released: Vec<_> = cluster.log.iter().filter(|line| line.starts_with("release")).collect();
    assert_eq!(released, ["release ph-g-1-1-0 stopped"]);
}

/// The API server refuses to delete a placeholder: tried again at a bounded pace until it is gone.
#[test]
fn a_refused_release_is_tried_again() {
    let mut cluster = held(Cluster::default().nodes(2, 4).queue("root.q", 9), 3);
    cluster.member("g-0", "g");
    cluster.step();
    let ask = cluster.pods["ph-g-1-0-0"].0;
    let releases = |cluster: &Cluster| cluster.log.iter().filter(|line| line.contains("ph-g-1-0-0")).count();
    for _minute in 0..10 {
        cluster.decisions.retain(|decision| !format!("{decision:?}").starts_with("Release"));
        cluster.tell(Event::ReleaseRefused(ask, refusal(400)));
        cluster.settle();
        for _second in 0..60 {
            cluster.wait(1_000);
        }
    }
    assert!((5..=20).contains(&releases(&cluster)), "{:#?}", cluster.log);
    assert!(cluster.bound().contains(&"g-0".into()));
    cluster.wait(600_000).settle();
    assert!(!cluster.pods.contains_key("ph-g-1-0-0"), "{:#?}", cluster.log);
}

/// As above where the placeholder's node went: its seat is open, though the pod is there, and planned again.
#[test]
fn a_refused_release_opens_the_seat() {
    let mut cluster = held(Cluster::default().nodes(4, 1).queue("root.q", 9), 3);
    let node = node_of(&cluster, "ph-g-1-1-0");
    cluster.lose_node(&node);
    cluster.step();
    let ask = cluster.pods["ph-g-1-1-0"].0;
    assert_eq!(cluster.report("g").seats.leaving, 1);
    cluster.decisions.retain(|decision| !format!("{decision:?}").starts_with("Release"));
    cluster.tell(Event::ReleaseRefused(ask, refusal(400)));
    cluster.settle();
    assert_eq!((cluster.report("g").seats.leaving, cluster.report("g").seats.held), (0, 3), "{:#?}", cluster.log);
    assert_eq!(cluster.placeholders(), 4);
}

/// As above where the placeholder had been given up with its task group.
#[test]
fn a_refused_release_of_a_stray_is_tried_again() {
    let mut cluster = held(Cluster::default().nodes(2, 4).queue("root.q", 9), 1);
    cluster.lose_group("g");
    cluster.step();
    let ask = cluster.pods["ph-g-1-0-0"].0;
    cluster.decisions.clear();
    cluster.tell(Event::ReleaseRefused(ask, refusal(400)));
    cluster.settle();
    assert_eq!(cluster.placeholders(), 1);
    cluster.wait(600_000).settle();
    assert_eq!(cluster.placeholders(), 0);
}

/// 02, 2.6: "Ties are broken by content …, never by index or order of arrival".
#[test]
fn content_decides_who_gets_the_open_seat() {
    for order in [["g-5", "g-9"], ["g-9", "g-5"]] {
        let mut cluster = Cluster::default().nodes(2, 1);
        let spec = cluster.direct("g", 2);
        cluster.apply("g", spec);
        cluster.members("g", 2);
        cluster.step().carry("bind g-0");
        cluster.delete("g-1");
        cluster.decisions.clear();
        cluster.step();
        let free = if node_of(&cluster, "g-0") == "n0" { "n1" } else { "n0" };
        let mut foreign = cluster.pod("f", Role::Foreign);
        foreign.place = Place::On { node: free.into(), running: true };
        cluster.show(foreign);
        cluster.step();
        order.iter().for_each(|name| cluster.member(name, "g"));
        cluster.single("a-rival");
        cluster.step();
        cluster.delete("f");
        cluster.settle();
        assert_eq!(cluster.bound(), ["g-0", "g-5"], "{order:?}");
    }
}

/// 01, 1.5: a Binding that cannot happen because its node is gone is no refusal: planned again at once.
#[test]
fn a_binding_for_a_node_that_is_gone_is_planned_again_at_once() {
    let mut cluster = Cluster::default().nodes(3, 1);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.step().carry("bind g-0");
    let line = cluster.waiting().into_iter().find(|line| line.starts_with("bind g-1")).expect("it is decided");
    cluster.lose_node(line.split(' ').nth(2).expect("a node"));
    cluster.step();
    cluster.decisions.clear();
    let ask = cluster.pods["g-1"].0;
    cluster.tell(Event::Bind(ask, BindOutcome::Failed(refusal(422))));
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1"], "{:#?}", cluster.log);
}

/// As above for a placeholder: the gang is not thrown back by a refusal that is none.
#[test]
fn a_placeholders_binding_for_a_node_that_is_gone_costs_one_seat() {
    let mut cluster = Cluster::default().nodes(3, 1).queue("root.q", 2);
    let spec = cluster.all("g", 2);
    cluster.submit("g", "root.q", spec);
    cluster.step().carry("create").carry("bind ph-g-1-0-0");
    let line = cluster.waiting().into_iter().find(|line| line.starts_with("bind ph-g-1-1-0")).expect("it is decided");
    cluster.lose_node(line.split(' ').nth(2).expect("a node"));
    cluster.decisions.clear();
    let ask = cluster.pods["ph-g-1-1-0"].0;
    cluster.tell(Event::Bind(ask, BindOutcome::Failed(refusal(422))));
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 2, "{:#?}", cluster.log);
    assert!(!cluster.log.iter().any(|line| line.contains("release ph-g-1-0-0")), "{:#?}", cluster.log);
}

/// 01, 1.2: a seat is had by a pod of the gang's namespace, whatever one of another says of itself.
#[test]
fn a_placeholder_of_another_namespace_is_none_of_the_gang() {
    let mut cluster = Cluster::default().nodes(1, 8);
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    cluster.settle();
    let role = cluster.pods["ph-g-1-0-0"].1.role.clone();
    let stranger = AskSpec { key: Key::new("other", "stranger"), ..cluster.pod("stranger", role) };
    cluster.show(stranger);
    // It is released, as a stray; until it is gone it does not count here.
    cluster.step();
    assert_eq!(cluster.report("g").members.placeholders, 2);
}

/// 01, 1.2.5: who waits for nodes behind others, whose asks leave too little quota for it, is told so.
#[test]
fn what_gangs_before_it_ask_for_is_named() {
    let mut cluster = Cluster::default().nodes(1, 1).queue("root.q", 4);
    for (name, min) in [("a", 2), ("b", 2), ("c", 2)] {
        let spec = cluster.direct(name, min);
        cluster.submit(name, "root.q", spec);
        cluster.members(name, min);
    }
    cluster.settle();
    let text = "1 of 2 members of c finds a node; for the next one 0/1 nodes are available: 1 Insufficient cpu; nearest is \
                n0, 1 cpu short. No placeholders are made before all find one, since the gang asks for 2 cpu, but queue \
                root.q has 4 of 4 left, of which gangs before it (2) have the first 4";
    assert_eq!((cluster.report("b").reason, cluster.report("c").message), ("WaitingForCapacity", text.into()));
    assert_eq!(cluster.why("c-0"), Some("WaitingBehind"));
}

/// 02, 2.2: what waits says why: here for a placeholder that a finalizer holds after the end.
#[test]
fn a_new_life_waits_visibly_for_placeholders_of_the_old_one() {
    let mut cluster = held(Cluster::default().nodes(2, 4).queue("root.q", 2), 2);
    cluster.member("g-0", "g");
    cluster.settle();
    cluster.finish("g-0", true);
    cluster.settle();
    cluster.delete("g-0");
    cluster.settle();
    cluster.wait(31_000);
    assert_eq!(cluster.state("g"), AppState::Completed);
    cluster.decisions.clear();
    cluster.change("ph-g-1-1-0", |spec| spec.terminating = true);
    cluster.member("g-1", "g");
    cluster.settle();
    assert_eq!((cluster.why("g-1"), cluster.report("g").reason), (Some("PlaceholdersLeaving"), "PlaceholdersLeaving"));
    assert_eq!(cluster.report("g").message, "waiting until placeholders that were given up are gone: 1");
    cluster.delete("ph-g-1-1-0");
    cluster.member("g-2", "g");
    cluster.settle();
    assert!(cluster.bound().contains(&"g-1".into()), "{:#?}", cluster.log);
}

/// As above before the start.
#[test]
fn a_seat_that_leaves_slowly_is_named() {
    let mut cluster = held(Cluster::default().nodes(2, 4).queue("root.q", 2), 2);
    cluster.change("ph-g-1-1-0", |spec| spec.terminating = true);
    cluster.members("g", 2);
    cluster.settle();
    assert_eq!((cluster.why("g-0"), cluster.report("g").reason), (Some("PlaceholdersLeaving"), "PlaceholdersLeaving"));
    cluster.delete("ph-g-1-1-0");
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1"]);
}

/// 01, 1.11: a start and what was seen are one path: the next process waits for it as well, and makes no other placeholder,
/// which would find no room and be called Unschedulable.
#[test]
fn a_seat_that_leaves_slowly_does_so_for_the_next_process() {
    let mut cluster = held(Cluster::default().nodes(2, 1).queue("root.q", 4), 2);
    cluster.change("ph-g-1-1-0", |spec| spec.terminating = true);
    cluster.settle();
    cluster.restart().settle();
    assert_eq!((cluster.report("g").reason, cluster.report("g").seats.held), ("PlaceholdersLeaving", 1));
    assert!(!cluster.pods.contains_key("ph-g-1-1-1"), "{:#?}", cluster.log);
    cluster.delete("ph-g-1-1-0");
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.report("g").seats.held), ("WaitingForMembers", 2));
}

/// 02, 2.2: a seat whose placeholder was lost after the start lost no member; its room is kept for the one that is to come.
#[test]
fn a_lost_placeholder_is_no_lost_member() {
    let mut cluster = held(Cluster::default().nodes(2, 4).queue("root.q", 2), 2);
    cluster.member("g-0", "g");
    cluster.settle();
    cluster.delete("ph-g-1-1-0");
    cluster.settle();
    let text = "1 of 2 seats has no member; the room of 1 lost pod is kept until ";
    assert_eq!((cluster.report("g").reason, &cluster.report("g").message[..text.len()]), ("SeatsKept", text));
    let meaning = Code::PartiallyLost.meaning();
    assert!(!meaning.contains("lost members"), "{meaning}");
    cluster.member("g-1", "g");
    cluster.settle();
    cluster.delete("g-1");
    cluster.settle();
    let text = "1 of 2 seats has no member and nothing holds it; members that come are ordinary pods";
    assert_eq!(cluster.report("g").message, text);
}

/// 01, 1.2.5: "Order of a pass: priority …": a gang of placeholders alone has theirs.
#[test]
fn placeholders_have_their_priority() {
    let mut cluster = Cluster::default().queue("root.q", 2);
    let spec = cluster.all("g", 1);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    cluster.change("ph-g-1-0-0", |spec| spec.priority = 1_000);
    cluster.single("s");
    cluster.change("s", |spec| spec.priority = 1);
    cluster.settle();
    cluster.node("n0", 1);
    cluster.settle();
    assert_eq!(cluster.bound(), ["ph-g-1-0-0"]);
}

/// 01, 1.1: a TaskGroup that moves to another application gives back what its members were to have there.
#[test]
fn a_group_that_moves_away_takes_no_node_along() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.group("g", 2);
    cluster.apply("g", spec);
    cluster.member("g-0", "g");
    cluster.step();
    cluster.wait(1_000).carry("create").step();
    let moved = GroupSpec { generation: 2, application: "h".into(), ..cluster.groups["g"].clone() };
    cluster.apply("g", moved);
    cluster.settle();
    cluster.wait(6_000).settle();
    cluster.member("g-1", "g");
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-0", "g-1"], "{:#?}", cluster.log);
}

/// 02, 2.6: a placeholder that had ended before a restart and is not gone yet keeps its name: the next one has another.
#[test]
fn a_finished_placeholder_found_at_the_start_keeps_its_name() {
    let mut cluster = held(Cluster::default().nodes(2, 4).queue("root.q", 2), 1);
    cluster.finish("ph-g-1-0-0", false);
    cluster.restart().step();
    assert_eq!(cluster.waiting(), ["release ph-g-1-0-0 stopped", "create g/0"]);
    cluster.carry("create");
    assert!(cluster.pods.contains_key("ph-g-1-0-1"), "{:?}", cluster.pods.keys());
}

/// 01, 1.5: a member that runs under the UID of another TaskGroup of its name never counts for this one: nor when the answer
/// to its Binding is there, its mark not seen yet, and something else of the pod is seen first.
#[test]
fn a_member_whose_mark_is_not_seen_yet_counts_for_no_later_task_group() {
    let unsupported = Unsupported { field: "spec.volumes".into() };
    let seen_first = [
        Place::Pending,
        Place::Refused(Box::new(Objection::Unsupported(unsupported))),
        Place::Failed { reason: "".into(), refused: false },
    ];
    for place in seen_first {
        let mut cluster = Cluster::default().nodes(1, 4);
        let spec = cluster.direct("g", 1);
        cluster.apply("g", spec.clone());
        cluster.member("g-0", "g");
        cluster.step();
        let decided = std::mem::take(&mut cluster.decisions);
        let allocation = decided.into_iter().find(|decision| matches!(decision, Decision::Allocate { .. }));
        let Some(Decision::Allocate { ask, mark, .. }) = allocation else { panic!("it is bound") };
        cluster.tell(Event::Bind(ask, BindOutcome::Bound));
        cluster.lose_group("g");
        cluster.step();
        cluster.apply("g", GroupSpec { uid: Uid::new("later"), ..spec });
        let has_ended = matches!(place, Place::Failed { .. });
        cluster.change("g-0", |spec| (spec.priority, spec.place) = (1, place.clone()));
        cluster.step();
        let counted = |cluster: &Cluster| {
            let report = cluster.report("g");
            (report.state, report.members.scheduled, report.ended.failed, report.seats.taken)
        };
        assert_eq!(counted(&cluster), (AppState::Accepted, 0, 0, 0), "{place:?}");
        let on = Place::On { node: "n0".into(), running: true };
        cluster
            .change("g-0", |spec| (spec.place, spec.mark) = (if has_ended { place.clone() } else { on }, Some(mark)));
        cluster.step();
        assert_eq!(counted(&cluster), (AppState::Accepted, 0, 0, 0), "{place:?}");
        cluster.member("g-1", "g");
        cluster.settle();
        assert_eq!(counted(&cluster), (AppState::Running, 1, 0, 1), "{place:?}");
    }
}
