//! Limits of users and groups (01, 1.2.3): for whom they count, what they hold up, and what they leave alone.

use std::sync::Arc;

use gangline::core::base::ids::Text;
use gangline::core::base::resources::Limit;
use gangline::core::event::{AskSpec, GroupSpec, HeadOfLine, QueueSpec, Role, SortPolicy, Submitter, SubmitterLimit};
use gangline::core::model::lifecycle::AppState;

use crate::support::cluster::Cluster;

fn cores(amount: i128) -> Limit {
    Limit::new([("cpu".into(), amount * 1_000)])
}

fn texts(names: &[&str]) -> Vec<Text> {
    names.iter().map(|name| Text::from(*name)).collect()
}

/// A limit of so many cores for each of these users.
fn users(names: &[&str], cpu: i128) -> SubmitterLimit {
    SubmitterLimit { users: texts(names), max: cores(cpu), ..SubmitterLimit::default() }
}

/// A limit of so many cores for the members of each of these groups together.
fn groups(names: &[&str], cpu: i128) -> SubmitterLimit {
    SubmitterLimit { groups: texts(names), max: cores(cpu), ..SubmitterLimit::default() }
}

fn limited(limits: &[SubmitterLimit]) -> QueueSpec {
    QueueSpec { limits: limits.to_vec(), ..QueueSpec::default() }
}

/// `user` or `user:group,group`; empty: nobody knows.
fn by(who: &str) -> Option<Arc<Submitter>> {
    if who.is_empty() {
        return None;
    }
    let (user, groups) = who.split_once(':').unwrap_or((who, ""));
    let groups = groups.split(',').filter(|group| !group.is_empty()).map(Text::from).collect();
    Some(Arc::new(Submitter { user: user.into(), groups }))
}

/// A Direct gang of somebody in root.q, with all its members, whom others made: a controller, say.
fn gang(cluster: &mut Cluster, name: &str, who: &str, min: u32) {
    gang_in(cluster, name, (who, "root.q"), min);
}

fn gang_in(cluster: &mut Cluster, name: &str, (who, queue): (&str, &str), min: u32) {
    let spec = GroupSpec { submitter: by(who), ..cluster.direct(name, min) };
    cluster.submit(name, queue, spec);
    cluster.members(name, min);
}

/// A pod of somebody outside applications in root.q.
fn single(cluster: &mut Cluster, name: &str, who: &str) {
    let pod = AskSpec { queue: Some("root.q".into()), submitter: by(who), ..cluster.pod(name, Role::Singleton) };
    cluster.show(pod);
}

fn finish(cluster: &mut Cluster, name: &str, members: u32) {
    (0..members).for_each(|number| cluster.finish(&format!("{name}-{number}"), true));
    cluster.wait(31_000).settle();
}

fn in_queue(limits: &[SubmitterLimit]) -> Cluster {
    let mut cluster = Cluster::default().nodes(1, 20);
    cluster.show_queue("root.q", limited(limits));
    cluster
}

fn states<const N: usize>(cluster: &Cluster, names: [&str; N]) -> [AppState; N] {
    names.map(|name| cluster.state(name))
}

/// 01, 1.2.3: "user and group limits apply where the shipped admission policy stamps who created the object": what one user has
/// in the queue is bounded, whole gangs at a time, and it is said by whom.
#[test]
fn a_user_has_no_more_than_its_limit() {
    let mut cluster = in_queue(&[users(&["alice"], 3)]);
    gang(&mut cluster, "first", "alice", 2);
    gang(&mut cluster, "second", "alice", 2);
    gang(&mut cluster, "other", "bob", 9);
    gang(&mut cluster, "unknown", "", 2);
    cluster.settle();
    assert_eq!(
        states(&cluster, ["first", "second", "other", "unknown"]),
        [AppState::Running, AppState::Accepted, AppState::Running, AppState::Running]
    );
    let report = cluster.report("second");
    assert_eq!(
        (report.reason, report.message.contains("root.q (user alice)")),
        ("WaitingForQuota", true),
        "{report:?}"
    );
    assert_eq!((cluster.cpu("root.q (user alice)"), cluster.cpu("root.q")), (2_000, 13_000));
    finish(&mut cluster, "first", 2);
    assert_eq!(cluster.state("second"), AppState::Running);
    assert_eq!(cluster.clear_away(), [""; 0]);
}

/// `*` stands for every user whom no other limit names, each by itself.
#[test]
fn every_other_user_has_a_limit_of_its_own() {
    let mut cluster = in_queue(&[users(&["*"], 2), users(&["alice", "carol"], 4)]);
    for (name, who) in [("a", "alice"), ("b", "bob"), ("c", "carol"), ("d", "dave")] {
        gang(&mut cluster, name, who, 2);
        gang(&mut cluster, &format!("{name}{name}"), who, 2);
    }
    cluster.settle();
    let run = states(&cluster, ["a", "aa", "b", "bb", "c", "cc", "d", "dd"]).map(|state| state == AppState::Running);
    assert_eq!(run, [true, true, true, false, true, true, true, false]);
}

/// The members of a group share what it has. Who is in several counts for the first that is named; who is in none for `*`, together
/// with all the others of whom that is so.
#[test]
fn the_members_of_a_group_share_its_limit() {
    let mut cluster = in_queue(&[groups(&["dev", "ops"], 3), groups(&["*"], 3)]);
    for (name, who) in
        [("a", "alice:dev"), ("b", "bob:dev"), ("c", "carol:dev,ops"), ("d", "dave:ops"), ("e", "eve:hr"), ("f", "fay")]
    {
        gang(&mut cluster, name, who, 2);
    }
    cluster.settle();
    let run = states(&cluster, ["a", "b", "c", "d", "e", "f"]).map(|state| state == AppState::Running);
    assert_eq!(run, [true, false, false, true, true, false]);
    let message = cluster.report("f").message;
    assert!(message.contains("root.q (group *)"), "{message}");
}

/// A limit of a queue counts for all that is below it; with one of the queue above, and of its user and group, the smallest does.
#[test]
fn limits_count_on_every_level() {
    let mut cluster = Cluster::default().nodes(1, 20);
    cluster.show_queue("root.t", limited(&[users(&["alice"], 3), groups(&["dev"], 4)]));
    cluster.show_queue("root.t.a", limited(&[users(&["alice"], 2)]));
    cluster.show_queue("root.t.b", QueueSpec::default());
    gang_in(&mut cluster, "a", ("alice:dev", "root.t.a"), 1);
    gang_in(&mut cluster, "b", ("alice:dev", "root.t.b"), 1);
    cluster.settle();
    for (name, queue, who, by) in [
        ("c", "root.t.a", "alice:dev", "root.t.a (user alice)"),
        ("d", "root.t.b", "alice:dev", "root.t (user alice)"),
        ("e", "root.t.b", "bob:dev", "root.t (group dev)"),
    ] {
        let mut cluster = cluster.clone();
        let min = if who == "bob:dev" { 3 } else { 2 };
        gang_in(&mut cluster, name, (who, queue), min);
        cluster.settle();
        let report = cluster.report(name);
        assert!(report.reason == "WaitingForQuota" && report.message.contains(by), "{name}: {report:?}");
    }
}

/// 01, 1.2.3: `placeholderAsk` exceeds "a user/group limit": it could never start, and is judged again when the limit is another.
#[test]
fn what_no_limit_could_ever_hold_is_refused() {
    let mut cluster = in_queue(&[users(&["alice"], 2), groups(&["dev"], 3)]);
    gang(&mut cluster, "g", "alice:dev", 4);
    cluster.settle();
    assert_eq!(cluster.state("g"), AppState::Rejected);
    let report = cluster.report("g");
    assert!(report.reason == "ExceedsMaxQuota" && report.message.contains("root.q (user alice)"), "{report:?}");
    single(&mut cluster, "alone", "alice");
    cluster.settle();
    assert!(cluster.bound().contains(&"alone".to_owned()));
    cluster.show_queue("root.q", limited(&[users(&["alice"], 5), groups(&["dev"], 5)]));
    cluster.settle();
    assert_eq!(cluster.state("g"), AppState::Running);
}

/// `maxApplications` of a limit counts the applications of a user that hold or use something.
#[test]
fn a_user_has_no_more_applications_than_its_limit() {
    let limit = SubmitterLimit { max_applications: Some(1), ..users(&["*"], 20) };
    let mut cluster = in_queue(&[limit]);
    gang(&mut cluster, "a", "alice", 1);
    gang(&mut cluster, "aa", "alice", 1);
    gang(&mut cluster, "b", "bob", 1);
    cluster.settle();
    let report = cluster.report("aa");
    assert!(report.reason == "WaitingForApplications" && report.message.contains("(user alice)"), "{report:?}");
    assert_eq!(states(&cluster, ["a", "b"]), [AppState::Running; 2]);
    finish(&mut cluster, "a", 1);
    assert_eq!(cluster.state("aa"), AppState::Running);
}

/// 01, 1.2.5: "A gang that waits never stops another that could start"; nor does one that waits for a limit of its own user when it
/// has been overtaken for as long as its queue lets it be: nothing that those behind it could leave to it would help it.
#[test]
fn who_waits_for_its_own_limit_keeps_nobody_waiting() {
    let mut cluster = Cluster::default().nodes(1, 8);
    let head_of_line = Some(HeadOfLine::MaxOvertakes(0));
    cluster.show_queue("root.q", QueueSpec { head_of_line, ..limited(&[users(&["alice"], 4)]) });
    gang(&mut cluster, "a", "alice", 3);
    cluster.settle();
    let behind = GroupSpec { submitter: by("alice"), created: 11, ..cluster.direct("aa", 2) };
    cluster.submit("aa", "root.q", behind);
    cluster.members("aa", 2);
    cluster.settle();
    let third = GroupSpec { submitter: by("bob"), created: 12, ..cluster.direct("b", 3) };
    cluster.submit("b", "root.q", third);
    cluster.members("b", 3);
    cluster.settle();
    assert_eq!(states(&cluster, ["a", "aa", "b"]), [AppState::Running, AppState::Accepted, AppState::Running]);
    assert_eq!(cluster.queue_report("root.q").first, None);
    // When its own limit has room and the nodes have none, it is first in line as any other is.
    single(&mut cluster, "filler", "carol");
    cluster.settle();
    finish(&mut cluster, "a", 3);
    assert_eq!(cluster.state("aa"), AppState::Running);
}

/// Limits change live: what runs counts, and is left alone.
#[test]
fn limits_come_change_and_go_under_what_runs() {
    let mut cluster = in_queue(&[]);
    gang(&mut cluster, "a", "alice", 3);
    cluster.settle();
    cluster.show_queue("root.q", limited(&[users(&["alice"], 2)]));
    gang(&mut cluster, "b", "alice", 1);
    cluster.settle();
    assert_eq!(states(&cluster, ["a", "b"]), [AppState::Running, AppState::Accepted]);
    assert_eq!(cluster.cpu("root.q (user alice)"), 3_000);
    cluster.show_queue("root.q", limited(&[users(&["alice"], 4)]));
    cluster.settle();
    assert_eq!(cluster.state("b"), AppState::Running);
    gang(&mut cluster, "c", "alice", 1);
    cluster.settle();
    assert_eq!(cluster.state("c"), AppState::Accepted);
    cluster.show_queue("root.q", limited(&[]));
    cluster.settle();
    assert_eq!((cluster.state("c"), cluster.cpu("root.q (user alice)")), (AppState::Running, 0));
    assert_eq!(cluster.clear_away(), [""; 0]);
}

/// The parts that users have of a queue do not make it several: who came first goes first, whoever it is.
#[test]
fn the_order_of_a_queue_is_that_of_submission_over_all_users() {
    let mut cluster = Cluster::default().nodes(1, 4);
    cluster.show_queue("root.q", QueueSpec { max: cores(4), ..limited(&[users(&["*"], 3)]) });
    let mut create = |name: &str, who: &str, created: i64| {
        let spec = AskSpec { created, queue: Some("root.q".into()), ..cluster.pod(name, Role::Singleton) };
        cluster.show(AskSpec { submitter: by(who), ..spec });
    };
    for (number, who) in (0..).zip(["b", "a", "b", "c", "b", "b", "a"]) {
        create(&format!("{number}-{who}"), who, number);
    }
    cluster.settle();
    assert_eq!(cluster.bound(), ["0-b", "1-a", "2-b", "3-c"]);
    cluster.delete("3-c");
    cluster.settle();
    assert_eq!(cluster.bound(), ["0-b", "1-a", "2-b", "4-b"]);
    cluster.delete("1-a");
    cluster.settle();
    assert_eq!(cluster.bound(), ["0-b", "2-b", "4-b", "6-a"], "the fourth of b is beyond its limit");
}

/// A `StateAware` queue lets one gang at a time begin to start, whosever it is; a `Fair` one puts applications of all users in
/// order by what they use.
#[test]
fn policies_count_for_the_queue_and_not_for_each_user() {
    let mut cluster = Cluster::default().nodes(1, 20);
    let spec = QueueSpec { sort_policy: Some(SortPolicy::StateAware), ..limited(&[users(&["*"], 9)]) };
    cluster.show_queue("root.q", spec);
    for (name, who) in [("a", "alice"), ("b", "bob")] {
        let spec = GroupSpec { submitter: by(who), ..cluster.all(name, 2) };
        cluster.submit(name, "root.q", spec);
    }
    cluster.settle();
    assert_eq!(cluster.report("b").reason, "WaitingForStart");
    cluster.members("a", 1);
    cluster.settle();
    assert_ne!(cluster.report("b").reason, "WaitingForStart");

    let mut cluster = Cluster::default().nodes(1, 6);
    let spec = QueueSpec { sort_policy: Some(SortPolicy::Fair), ..limited(&[users(&["*"], 9)]) };
    cluster.show_queue("root.q", spec);
    for (app, who) in [("a", "alice"), ("b", "bob"), ("c", "alice")] {
        for number in 0..6 {
            let role = Role::Originator { application: app.into() };
            let pod = cluster.pod(&format!("{app}-{number}"), role);
            cluster.show(AskSpec { queue: Some("root.q".into()), submitter: by(who), ..pod });
        }
    }
    cluster.settle();
    let of = |app: &str| cluster.bound().iter().filter(|name| name.starts_with(app)).count();
    assert_eq!(["a", "b", "c"].map(of), [2, 2, 2]);
}

/// Placeholders, members made by somebody else, and kept seats count for whoever submitted the gang, also for a process that begins.
#[test]
fn all_of_a_gang_counts_for_who_submitted_it_over_a_restart() {
    let mut cluster = in_queue(&[users(&["alice"], 3), users(&["system:job-controller"], 0)]);
    let spec = GroupSpec { submitter: by("alice"), seat_hold: 60_000, ..cluster.all("g", 3) };
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    assert_eq!((cluster.placeholders(), cluster.cpu("root.q (user alice)")), (3, 3_000));
    cluster.restart().settle();
    assert_eq!((cluster.placeholders(), cluster.cpu("root.q (user alice)")), (3, 3_000));
    for number in 0..3 {
        let pod = cluster.pod(&format!("g-{number}"), Role::Member { group: "g".into() });
        cluster.show(AskSpec { submitter: by("system:job-controller"), ..pod });
    }
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.cpu("root.q (user alice)")), (AppState::Running, 3_000));
    let seen = cluster.summary();
    cluster.restart().settle();
    assert_eq!((cluster.summary(), cluster.cpu("root.q (user alice)")), (seen, 3_000));
    cluster.delete("g-0");
    cluster.settle();
    assert_eq!(cluster.cpu("root.q (user alice)"), 3_000, "its room is kept");
    gang(&mut cluster, "h", "alice", 1);
    cluster.settle();
    assert_eq!(cluster.report("h").reason, "WaitingForQuota");
    cluster.wait(61_000).settle();
    assert_eq!(cluster.state("h"), AppState::Running);
    assert_eq!(cluster.clear_away(), [""; 0]);
}

/// ADR 34: "An application is its TaskGroup's submitter's"; where that does not say who it is no limit counts, whoever made the pods,
/// nor does one for a process that begins.
#[test]
fn a_gang_of_nobody_counts_for_nobody_over_a_restart() {
    let mut cluster = in_queue(&[users(&["alice"], 1)]);
    let spec = cluster.direct("g", 2);
    cluster.submit("g", "root.q", spec);
    for number in 0..2 {
        let pod = cluster.pod(&format!("g-{number}"), Role::Member { group: "g".into() });
        cluster.show(AskSpec { submitter: by("alice"), ..pod });
    }
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.cpu("root.q (user alice)")), (AppState::Running, 0));
    cluster.restart().settle();
    assert_eq!((cluster.state("g"), cluster.cpu("root.q (user alice)")), (AppState::Running, 0));
    single(&mut cluster, "s", "alice");
    cluster.settle();
    assert_eq!((cluster.bound().contains(&"s".to_owned()), cluster.cpu("root.q (user alice)")), (true, 1_000));
}

/// Without task groups whose an application is follows from its pods: until one is bound the first by name says it, also where
/// that comes later or goes, as for a process that begins. From then on it stays, whoever comes.
#[test]
fn an_application_of_pods_alone_is_whose_its_pods_are_now() {
    let mut cluster = Cluster::default().nodes(1, 2);
    cluster.show_queue("root.q", limited(&[users(&["bob"], 1), users(&["alice"], 9)]));
    let show = |cluster: &mut Cluster, name: &str, who: &str| {
        let pod = cluster.pod(name, Role::Originator { application: "app".into() });
        cluster.show(AskSpec { queue: Some("root.q".into()), submitter: by(who), ..pod });
        cluster.settle();
    };
    let delete = |cluster: &mut Cluster, name: &str| {
        cluster.delete(name);
        cluster.settle();
    };
    single(&mut cluster, "busy", "bob");
    single(&mut cluster, "full", "carol");
    show(&mut cluster, "y", "alice");
    show(&mut cluster, "x", "bob");
    delete(&mut cluster, "full");
    assert_eq!(cluster.bound(), ["busy"], "x is the first, and bob has no more than one core");
    delete(&mut cluster, "x");
    assert_eq!((cluster.bound().len(), cluster.cpu("root.q (user alice)")), (2, 1_000), "y is alice's");
    show(&mut cluster, "a", "bob");
    delete(&mut cluster, "busy");
    assert_eq!((cluster.bound(), cluster.cpu("root.q (user alice)")), (vec!["a".into(), "y".into()], 2_000));
}

/// Pods outside applications count for whoever made each.
#[test]
fn a_pod_of_no_application_counts_for_who_made_it() {
    let mut cluster = in_queue(&[users(&["alice"], 2)]);
    for number in 0..3 {
        single(&mut cluster, &format!("a-{number}"), "alice");
        single(&mut cluster, &format!("b-{number}"), "bob");
    }
    cluster.settle();
    assert_eq!(cluster.bound(), ["a-0", "a-1", "b-0", "b-1", "b-2"]);
    assert_eq!(cluster.why("a-2"), Some("WaitingForQuota"));
    cluster.restart().settle();
    assert_eq!((cluster.bound().len(), cluster.why("a-2")), (5, Some("WaitingForQuota")));
    cluster.finish("a-0", true);
    cluster.settle();
    assert!(cluster.bound().contains(&"a-2".to_owned()));
    assert_eq!(cluster.clear_away(), [""; 0]);
}

/// What users and groups use is shown of the queue that limits them, as long as somebody has something there.
#[test]
fn what_users_and_groups_use_is_shown() {
    let mut cluster = in_queue(&[users(&["*"], 5), groups(&["dev"], 7)]);
    gang(&mut cluster, "a", "alice:dev", 2);
    gang(&mut cluster, "b", "bob:dev", 3);
    cluster.settle();
    let shown = |cluster: &Cluster| {
        let limited = cluster.queue_report("root.q").limited;
        limited.iter().map(|one| format!("{} {}", one.whose, one.allocated.get("cpu"))).collect::<Vec<_>>()
    };
    assert_eq!(shown(&cluster), ["user alice 2000", "user bob 3000", "group dev 5000"]);
    finish(&mut cluster, "a", 2);
    cluster.lose_group("a");
    (0..2).for_each(|number| cluster.delete(&format!("a-{number}")));
    cluster.settle();
    assert_eq!(shown(&cluster), ["user bob 3000", "group dev 3000"]);
}

/// A part of a queue that nothing refers to any more is forgotten, and what it used is off the books: the queue says so.
#[test]
fn a_queue_says_what_it_uses_when_the_last_pod_of_a_user_goes() {
    let mut cluster = in_queue(&[users(&["*"], 5)]);
    single(&mut cluster, "s", "alice");
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.cpu("root.q")), (vec!["s".to_owned()], 1_000));
    cluster.delete("s");
    cluster.step();
    let shown = format!("{:?}", cluster.decisions);
    assert!(shown.contains("ShowQueue(\"root.q\")"), "{shown}");
}
