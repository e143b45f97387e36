//! What may happen to a seat before its member has it: nodes change, sizes differ, deletions fail (01, 1.3 to 1.5).

use gangline::core::event::Place;
use gangline::core::lifecycle::AppState;

use crate::support::cluster::Cluster;

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

fn cordon(cluster: &mut Cluster, node: &str, unschedulable: bool) {
    let mut spec = cluster.nodes[node].clone();
    spec.unschedulable = unschedulable;
    cluster.show_node(node, spec);
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
