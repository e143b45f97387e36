//! 01, 1.2.4: what an edit of a TaskGroup does, before and after the start (ADR 0009).

use crate::spec_submission::of_pair;
use crate::support::cluster::{Cluster, timeouts};
use gangline::core::base::ids::{GroupId, Key};
use gangline::core::decision::Decision;
use gangline::core::event::{GroupSpec, PlaceholderFor, Reservation};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;
use gangline::core::time::Mono;

fn edited(spec: &GroupSpec, generation: i64, min_member: u32) -> GroupSpec {
    GroupSpec { generation, min_member, ..spec.clone() }
}

/// 01, 1.2.4: "Once accepted, only timeouts can be changed"; ADR 0009: from its start on. What is shown is the spec that
/// is in force; an edit waits for the next life.
#[test]
fn a_started_application_keeps_its_spec() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 8);
    let spec = cluster.direct("g", 3);
    cluster.apply("g", spec.clone());
    cluster.members("g", 3);
    cluster.settle();
    let (queue, application) = (Some("root.q".into()), "other".into());
    cluster.apply(
        "g",
        GroupSpec { queue, application, timeouts: timeouts(Deadline::Completion, 5), ..edited(&spec, 2, 1) },
    );
    cluster.settle();
    assert_eq!((cluster.report("g").required, cluster.report("g").generation), (3, 1));
    assert_eq!((cluster.state("g"), &*cluster.report("g").queue), (AppState::Running, "root.default"));
    cluster.apply("g", GroupSpec { timeouts: timeouts(Deadline::Completion, 5), ..edited(&spec, 3, 1) });
    (0..3).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.settle();
    cluster.wait(5_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").generation), (AppState::Completed, 3));
    cluster.member("g-3", "g");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 2));
}

/// ADR 0009: a new process takes the latest specs for those in force. Where they name several queues by now the application
/// is counted in one of them, and all of its task groups say in which.
#[test]
fn the_queue_that_is_said_is_the_one_that_counts() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 8).queue("root.r", 8);
    for name in ["p0", "p1"] {
        let spec = of_pair(&cluster, name);
        cluster.submit(name, "root.q", spec);
        cluster.member(&format!("{name}-0"), name);
    }
    cluster.settle();
    let said = |cluster: &Cluster| ["p0", "p1"].map(|name| cluster.report(name).queue.to_string());
    let edited = GroupSpec { generation: 2, queue: Some("root.r".into()), ..cluster.groups["p0"].clone() };
    cluster.apply("p0", edited);
    cluster.settle();
    assert_eq!((said(&cluster), cluster.state("p0")), (["root.q"; 2].map(Into::into), AppState::Running));
    cluster.restart().settle();
    assert_eq!((said(&cluster), cluster.state("p0")), (["root.r"; 2].map(Into::into), AppState::Running));
    let running = |queue: &str| cluster.applications(queue);
    assert_eq!([running("root.q"), running("root.r")], [vec![], vec![(AppState::Running, 1)]]);
}

/// As above: from the end on the edit holds, when the last placeholder is gone; all task groups are shown anew then.
#[test]
fn the_queue_that_is_said_changes_when_the_application_leaves_its_queue() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 8).queue("root.r", 8);
    for name in ["p0", "p1"] {
        let spec = GroupSpec {
            reservation: Reservation::Placeholder,
            placeholder_for: PlaceholderFor::All,
            ..of_pair(&cluster, name)
        };
        cluster.submit(name, "root.q", spec);
    }
    cluster.settle().member("p0-0", "p0");
    cluster.settle();
    let edited = GroupSpec { generation: 2, queue: Some("root.r".into()), ..cluster.groups["p0"].clone() };
    cluster.apply("p0", edited);
    cluster.finish("p0-0", true);
    cluster.settle().wait(30_000);
    assert_eq!(
        (cluster.state("p0"), cluster.waiting()),
        (AppState::Completed, vec!["release ph-p1-1-0-0 timeout".into()])
    );
    assert_eq!(&*cluster.report("p0").queue, "root.q", "where what is left is charged");
    cluster.decisions.retain(|decision| matches!(decision, Decision::Release(..)));
    cluster.carry("release");
    assert_eq!(&*cluster.report("p0").queue, "root.r");
    let is_of_p0 = |group: &GroupId| &*cluster.scheduler.books.groups[*group].key.name == "p0";
    let shown =
        cluster.decisions.iter().any(|decision| matches!(decision, Decision::ShowGroup(group) if is_of_p0(group)));
    assert!(shown, "{:?}", cluster.decisions);
}

/// ADR 0009: until it starts an accepted application is judged again, and gives back what it holds by the old spec.
#[test]
fn an_accepted_application_is_judged_by_its_new_spec() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 4);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec.clone());
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 3);
    cluster.submit("g", "root.q", edited(&spec, 2, 1));
    cluster.settle();
    let report = cluster.report("g");
    assert_eq!((report.generation, report.required, report.incarnation), (2, 1, 2));
    assert_eq!(cluster.bound(), ["ph-g-2-0-0"]);
    cluster.submit("g", "root.q", edited(&spec, 3, 5));
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").reason), (AppState::Rejected, "ExceedsMaxQuota"));
    assert_eq!((cluster.report("g").generation, cluster.placeholders()), (3, 0));
}

/// 01, 1.10: what is gone is not released any more.
#[test]
fn a_placeholder_that_goes_with_its_task_group_is_not_released() {
    let mut cluster = Cluster::default().nodes(1, 8);
    let spec = cluster.all("g", 1);
    cluster.apply("g", spec);
    cluster.settle();
    cluster.taken();
    cluster.lose_group("g");
    cluster.delete("ph-g-1-0-0");
    cluster.settle();
    assert_eq!(cluster.taken(), Vec::<String>::new());
}

/// As above: nor does a member keep a node for a gang that its TaskGroup is not in any more.
#[test]
fn an_accepted_task_group_that_moves_gives_back_what_it_has() {
    let mut cluster = Cluster::default().nodes(2, 4);
    for name in ["g", "other"] {
        let spec = cluster.group(name, 2);
        cluster.apply(name, spec);
    }
    cluster.member("g-0", "g");
    cluster.settle().wait(1_000);
    cluster.carry("create").carry("bind nothing");
    let spec = GroupSpec { application: "other".into(), ..edited(&cluster.groups["g"], 2, 2) };
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!((cluster.report("g").reason, cluster.why("g-0")), ("ApplicationClosed", Some("ApplicationClosed")));
}

/// As above: an edit of its timeout, as of one that runs, costs it nothing.
#[test]
fn a_timeout_can_be_changed_at_any_time() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec.clone());
    cluster.settle();
    cluster.taken();
    cluster.apply("g", GroupSpec { generation: 2, timeouts: timeouts(Deadline::Completion, 60), ..spec.clone() });
    cluster.settle();
    assert_eq!((cluster.report("g").generation, cluster.report("g").incarnation, cluster.log.len()), (2, 1, 0));
    cluster.members("g", 2);
    cluster.settle();
    cluster.apply("g", edited(&spec, 3, 1));
    cluster.apply("g", GroupSpec { generation: 4, timeouts: timeouts(Deadline::Completion, 5), ..spec });
    cluster.settle();
    assert_eq!((cluster.report("g").generation, cluster.report("g").required), (4, 2));
    (0..2).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.settle();
    cluster.wait(5_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").required), (AppState::Completed, 2));
}

fn with_timeout(cluster: &mut Cluster, name: &str, seconds: u64) {
    let spec = cluster.groups[name].clone();
    let timeouts = timeouts(Deadline::Completion, seconds);
    cluster.apply(name, GroupSpec { generation: spec.generation + 1, timeouts, ..spec });
    cluster.settle();
}

/// A gang of p0 and p1 whose members are over, `millis` after the process began.
fn waiting_pair(millis: u64) -> Cluster {
    let mut cluster = Cluster::default().nodes(2, 4);
    for name in ["p0", "p1"] {
        let spec = of_pair(&cluster, name);
        cluster.apply(name, spec);
        cluster.member(&format!("{name}-0"), name);
    }
    cluster.settle().wait(millis);
    ["p0-0", "p1-0"].iter().for_each(|name| cluster.finish(name, true));
    cluster.settle();
    assert_eq!(cluster.state("p0"), AppState::Waiting);
    cluster
}

/// 01, 1.2.4 "only timeouts can be changed", in each TaskGroup of a gang: the longest counts, from the start of Waiting.
#[test]
fn timeouts_of_several_task_groups_count_once() {
    let mut cluster = waiting_pair(0);
    let start = cluster.now.wall;
    cluster.wait(10_000);
    for changed in ["p0", "p1"] {
        with_timeout(&mut cluster, changed, 60);
        for name in ["p0", "p1"] {
            assert_eq!(
                cluster.report(name).deadlines.of(Deadline::Completion),
                Some(start.after(60_000)),
                "{name} when {changed} has changed"
            );
            assert_eq!(cluster.statuses[name].deadlines.of(Deadline::Completion), Some(start.after(60_000)), "{name}");
        }
    }
    cluster.wait(49_999).settle();
    assert_eq!(cluster.state("p0"), AppState::Waiting);
    cluster.wait(1).settle();
    assert_eq!(cluster.state("p0"), AppState::Completed);
}

/// 01, 1.7: what is shown is when it ends, however often that is changed, and however young the process is.
#[test]
fn a_deadline_is_what_it_says() {
    for restart in [false, true] {
        let mut cluster = waiting_pair(0);
        let start = cluster.now.wall;
        cluster.wait(1_000);
        if restart {
            cluster.now.mono = Mono(0);
            cluster.restart().settle();
        }
        for seconds in [5, 2, 40] {
            ["p0", "p1"].iter().for_each(|name| with_timeout(&mut cluster, name, seconds));
        }
        assert_eq!(cluster.report("p1").deadlines.of(Deadline::Completion), Some(start.after(40_000)), "{restart}");
        cluster.wait(38_999).settle();
        assert_eq!(cluster.state("p0"), AppState::Waiting, "{restart}");
        cluster.wait(1).settle();
        assert_eq!(cluster.state("p0"), AppState::Completed, "{restart}");
    }
}

/// 01, 1.2.4: objects are changed one by one, so that timeouts of an accepted gang may differ; 1.11: also after a restart.
#[test]
fn timeouts_that_differ_do_not_reject_what_was_accepted() {
    for restart in [false, true] {
        let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 4);
        for name in ["p0", "p1"] {
            let spec = GroupSpec {
                reservation: Reservation::Placeholder,
                placeholder_for: PlaceholderFor::All,
                ..of_pair(&cluster, name)
            };
            cluster.submit(name, "root.q", spec);
        }
        cluster.settle().wait(5_000).settle();
        with_timeout(&mut cluster, "p0", 60);
        cluster.taken();
        if restart {
            cluster.restart().settle();
        }
        cluster.set_queue("root.q", 5);
        cluster.settle();
        assert_eq!((cluster.state("p0"), cluster.placeholders()), (AppState::Accepted, 2), "{:#?}", cluster.log);
    }
    let mut cluster = Cluster::default().nodes(2, 4);
    for (name, seconds) in [("p0", 30), ("p1", 60)] {
        let spec = GroupSpec { timeouts: timeouts(Deadline::Completion, seconds), ..of_pair(&cluster, name) };
        cluster.apply(name, spec);
    }
    cluster.settle();
    assert_eq!((cluster.state("p0"), cluster.report("p0").reason), (AppState::Rejected, "GangGroupMismatch"));
}

/// 01, 1.2.4: timeouts of a gang that goes on hold at once, also where it is seen with them that nobody is to edit the rest any more.
#[test]
fn timeouts_hold_at_once_also_with_news_of_an_edit() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let spec = cluster.direct("g", 1);
    cluster.apply("g", spec.clone());
    cluster.member("g-0", "g");
    cluster.settle();
    cluster.apply("g", GroupSpec { awaits_edit: true, ..spec.clone() });
    cluster.settle();
    let timeouts = spec.timeouts.with(Deadline::Wait, Some(60_000));
    cluster.apply("g", GroupSpec { generation: 2, timeouts, ..spec });
    cluster.settle();
    let id = *cluster.scheduler.books.group_ids.get(&Key::new("ns", "g")).expect("it is known");
    let now = cluster.scheduler.books.groups[id].spec();
    assert_eq!(
        (now.generation, now.timeouts, now.awaits_edit),
        (2, timeouts, false),
        "nothing waits for the next life"
    );
}
