//! A start of which nothing is bound yet is called off when it comes to nothing (01, 1.3, 1.9; docs/adr/0025).

use gangline::core::base::ids::AskId;
use gangline::core::decision::Decision;
use gangline::core::event::{Event, GroupSpec, Place, Role};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::Refusal;
use gangline::core::shape::NodeSpec;

use crate::support::cluster::{Cluster, timeouts};

/// A gang of two whose seats are held on two nodes of one core; `members` of it have come, and their swaps have begun.
fn swapping(members: u32) -> Cluster {
    let mut cluster = Cluster::default().nodes(2, 1);
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    cluster.settle();
    cluster.members("g", members);
    cluster.step();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.releasing), (AppState::Running, members));
    cluster.taken();
    cluster
}

/// The members of `g` that are bound.
fn members(cluster: &Cluster) -> Vec<String> {
    cluster.bound().into_iter().filter(|name| name.starts_with("g-")).collect()
}

/// How a seat is lost: the node of it, and its placeholder.
type Lost = fn(&mut Cluster, &str, &str);

const LOSSES: [Lost; 5] = [
    |cluster, node, _| cluster.lose_node(node),
    |cluster, node, _| cluster.show_node(node, NodeSpec { unschedulable: true, ..cluster.nodes[node].clone() }),
    |cluster, node, placeholder| {
        cluster.delete(placeholder);
        cluster.lose_node(node);
    },
    |cluster, _, placeholder| {
        let node = cluster.node_of(placeholder).expect("it is bound");
        cluster.delete(placeholder);
        foreign(cluster, &node);
    },
    |cluster, node, _| {
        // More than there is: whoever is there already stays charged.
        foreign(cluster, node);
        foreign(cluster, node);
    },
];

/// Somebody else's pod takes the room of a node.
fn foreign(cluster: &mut Cluster, node: &str) {
    let count = cluster.pods.len();
    let mut foreign = cluster.sized(&format!("foreign-{count}"), Role::Foreign, 1);
    foreign.place = Place::On { node: node.into(), running: true };
    cluster.show(foreign);
}

/// 01, 1.9: "Running (first real allocation)"; 1.3: "if before the start a seat is lost …, the missing seats are planned
/// again at once; if that fails, every seat returns to Open": whichever swaps, however a seat is lost, and whether that is
/// seen before the placeholder of another one is gone, or together with it.
#[test]
fn no_member_is_bound_alone_where_a_seat_was_lost_before_the_first_was_bound() {
    for (number, lose) in LOSSES.iter().enumerate() {
        for (come, together) in [(1, false), (1, true), (2, false), (2, true)] {
            let mut cluster = swapping(come);
            let (first, last) = ("ph-g-1-0-0", "ph-g-1-1-0");
            let node = cluster.node_of(last).expect("it is bound");
            lose(&mut cluster, &node, last);
            if !together {
                cluster.step();
            }
            cluster.delete(first);
            cluster.settle();
            let said = (cluster.state("g"), members(&cluster), cluster.report("g").seats.held);
            assert_eq!(
                said,
                (AppState::Accepted, vec![], 0),
                "loss {number} of {come}, {together}: {:#?}",
                cluster.log
            );
            cluster.node("n8", 1);
            cluster.node("n9", 1);
            cluster.wait(60_000).settle();
            assert_eq!(members(&cluster).len(), come as usize, "loss {number} of {come}: {:#?}", cluster.log);
            assert_eq!(cluster.report("g").seats.held, 2 - come);
        }
    }
}

/// 01, 1.3: "the missing seats are planned again at once": with room elsewhere the start goes on there.
#[test]
fn a_start_that_was_called_off_goes_on_where_there_is_room() {
    for lose in &LOSSES {
        let mut cluster = swapping(1);
        cluster.node("n9", 2);
        let node = cluster.node_of("ph-g-1-1-0").expect("it is bound");
        lose(&mut cluster, &node, "ph-g-1-1-0");
        cluster.settle();
        let said = (cluster.state("g"), members(&cluster), cluster.report("g").seats.held);
        assert_eq!(said, (AppState::Running, vec!["g-0".to_owned()], 1), "{:#?}", cluster.log);
    }
}

/// 01, 1.5: "a bind cannot be undone, so a gang that lost members after its start says PartiallyLost": once the first is
/// being bound.
#[test]
fn a_start_of_which_one_is_being_bound_goes_on() {
    let mut cluster = swapping(2);
    cluster.carry("release ph-g-1-0-0");
    assert_eq!(cluster.logged("bind g-0"), 1);
    let node = cluster.node_of("ph-g-1-1-0").expect("it is bound");
    cluster.lose_node(&node);
    cluster.settle();
    assert_eq!((cluster.state("g"), members(&cluster).len()), (AppState::Running, 1));
    assert_eq!(cluster.report("g").reason, "PartiallyLost");
}

/// 01, 1.3: a gang whose only member goes before it is bound has not started: its seats are held for those to come.
#[test]
fn a_start_for_a_member_that_goes_is_called_off() {
    let mut cluster = swapping(1);
    cluster.delete("g-0");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Accepted, 2), "{:#?}", cluster.log);
    cluster.member("g-1", "g");
    cluster.settle();
    assert_eq!((cluster.state("g"), members(&cluster)), (AppState::Running, vec!["g-1".to_owned()]));
}

/// 01, 1.11: the state is a function of what the API server holds: a new process has the same to say of such a gang.
#[test]
fn a_new_process_goes_on_with_a_start_that_was_called_off() {
    for lose in &LOSSES {
        let mut cluster = swapping(2);
        let node = cluster.node_of("ph-g-1-1-0").expect("it is bound");
        lose(&mut cluster, &node, "ph-g-1-1-0");
        cluster.restart().settle();
        assert_eq!((cluster.state("g"), members(&cluster)), (AppState::Accepted, vec![]), "{:#?}", cluster.log);
        cluster.node("n8", 2);
        cluster.wait(60_000).settle();
        assert_eq!(members(&cluster), ["g-0", "g-1"], "{:#?}", cluster.log);
    }
}

/// 01, 1.7: the placeholder timeout runs on where a start is called off while seats are held, and ends it as before a start.
#[test]
fn the_placeholder_timeout_of_a_start_that_was_called_off_is_that_before_the_start() {
    let mut cluster = Cluster::default().nodes(2, 1);
    let spec = cluster.all("g", 2);
    cluster.apply("g", GroupSpec { timeouts: timeouts(Deadline::Placeholder, 60), ..spec });
    cluster.settle();
    cluster.wait(30_000);
    cluster.member("g-0", "g");
    cluster.step();
    cluster.taken();
    cluster.delete("g-0");
    cluster.settle();
    assert_eq!(cluster.state("g"), AppState::Accepted);
    cluster.wait(31_000).settle();
    assert_ne!(cluster.state("g"), AppState::Accepted, "{:#?}", cluster.log);
    assert_eq!(cluster.placeholders(), 0);
}

/// 01, 1.8: "when no started pod of the application lives … and a new member comes", all come anew: also where those that were
/// to start are gone before any of them was seen bound, whatever comes first.
#[test]
fn who_comes_in_place_of_all_that_were_to_be_bound_starts_as_a_whole() {
    for (reverse, room) in [(false, 2), (true, 2), (false, 1), (true, 1)] {
        let mut cluster = Cluster::default().nodes(1, 2);
        let spec = cluster.direct("g", 2);
        cluster.apply("g", spec);
        cluster.members("g", 2);
        cluster.step();
        assert_eq!(cluster.taken(), ["bind g-0 n0 started", "bind g-1 n0 started"]);
        cluster.decisions.clear();
        let come = |cluster: &mut Cluster| ["g-2", "g-3"].into_iter().for_each(|name| cluster.member(name, "g"));
        if reverse {
            come(&mut cluster);
        }
        cluster.delete("g-0");
        cluster.delete("g-1");
        if !reverse {
            come(&mut cluster);
        }
        if room == 1 {
            foreign(&mut cluster, "n0");
        }
        cluster.settle();
        let expected: &[&str] = if room == 2 { &["g-2", "g-3"] } else { &[] };
        assert_eq!(members(&cluster), expected, "{:#?}", cluster.log);
    }
}

/// 01, 1.5: "None pends a member for ever": where no placeholder can be deleted the member goes elsewhere, and no other
/// placeholder is made.
#[test]
fn a_start_whose_placeholder_cannot_be_deleted_is_not_called_off() {
    let mut cluster = Cluster::default().nodes(1, 3);
    let spec = cluster.all("g", 1);
    cluster.apply("g", spec);
    cluster.settle();
    cluster.member("g-0", "g");
    for _round in 0..4 {
        cluster.step();
        let asks: Vec<_> = cluster.decisions.iter().filter_map(released).collect();
        cluster.decisions.retain(|decision| released(decision).is_none());
        for ask in asks {
            cluster.tell(Event::ReleaseRefused(ask, Refusal { code: 422, message: "no".into() }));
        }
        for decision in std::mem::take(&mut cluster.decisions) {
            cluster.carry_out(decision);
        }
    }
    assert_eq!((members(&cluster), cluster.placeholders()), (vec!["g-0".to_owned()], 1), "{:#?}", cluster.log);
}

fn released(decision: &Decision) -> Option<AskId> {
    if let Decision::Release(ask, _) = decision { Some(*ask) } else { None }
}

/// docs/adr/0015: a seat that is lost again and again is given less and less, also while its gang counts as started.
#[test]
fn losses_while_a_start_can_be_called_off_are_counted() {
    let mut cluster = swapping(1);
    // A finalizer keeps the placeholder that is being deleted.
    cluster.decisions.clear();
    cluster.delete("ph-g-1-1-0");
    cluster.settle();
    cluster.delete("ph-g-1-1-1");
    cluster.wait(1).settle();
    let created = cluster.logged("create g/1");
    cluster.wait(200).settle();
    assert_eq!((cluster.report("g").reason, cluster.logged("create g/1")), ("PlaceholdersLost", created));
}

/// 01, 1.2.4: an edit before the start is judged: one that came while the start could be called off is, when it is.
#[test]
fn an_edit_that_waited_counts_when_the_start_is_called_off() {
    let mut cluster = swapping(1);
    let spec = GroupSpec { min_member: 1, generation: 2, ..cluster.groups["g"].clone() };
    cluster.apply("g", spec);
    cluster.step();
    let node = cluster.node_of("ph-g-1-1-0").expect("it is bound");
    cluster.lose_node(&node);
    cluster.settle();
    assert_eq!((cluster.report("g").required, members(&cluster)), (1, vec!["g-0".to_owned()]), "{:#?}", cluster.log);
}

/// ADR 38: and one that the API server does not have yet is waited for.
#[test]
fn when_the_start_is_called_off_an_edit_that_is_under_way_is_waited_for() {
    let mut cluster = swapping(1);
    let spec = GroupSpec { awaits_edit: true, ..cluster.groups["g"].clone() };
    cluster.apply("g", spec.clone());
    cluster.step();
    let node = cluster.node_of("ph-g-1-1-0").expect("it is bound");
    cluster.lose_node(&node);
    cluster.settle();
    assert_eq!(
        (cluster.report("g").reason, members(&cluster).len()),
        ("WaitingForTaskGroups", 0),
        "{:#?}",
        cluster.log
    );
    cluster.apply("g", GroupSpec { awaits_edit: false, min_member: 1, generation: 2, ..spec });
    cluster.settle();
    assert_eq!((cluster.report("g").required, members(&cluster)), (1, vec!["g-0".to_owned()]), "{:#?}", cluster.log);
}

/// 01, 1.8: one that has done its work before it was seen with its node has run: its gang completes.
#[test]
fn a_member_that_ends_before_it_is_seen_with_its_node_has_run() {
    for seen in [true, false] {
        let mut cluster = Cluster::default().nodes(1, 2);
        let spec = cluster.direct("g", 1);
        cluster.apply("g", spec);
        cluster.member("g-0", "g");
        cluster.step();
        cluster.decisions.clear();
        cluster.finish("g-0", true);
        cluster.settle();
        if !seen {
            cluster.delete("g-0");
            cluster.settle();
        }
        assert_eq!(cluster.state("g"), AppState::Waiting, "{:#?}", cluster.log);
    }
}
