//! Reserving: Direct, placeholders for missing members or all, no hold and wait (01, 1.3).

use gangline::core::decision::Decision;
use gangline::core::event::{AskSpec, BindOutcome, Event, GroupSpec, Place, PlaceholderName, Role};
use gangline::core::model::lifecycle::AppState;
use gangline::core::reason::{Objection, Refusal, Unsupported};

use crate::support::cluster::{Cluster, listed, size};

fn refusal(code: u16) -> Refusal {
    Refusal { code, message: "no".into() }
}

/// The first placeholder that waits to be made.
fn wanted(cluster: &Cluster) -> PlaceholderName {
    let wanted = cluster
        .decisions
        .iter()
        .find_map(|decision| if let Decision::CreatePlaceholder(name) = decision { Some(name.clone()) } else { None });
    wanted.unwrap_or_else(|| panic!("a placeholder is wanted: {:?}", cluster.waiting()))
}

/// 01, 1.3 Direct: "Candidates by priority, creation, name; one that fits nowhere is skipped for another".
#[test]
fn direct_skips_a_candidate_that_fits_nowhere() {
    let mut cluster = Cluster::default().nodes(3, 2);
    let spec = cluster.direct("g", 3);
    cluster.apply("g", spec);
    cluster.large_member("g-0", "g", 3);
    (1..5).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.change("g-4", |spec| spec.priority = 9);
    cluster.settle();
    let started: Vec<_> = cluster.log.iter().take(3).map(|line| line.split(' ').nth(1).unwrap_or("")).collect();
    assert_eq!(started, ["g-4", "g-1", "g-2"]);
    assert_eq!(cluster.bound(), ["g-1", "g-2", "g-3", "g-4"]);
    assert_eq!(cluster.why("g-0"), Some("Unschedulable"));
}

/// As above with more shapes that fit nowhere than one plan looks at.
#[test]
fn direct_skips_many_candidates() {
    let mut cluster = Cluster::default().nodes(3, 2);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    (0..60).for_each(|number| cluster.large_member(&format!("g-{number:02}"), "g", 3 + number));
    (60..62).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-60", "g-61"]);
}

/// As above, while there is no room for the others yet: they are tried when there is, whatever the large one waits for.
#[test]
fn direct_goes_on_looking_while_a_candidate_fits_nowhere() {
    let mut cluster = Cluster::default().nodes(1, 2);
    cluster.single("in-the-way");
    cluster.settle();
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.large_member("g-0", "g", 3);
    (1..3).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.report("g").reason), (vec!["in-the-way".into()], "WaitingForCapacity"));
    cluster.finish("in-the-way", true);
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-1", "g-2"]);
}

/// 01, 1.3 Placeholder: "when they exist, the plan places and binds all or none": until then it is said how many do, of all
/// task groups of the gang.
#[test]
fn placeholders_that_are_still_to_come_are_counted() {
    let mut cluster = Cluster::default().nodes(1, 9);
    for name in ["a", "b"] {
        let gang = listed(["a", "b"]);
        let spec = GroupSpec { application: "app".into(), gang, ..cluster.all(name, 2) };
        cluster.apply(name, spec);
    }
    for (create, exist) in ["create a/0", "create a/1", "create b/0"].into_iter().zip(1..) {
        cluster.step().carry(create);
        let shown = cluster.report("b");
        assert_eq!((shown.reason, shown.message), ("CreatingPlaceholders", format!("{exist} of 4 placeholders exist")));
        assert_eq!(cluster.logged("bind"), 0);
    }
    cluster.settle();
    assert_eq!((cluster.report("b").seats.held, cluster.report("a").seats.held), (2, 2));
}

/// 01, 1.3 Autoscaler: "exactly those and no others": the surplus of a gang that fits no nodes is not Unschedulable.
#[test]
fn surplus_members_of_a_waiting_gang_are_not_unschedulable() {
    let mut cluster = Cluster::default().nodes(1, 1);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 3);
    cluster.settle();
    let why = |cluster: &Cluster| ["g-0", "g-1", "g-2"].map(|name| cluster.why(name).unwrap_or("-"));
    assert_eq!(why(&cluster), ["Unschedulable", "Unschedulable", "WaitingForCapacity"]);
    cluster.change("g-2", |spec| spec.priority = 5);
    cluster.settle();
    assert_eq!(why(&cluster), ["Unschedulable", "WaitingForCapacity", "Unschedulable"]);
}

/// 01, 1.3: "A constraint we do not support …: another reason, never Unschedulable"; such a pod is no candidate.
#[test]
fn an_unsupported_pod_is_no_member() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.change("g-1", |spec| {
        spec.place = Place::Refused(Box::new(Objection::Unsupported(Unsupported { field: "spec.x".into() })))
    });
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.why("g-1")), ("MembersRefused", Some("UnsupportedConstraint")));
}

/// Seed 000: "all": a placeholder for every member, placed all or none; pending ones alone are Unschedulable.
#[test]
fn all_holds_nothing_when_nodes_do_not_suffice() {
    let mut cluster = Cluster::default().nodes(1, 2);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.placeholders()), (0, 3));
    assert_eq!((cluster.why("ph-g-1-0-0"), cluster.why("g-0")), (Some("Unschedulable"), Some("WaitingForCapacity")));
}

/// 01, 1.3 missing: "wait until no new member came for 1 s (5 s at most)".
#[test]
fn missing_settles_for_one_second_and_five_at_most() {
    let mut cluster = Cluster::default().nodes(9, 4);
    let spec = cluster.group("g", 20);
    cluster.apply("g", spec);
    cluster.settle();
    cluster.member("g-first", "g");
    cluster.settle();
    for number in 0..6 {
        cluster.wait(900).settle();
        let created = cluster.log.iter().filter(|line| line.starts_with("create")).count();
        assert_eq!(created, if number < 5 { 0 } else { 14 }, "after {number}: {:#?}", cluster.log);
        cluster.member(&format!("g-{number}"), "g");
        cluster.settle();
    }
    let mut cluster = Cluster::default().nodes(9, 4);
    let spec = cluster.group("g", 3);
    cluster.apply("g", spec);
    cluster.member("g-0", "g");
    cluster.settle().wait(999).settle();
    assert_eq!(cluster.log.len(), 0);
    cluster.wait(1).settle();
    assert_eq!(cluster.placeholders(), 2);
}

/// 01, 1.3 missing: "reserves nothing before a first pod of the application exists": a member or an originator, and not
/// one that has gates; and gives back what it holds when the last of them goes. With `all` it reserves at once.
#[test]
fn nothing_is_reserved_for_a_job_that_was_not_submitted() {
    for (name, role) in
        [("g-0", Role::Member { group: "g".into() }), ("d", Role::Originator { application: "g".into() })]
    {
        let mut cluster = Cluster::default().nodes(9, 4);
        let spec = cluster.group("g", 3);
        cluster.apply("g", spec);
        let gated = AskSpec { place: Place::Gated, ..cluster.pod(name, role) };
        cluster.show(gated);
        cluster.settle().wait(60_000).settle();
        assert_eq!((cluster.report("g").reason, cluster.log.len()), ("WaitingForFirstPod", 0));
        cluster.change(name, |spec| spec.place = Place::Pending);
        cluster.settle().wait(1_000).carry("create");
        assert!(cluster.placeholders() > 1);
        cluster.delete(name);
        cluster.settle();
        let left = (cluster.report("g").reason, cluster.placeholders(), cluster.state("g"));
        assert_eq!(left, ("WaitingForFirstPod", 0, AppState::Accepted), "{:#?}", cluster.log);
    }
    let mut cluster = Cluster::default().nodes(9, 4);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 3);
}

/// 01, 1.3: "Members that nothing can place … hold nothing: where the others, together with those still to come …, cannot
/// make minMember, the gang gives its seats back … until that member is gone or changed." So for an originator.
#[test]
fn members_that_nothing_can_place_hold_nothing() {
    let refused = || Place::Refused(Box::new(Objection::Unsupported(Unsupported { field: "spec.x".into() })));
    for role in [Role::Member { group: "g".into() }, Role::Originator { application: "g".into() }] {
        let mut cluster = Cluster::default().nodes(9, 4);
        let spec = cluster.all("g", 3);
        cluster.apply("g", spec);
        cluster.settle();
        let spec = AskSpec { place: refused(), ..cluster.pod("odd", role) };
        cluster.show(spec);
        cluster.settle();
        let shown = cluster.report("g");
        assert_eq!((shown.reason, shown.seats.open, cluster.placeholders()), ("MembersRefused", 3, 0));
        assert!(shown.message.contains("odd uses spec.x"), "{}", shown.message);
        cluster.change("odd", |spec| spec.place = Place::Pending);
        cluster.settle().wait(1_000).settle();
        assert_eq!((cluster.state("g"), cluster.node_of("odd").is_some()), (AppState::Running, true));
    }
    let mut cluster = Cluster::default().nodes(9, 4);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 3);
    cluster.change("g-0", |spec| spec.place = refused());
    cluster.settle();
    assert_eq!(cluster.bound(), ["g-1", "g-2"], "the others are enough");
}

/// Of a refused pod that is being deleted nobody is told any more: another may have come in its place.
#[test]
fn the_refused_pod_that_is_named_is_there() {
    let mut cluster = Cluster::default().nodes(9, 4);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    for name in ["a", "b"] {
        let (place, role) = (
            Place::Refused(Box::new(Objection::Unsupported(Unsupported { field: "spec.x".into() }))),
            Role::Member { group: "g".into() },
        );
        let spec = AskSpec { place, terminating: name == "a", ..cluster.pod(name, role) };
        cluster.show(spec);
    }
    cluster.settle();
    let shown = cluster.report("g");
    assert_eq!((shown.reason, shown.message.contains("b uses spec.x")), ("MembersRefused", true), "{}", shown.message);
}

/// 01, 1.3 `all`: "An existing member for which a placeholder of this template and size cannot stand in … gets its own seat
/// directly": it is larger, selects nodes, tolerates taints or has ports.
#[test]
fn a_member_that_no_placeholder_can_stand_in_for_gets_its_own_seat() {
    use gangline::core::shape::{Effect, HostPort, Shape, Toleration};
    let like = |change: fn(&mut Shape)| {
        let mut shape = Shape { request: size(1), ..Shape::default() };
        change(&mut shape);
        shape
    };
    let toleration = |key: &str, effect| Toleration { key: Some(key.into()), exists: true, value: "".into(), effect };
    let given = Shape {
        tolerations: vec![toleration("node.kubernetes.io/not-ready", Some(Effect::NoExecute))],
        ..like(|_| {})
    };
    let dedicated = Shape { tolerations: vec![toleration("dedicated", None)], ..like(|_| {}) };
    let port = HostPort { address: "".into(), protocol: "TCP".into(), port: 80 };
    for (shape, own) in [
        (like(|_| {}), false),
        (like(|shape| shape.request = size(0)), false),
        (given, false),
        (like(|shape| shape.request = size(2)), true),
        (like(|shape| shape.selector = [("pool".into(), "a".into())].into()), true),
        (like(|shape| shape.affinity = Some(Vec::new())), true),
        (dedicated, true),
        (Shape { ports: vec![port], ..like(|_| {}) }, true),
    ] {
        let mut cluster = Cluster::default().nodes(2, 4);
        let spec = AskSpec { shape: shape.clone().into(), ..cluster.pod("g-0", Role::Member { group: "g".into() }) };
        cluster.show(spec);
        let spec = cluster.all("g", 3);
        cluster.apply("g", spec);
        cluster.step();
        assert_eq!(cluster.waiting().len(), 3 - usize::from(own), "{shape:?}: {:?}", cluster.waiting());
    }
}

/// 01, 1.3 missing: "a member that arrives before its seat's placeholder is bound takes the seat and the placeholder is
/// deleted", or is not even created.
#[test]
fn a_member_makes_a_placeholder_superfluous() {
    let mut cluster = Cluster::default().nodes(1, 1);
    let spec = cluster.group("g", 3);
    cluster.apply("g", spec);
    cluster.member("f", "g");
    cluster.settle().wait(1_000);
    cluster.carry("create g/0");
    cluster.member("g-0", "g");
    cluster.step();
    assert!(cluster.log.contains(&"cancel g/1".into()), "{:#?}", cluster.log);
    cluster.member("g-1", "g");
    cluster.settle();
    assert!(cluster.log.contains(&"release ph-g-1-0-0 replaced".into()), "{:#?}", cluster.log);
    cluster.node("n1", 2);
    cluster.settle();
    assert_eq!(cluster.bound(), ["f", "g-0", "g-1"]);
}

/// A creation that was called off too late is of use, or goes again.
#[test]
fn a_placeholder_that_was_called_off_too_late() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.group("g", 1);
    cluster.apply("g", spec);
    cluster.settle().wait(1_000);
    let create = cluster.decisions.clone();
    cluster.member("g-0", "g");
    cluster.settle();
    create.into_iter().for_each(|decision| cluster.carry_out(decision));
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.placeholders()), (vec!["g-0".to_owned()], 0), "{:#?}", cluster.log);
}

/// 01, 1.3 No hold and wait: "a placeholder is refused (403, 422) … bound placeholders are released (reason
/// PlaceholderRejected …), with back-off" (S10).
#[test]
fn a_refused_placeholder_gives_everything_back_and_backs_off() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    for (round, code) in (1_u32..).zip([403, 422, 400]) {
        cluster.step().carry("create g/0").carry("create g/1");
        let name = wanted(&cluster);
        cluster.decisions.clear();
        cluster.tell(Event::CreateRefused(name, refusal(code)));
        cluster.settle();
        assert_eq!((cluster.placeholders(), cluster.report("g").reason), (0, "PlaceholderRejected"));
        cluster.wait(999 << (round - 1));
        assert_eq!(cluster.waiting(), [""; 0]);
        cluster.wait(1 << (round - 1));
    }
    cluster.settle();
    assert_eq!(cluster.bound().len(), 3);
}

/// A placeholder's Binding that is refused for good backs off too; one that met a change is planned again at once.
#[test]
fn a_placeholder_that_may_not_be_bound_backs_off() {
    for (code, reason) in [(403, "PlaceholderRejected"), (409, "WaitingForMembers")] {
        let mut cluster = Cluster::default().nodes(2, 4);
        let spec = cluster.all("g", 2);
        cluster.apply("g", spec);
        cluster.step().carry("create");
        let (ask, _) = cluster.pods["ph-g-1-0-0"];
        cluster.decisions.retain(|decision| !matches!(decision, Decision::Allocate { ask: own, .. } if *own == ask));
        cluster.tell(Event::Bind(ask, BindOutcome::Failed(refusal(code))));
        cluster.settle();
        assert_eq!(cluster.report("g").reason, reason, "{:#?}", cluster.log);
        assert_eq!(cluster.bound().len(), if code == 403 { 0 } else { 2 });
    }
}

/// 01, 1.3 Satisfied: "Then, and only then, the real pods are bound": members assumed beside placeholders wait for them;
/// seed 000: "The application cannot request real allocations until all placeholder asks are allocated."
#[test]
fn members_wait_until_every_placeholder_is_bound() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.group("g", 3);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle().wait(1_000).carry("create");
    assert_eq!(cluster.waiting(), ["bind ph-g-1-0-0 n1"]);
    assert_eq!((cluster.state("g"), cluster.report("g").reason), (AppState::Accepted, "BindingPlaceholders"));
    assert_eq!(cluster.report("g").message, "2 of 3 seats are held");
    cluster.settle();
    assert_eq!(cluster.state("g"), AppState::Running);
}

/// A node that is cordoned, shrinks or is filled by others before the start is no place for a member that waits for it.
#[test]
fn a_member_held_back_moves_when_its_node_does_not_fit_any_more() {
    let cordon = |cluster: &mut Cluster| {
        let mut spec = cluster.nodes["n1"].clone();
        spec.unschedulable = true;
        cluster.show_node("n1", spec);
    };
    let fill = |cluster: &mut Cluster| {
        let mut foreign = cluster.sized("f", Role::Foreign, 4);
        foreign.place = Place::On { node: "n1".into(), running: true };
        cluster.show(foreign);
    };
    let acts: [&dyn Fn(&mut Cluster); 3] = [&cordon, &|cluster| cluster.node("n1", 0), &fill];
    for act in acts {
        let mut cluster = Cluster::default().nodes(2, 4);
        let spec = cluster.group("g", 2);
        cluster.apply("g", spec);
        cluster.member("g-0", "g");
        cluster.settle().wait(1_000).carry("create");
        assert_eq!(cluster.waiting(), ["bind ph-g-1-0-0 n1"]);
        act(&mut cluster);
        cluster.settle();
        assert!(cluster.log.contains(&"bind g-0 n0 started".into()), "{:#?}", cluster.log);
    }
}

/// 01, 1.3 (S5): "two gangs never wait for each other's seats": two of 60 % of the nodes: one is placed whole, the other
/// holds nothing.
#[test]
fn two_gangs_never_wait_for_each_others_seats() {
    let mut cluster = Cluster::default().nodes(5, 2);
    for name in ["a", "b"] {
        let spec = cluster.all(name, 6);
        cluster.apply(name, spec);
    }
    cluster.settle();
    assert_eq!((cluster.report("a").seats.held, cluster.report("b").seats.held), (6, 0));
    assert_eq!(cluster.report("b").reason, "WaitingForCapacity");
}

/// 01, 1.3: what is said of a gang that its nodes cannot hold names what the next seat lacks, the others being placed.
#[test]
fn what_the_next_seat_lacks_is_said() {
    let mut cluster = Cluster::default().nodes(2, 2);
    let spec = cluster.direct("g", 5);
    cluster.apply("g", spec);
    cluster.members("g", 5);
    cluster.settle();
    let expected = "4 of 5 members of g find a node; for the next one 0/2 nodes are available: 2 Insufficient cpu; nearest is n1, 1 \
         cpu short";
    assert_eq!(cluster.report("g").message, expected);
    let reason = cluster.scheduler.ask_reason(cluster.pods["g-4"].0).unwrap();
    assert_eq!((reason.code().name(), cluster.scheduler.ask_message(&reason).as_str()), ("Unschedulable", expected));
}

/// 01, 1.11: a placeholder of an earlier attempt, which was thought to be called off, takes the seat; the one that is being
/// made for it is called off, and that of this attempt is not.
#[test]
fn a_placeholder_that_comes_late_calls_the_next_one_off() {
    for (later, called_off) in [(0, 0), (1, 1)] {
        let mut cluster = Cluster::default().nodes(1, 2);
        let spec = cluster.all("g", 1);
        cluster.apply("g", spec);
        cluster.step();
        let mut late = wanted(&cluster);
        late.attempt += later;
        cluster.create(&late);
        cluster.step();
        assert_eq!(cluster.log.iter().filter(|line| *line == "cancel g/0").count(), called_off, "{:#?}", cluster.log);
        let seat = cluster.report("g").seats;
        assert_eq!((seat.open, seat.assumed), (0, 1), "{seat:?}");
    }
}

/// 01, 1.3 "Autoscaler": of a gang that fits no nodes a member with a seat of its own is Unschedulable, and not one that a
/// placeholder stands in for.
#[test]
fn a_member_with_a_seat_of_its_own_that_fits_no_node_is_unschedulable() {
    let mut cluster = Cluster::default().nodes(1, 4);
    cluster.member("g-0", "g");
    cluster.large_member("g-1", "g", 9);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!((cluster.why("g-0"), cluster.why("g-1")), (Some("WaitingForCapacity"), Some("Unschedulable")));
}

/// 02, 2.2: what is said is true, also in the pause after everything was given back because the only pod went.
#[test]
fn in_a_pause_it_is_not_said_that_pods_are_missing_which_are_there() {
    let mut cluster = Cluster::default().nodes(1, 1);
    let spec = cluster.group("g", 3);
    cluster.apply("g", spec);
    cluster.member("g-0", "g");
    cluster.settle().wait(1_000).settle();
    assert_eq!(cluster.report("g").reason, "WaitingForCapacity");
    cluster.delete("g-0");
    cluster.settle();
    assert_eq!(cluster.report("g").reason, "WaitingForFirstPod");
    cluster.member("g-0", "g");
    cluster.step();
    assert_eq!(cluster.report("g").reason, "Pausing");
    cluster.wait(60_000).settle().wait(1_000).settle();
    assert_eq!(cluster.report("g").reason, "WaitingForCapacity");
}

/// 01, 1.3 Direct: "Candidates by priority, creation, name".
#[test]
fn direct_takes_the_urgent_then_the_older_then_the_first_by_name() {
    let mut cluster = Cluster::default().nodes(1, 2);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    for (name, priority, created) in [("a", 0, 9), ("c", 0, 5), ("b", 0, 5), ("d", 1, 9)] {
        let pod = cluster.pod(name, Role::Member { group: "g".into() });
        cluster.show(AskSpec { priority, created, ..pod });
    }
    cluster.settle();
    assert_eq!(cluster.bound(), ["b", "d"], "{:#?}", cluster.log);
}

/// 01, 1.3 `all`: a member for which no placeholder can stand in "gets its own seat directly, as in `missing`".
#[test]
fn a_member_with_a_seat_of_its_own_starts_without_a_swap() {
    use gangline::core::shape::{NodeSpec, Shape};
    let mut cluster = Cluster::default().nodes(1, 4);
    cluster.node("a", 1);
    let labels = [("pool".into(), "a".into())].into();
    cluster.show_node("a", NodeSpec { labels, ..cluster.nodes["a"].clone() });
    let selector = [("pool".into(), "a".into())].into();
    let shape = Shape { request: size(1), selector, ..Shape::default() };
    let member = AskSpec { shape: shape.into(), ..cluster.pod("g-0", Role::Member { group: "g".into() }) };
    cluster.show(member);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    cluster.settle();
    let seats = cluster.report("g").seats;
    assert_eq!((cluster.state("g"), seats.taken, seats.held), (AppState::Running, 1, 2), "{:#?}", cluster.log);
    let found = (cluster.node_of("g-0"), cluster.logged("create"), cluster.logged("release"));
    assert_eq!(found, (Some("a".into()), 2, 0));
}

/// 01, 1.3: "a placeholder is refused (403, 422) …: every seat returns to Open, bound placeholders are released (reason
/// `PlaceholderRejected` …), with back-off".
#[test]
fn a_refused_placeholder_releases_those_that_are_bound() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 3);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 3);
    cluster.delete("ph-g-1-1-0");
    cluster.step();
    let name = wanted(&cluster);
    cluster.decisions.clear();
    cluster.tell(Event::CreateRefused(name, refusal(403)));
    cluster.step();
    assert_eq!(cluster.waiting(), ["release ph-g-1-0-0 stopped", "release ph-g-1-2-0 stopped"]);
    cluster.settle();
    let left = (cluster.placeholders(), cluster.report("g").reason, cluster.cpu("root.q"));
    assert_eq!(left, (0, "PlaceholderRejected", 0));
    cluster.wait(999);
    assert_eq!(cluster.waiting(), [""; 0]);
    cluster.wait(1).settle();
    assert_eq!(cluster.report("g").seats.held, 3);
}
