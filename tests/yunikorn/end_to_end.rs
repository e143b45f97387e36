//! What YuniKorn asserts on a whole cluster (`gang_scheduling`, `recovery_and_restart`, `priority_scheduling`).

use std::collections::BTreeMap;

use gangline::core::base::resources::Limit;
use gangline::core::event::{GroupSpec, HeadOfLine, QueueSpec, Style};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;

use crate::support::cluster::{Cluster, listed, size, timeouts};

/// Task groups of one application by name and `minMember`, each changed before it is applied.
fn apply(cluster: &mut Cluster, groups: &[(&str, u32)], change: impl Fn(&mut GroupSpec)) {
    let gang = listed(groups.iter().map(|(name, _)| *name));
    for (name, min) in groups {
        let mut spec = GroupSpec { application: "job".into(), gang: gang.clone(), ..cluster.all(name, *min) };
        change(&mut spec);
        cluster.apply(name, spec);
    }
}

/// How many pods of each task group are on each node; placeholders are called after theirs.
fn spread(cluster: &Cluster) -> BTreeMap<(String, String), u32> {
    let mut spread = BTreeMap::new();
    for pod in cluster.bound() {
        let group = pod.strip_prefix("ph-").unwrap_or(&pod).split('-').next().expect("a name").to_owned();
        *spread.entry((group, cluster.node_of(&pod).expect("it is bound"))).or_default() += 1;
    }
    spread
}

/// Verify_Annotation_TaskGroup_Def: an originator outside the task group starts with five placeholders; five members replace
/// them all.
#[test]
fn an_originator_and_a_group_of_five() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 6);
    cluster.originator("driver", "g");
    let spec = cluster.all("g", 5);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Running, 5));
    assert!(cluster.node_of("driver").is_some());
    cluster.members("g", 5);
    cluster.settle();
    assert_eq!((cluster.placeholders(), cluster.report("g").replaced, cluster.bound().len()), (0, 5, 6));
}

/// Verify_Multiple_TaskGroups_Nodes: of groups of 3, 5 and 7 the members are where the placeholders were.
#[test]
fn members_are_where_their_placeholders_were() {
    let mut cluster = Cluster::default().nodes(4, 4);
    let groups = [("a", 3), ("b", 5), ("c", 7)];
    apply(&mut cluster, &groups, |_| ());
    cluster.settle();
    assert_eq!(cluster.bound().len(), 15);
    let before = spread(&cluster);
    groups.iter().for_each(|(name, min)| cluster.members(name, *min));
    cluster.settle();
    assert_eq!((cluster.placeholders(), spread(&cluster)), (0, before));
}

/// Verify_TG_with_More_Than_minMembers: three seats, six members: all have nodes, and three placeholders were replaced.
#[test]
fn six_members_of_a_group_of_three() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec);
    cluster.settle();
    cluster.members("g", 6);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.placeholders(), cluster.report("g").replaced), (6, 0, 3));
}

/// Verify_Default_GS_Style and Verify_Hard_GS_Failed_State: of two task groups one fits no node. There the other one holds its
/// placeholders until the timeout; then the pods run one by one, or the application fails. Here nothing is held for it, so
/// there is nothing to time out: the reason says which one is short, and the gang starts when there is a node.
#[test]
fn a_gang_of_which_one_group_fits_no_node_holds_nothing() {
    for style in [Style::Soft, Style::Hard] {
        let mut cluster = Cluster::default().nodes(1, 4);
        apply(&mut cluster, &[("a", 3), ("b", 1)], |spec| {
            (spec.style, spec.timeouts) = (style, timeouts(Deadline::Placeholder, 20));
            if spec.min_member == 1 {
                spec.min_resource = size(6);
                spec.shape =
                    std::sync::Arc::new(gangline::core::shape::Shape { request: size(6), ..Default::default() });
            }
        });
        cluster.members("a", 3);
        cluster.large_member("b-0", "b", 6);
        cluster.settle().wait(20_000).settle();
        assert_eq!((cluster.bound().len(), cluster.report("a").reason), (0, "WaitingForCapacity"), "{style:?}");
        assert!(cluster.report("a").message.contains(" of b"), "{}", cluster.report("a").message);
        cluster.node("n9", 6);
        cluster.settle();
        assert_eq!(
            (cluster.bound(), cluster.placeholders()),
            (vec!["a-0".into(), "a-1".into(), "a-2".into(), "b-0".into()], 0)
        );
    }
}

/// The quota of a gang waits for it, or for who comes after it, as the queue says.
fn three_cores(head_of_line: HeadOfLine) -> Cluster {
    let mut cluster = Cluster::default().nodes(2, 4);
    let max = Limit::new([("cpu".into(), 3_000)]);
    cluster.show_queue("root.q", QueueSpec { max, head_of_line: Some(head_of_line), ..QueueSpec::default() });
    for (number, (name, min)) in (1_i64..).zip([("a", 1), ("b", 3), ("c", 1)]) {
        let spec = GroupSpec { created: number, ..cluster.direct(name, min) };
        cluster.submit(name, "root.q", spec);
        cluster.members(name, min);
        cluster.settle();
    }
    cluster
}

/// Verify_GangApp_FIFO_Order: A of one runs, B of three has no room in the quota, C of one comes last. There B holds two of
/// three and C waits behind it. Here B holds nothing; C waits where the queue lets nobody overtake, and does not where it may.
#[test]
fn a_gang_that_waits_for_quota_is_overtaken_as_its_queue_says() {
    let mut cluster = three_cores(HeadOfLine::MaxOvertakes(0));
    let states = |cluster: &Cluster| ["a", "b", "c"].map(|name| cluster.state(name));
    assert_eq!(states(&cluster), [AppState::Running, AppState::Accepted, AppState::Accepted]);
    assert_eq!(cluster.cpu("root.q"), 1_000, "nothing is held in part");
    cluster.delete("a-0");
    cluster.settle();
    assert_eq!(states(&cluster), [AppState::Waiting, AppState::Running, AppState::Accepted]);
    assert_eq!(cluster.cpu("root.q"), 3_000);

    let cluster = three_cores(HeadOfLine::Unbounded);
    assert_eq!(states(&cluster), [AppState::Running, AppState::Accepted, AppState::Running]);
}

/// Verify_Deleted_Placeholders: all three bound placeholders are deleted. There application, node and queue use nothing then;
/// here the gang still wants its seats, and holds three others, charged once.
#[test]
fn all_bound_placeholders_are_deleted() {
    let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 3);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    (0..3).for_each(|seat| cluster.delete(&format!("ph-g-1-{seat}-0")));
    cluster.settle().wait(60_000).settle();
    assert_eq!((cluster.report("g").seats.held, cluster.cpu("root.q")), (3, 3_000));
    cluster.members("g", 3);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.placeholders()), (3, 0));
}

/// Verify_Completed_Job_Placeholders_Cleanup: the Job goes while half of its placeholders have no node, and its TaskGroup with
/// it: nothing is left, and nothing charged.
#[test]
fn a_job_that_goes_before_its_start_leaves_nothing() {
    for nodes in [0, 1] {
        let mut cluster = Cluster::default().nodes(nodes, 4).queue("root.q", 4);
        let spec = cluster.all("g", 4);
        cluster.submit("g", "root.q", spec);
        cluster.settle();
        assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Accepted, 4));
        cluster.lose_group("g");
        cluster.settle();
        assert_eq!((cluster.placeholders(), cluster.cpu("root.q"), cluster.applications("root.q")), (0, 0, vec![]));
    }
}

/// Verify_GangScheduling_TwoGangs_Restart_YK: gang A holds its seats, B waits; after a restart the same pods are there, in the
/// same places; in time (Soft) the pods of A run alone, and those of B start.
#[test]
fn two_gangs_over_a_restart() {
    let mut cluster = Cluster::default().nodes(1, 3).queue("root.q", 6);
    for (number, name) in (1_i64..).zip(["a", "b"]) {
        let timeouts = timeouts(Deadline::Placeholder, 30);
        let spec = GroupSpec { created: number, timeouts, ..cluster.all(name, 3) };
        cluster.submit(name, "root.q", spec);
        cluster.settle();
    }
    let places = |cluster: &Cluster| {
        let names = cluster.pods.keys().map(|pod| (pod.clone(), cluster.node_of(pod)));
        names.collect::<BTreeMap<_, _>>()
    };
    let before = places(&cluster);
    assert_eq!((cluster.report("a").seats.held, cluster.report("b").seats.held), (3, 0));
    cluster.restart().settle();
    assert_eq!(places(&cluster), before);
    cluster.wait(30_000).settle();
    assert_eq!((cluster.report("a").seats.held, cluster.report("b").seats.held), (0, 3));
    cluster.members("b", 3);
    cluster.settle();
    assert_eq!(cluster.bound(), ["b-0", "b-1", "b-2"]);
}

/// Verify_GangScheduling_PendingPlaceholders_Restart_YK: placeholders have no nodes when the process dies. The next one makes no
/// others, gives them nodes when there are some, and the members run.
#[test]
fn pending_placeholders_over_a_restart() {
    let mut cluster = Cluster::default().nodes(1, 2);
    let spec = cluster.all("g", 4);
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!((cluster.placeholders(), cluster.report("g").seats.pending), (4, 4));
    cluster.taken();
    cluster.restart().settle();
    assert_eq!((cluster.logged("create"), cluster.placeholders()), (0, 4));
    cluster.node("n1", 2);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 4);
    cluster.members("g", 4);
    cluster.settle();
    assert_eq!((cluster.bound().len(), cluster.placeholders(), cluster.report("g").placed), (4, 0, true));
}
