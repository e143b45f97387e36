//! Completion, states and releases (01, 1.8 to 1.10).

use gangline::core::base::ids::{AskId, Key, Uid};
use gangline::core::base::resources::Limit;
use gangline::core::decision::{Decision, TerminationType};
use gangline::core::event::{BindOutcome, Event, GroupSpec, Place, PlaceholderName, QueueSpec, Role, Style};
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::{AppEvent, AppState};
use gangline::core::reason::Refusal;

use crate::support::cluster::{Cluster, NS, timeouts};
use crate::support::phases::{ending, endings, held, phases, running, timed_out, waiting};

/// 01, 1.8: "Running → Waiting when there is no real allocation and no pending ask (placeholders are not active
/// allocations)"; seed 000 "Queue & Node": the placeholders count in the queue all the same.
#[test]
fn placeholders_keep_no_application_running() {
    let mut cluster = running();
    assert_eq!(cluster.state("g"), AppState::Running);
    cluster.delete("g-0");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").reason), (AppState::Waiting, "WaitingForCompletion"));
    assert_eq!((cluster.cpu("root.q"), cluster.placeholders()), (2000, 2));
    assert_eq!(cluster.report("g").deadlines.of(Deadline::Completion), Some(cluster.now.wall.after(30_000)));
}

/// 01, 1.11: what a condition said of a gang that is over stays so for a new process.
#[test]
fn who_has_completed_was_placed_over_a_restart() {
    let mut cluster = Cluster::default().nodes(1, 2);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle();
    ["g-0", "g-1"].into_iter().for_each(|pod| cluster.finish(pod, true));
    cluster.settle().wait(30_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").placed), (AppState::Completed, true));
    cluster.restart().settle();
    assert_eq!((cluster.state("g"), cluster.report("g").placed), (AppState::Completed, true));
}

/// As above: a finished member is no allocation; a pending ask keeps the application running, one in a swap included.
#[test]
fn a_pending_ask_keeps_the_application_running() {
    let mut cluster = running();
    cluster.large_member("g-1", "g", 50);
    cluster.finish("g-0", true);
    cluster.settle().wait(60_000).settle();
    assert_eq!(cluster.state("g"), AppState::Running);
    cluster.member("g-2", "g");
    cluster.delete("g-1");
    cluster.step();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.releasing), (AppState::Running, 1));
    cluster.delete("g-2");
    cluster.settle();
    assert_eq!(cluster.state("g"), AppState::Waiting);
}

/// 01, 1.8: "Waiting → Running": on a member that is found on a node too, which another instance has bound.
#[test]
fn a_member_that_is_found_bound_ends_the_waiting() {
    let mut cluster = waiting();
    let mut found = cluster.pod("g-9", Role::Member { group: "g".into() });
    found.place = Place::On { node: "n0".into(), running: true };
    cluster.show(found);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").deadlines.of(Deadline::Completion)), (AppState::Running, None));
    cluster.wait(60_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").members.scheduled), (AppState::Running, 1));
}

/// 01, 1.8: "a new incarnation at once, from Accepted": the member has a seat, and the deadline is off.
#[test]
fn a_new_ask_ends_the_waiting() {
    let mut cluster = waiting();
    cluster.wait(29_999);
    cluster.member("g-1", "g");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").deadlines.of(Deadline::Completion)), (AppState::Running, None));
    assert_eq!((cluster.report("g").incarnation, cluster.report("g").seats.taken), (2, 1));
    cluster.wait(60_000).settle();
    assert_eq!(cluster.state("g"), AppState::Running);
    cluster.delete("g-1");
    cluster.settle();
    assert_eq!(
        cluster.report("g").deadlines.of(Deadline::Completion),
        Some(cluster.now.wall.after(30_000)),
        "a new deadline"
    );
}

/// 01, 1.8: "Waiting → Completed after the completion timeout", not before; seed 000: "an application is completed when
/// it has been in the waiting state for a defined time period".
#[test]
fn waiting_ends_with_its_timeout() {
    let mut cluster = waiting();
    cluster.wait(29_999);
    cluster.set_queue("root.q", 8);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Waiting, 2), "though it was looked at again");
    cluster.wait(1).settle();
    assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Completed, 0));
}

/// 01, 1.7 `completionTimeoutSeconds`, 1.2.4: "only timeouts can be changed": a deadline that runs moves along.
#[test]
fn the_timeout_can_be_changed_while_it_runs() {
    let mut cluster = waiting();
    cluster.wait(10_000);
    let spec = GroupSpec { generation: 2, timeouts: timeouts(Deadline::Completion, 15), ..cluster.groups["g"].clone() };
    cluster.apply("g", spec);
    cluster.settle().wait(4_999).settle();
    assert_eq!(cluster.state("g"), AppState::Waiting);
    cluster.wait(1).settle();
    assert_eq!(cluster.state("g"), AppState::Completed);
}

/// 01, 1.8: "leftover placeholders are released with TIMEOUT in the same response as the state change"; seed 000 "The
/// shim processes the AllocationResponse messages first followed by the UpdatedApplication message".
#[test]
fn leftovers_go_in_the_same_response_as_the_state_change() {
    let mut cluster = waiting();
    cluster.wait(30_000);
    assert_eq!(cluster.state("g"), AppState::Completed);
    let position = |what: &dyn Fn(&Decision) -> bool| cluster.decisions.iter().rposition(what);
    let last_release = position(&|decision| matches!(decision, Decision::Release(_, TerminationType::Timeout)));
    let update = position(&|decision| matches!(decision, Decision::ShowGroup(_)));
    assert_eq!(cluster.waiting().len(), 2, "{:?}", cluster.waiting());
    assert!(last_release.is_some() && last_release < update, "{:?}", cluster.decisions);
}

/// 01, 1.8: "the application is out of its queue when the last is gone"; seed 000: releases that come back with TIMEOUT
/// are processed "without triggering a state change".
#[test]
fn a_completed_application_leaves_its_queue_with_its_last_placeholder() {
    let mut cluster = ending();
    cluster.carry("ph-g-1-1-0");
    assert_eq!(cluster.applications("root.q"), [(AppState::Completed, 1)]);
    assert_eq!(cluster.cpu("root.q"), 1000);
    cluster.carry("ph-g-1-2-0");
    assert_eq!((cluster.applications("root.q"), cluster.cpu("root.q")), (Vec::new(), 0));
    assert_eq!((cluster.state("g"), cluster.report("g").reason), (AppState::Completed, "Completed"));
}

/// 01, 1.12: what has ended keeps nobody out of `maxApplications`, also while placeholders of it leave.
#[test]
fn an_application_of_which_nothing_is_active_or_pending_keeps_nobody_out() {
    let mut cluster = waiting();
    let spec = QueueSpec { max_applications: Some(1), ..QueueSpec::default() };
    cluster.show_queue("root.q", spec);
    let spec = cluster.direct("next", 1);
    cluster.submit("next", "root.q", spec);
    cluster.member("next-0", "next");
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.node_of("next-0").is_some()), (AppState::Waiting, true));
}

/// 01, 1.8: "An ID may be used again after Completed …: a new incarnation, from New": by a new ask.
#[test]
fn a_new_ask_after_completion_is_a_new_incarnation() {
    let mut cluster = ending();
    cluster.settle().taken();
    cluster.member("g-1", "g");
    cluster.settle();
    let report = cluster.report("g");
    assert_eq!((report.state, report.incarnation, report.placed), (AppState::Running, 2, false));
    assert_eq!(cluster.bound(), ["g-1", "ph-g-2-1-0", "ph-g-2-2-0"], "a seat each, of the new life");
}

/// As above while the last placeholders of the old life leave: the new one begins when they are gone.
#[test]
fn a_new_life_waits_until_the_old_one_is_gone() {
    let mut cluster = ending();
    cluster.taken();
    cluster.member("g-1", "g");
    cluster.step();
    assert_eq!((cluster.state("g"), cluster.log.len()), (AppState::Completed, 0), "{:#?}", cluster.log);
    cluster.carry("ph-g-1-1-0");
    assert_eq!(cluster.state("g"), AppState::Completed);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Running, 2));
}

/// 01, 1.2.4: "after a terminal state a new generation is a new incarnation"; members that succeeded in the old life have
/// no seat in the new one.
#[test]
fn a_new_generation_after_completion_is_a_new_incarnation() {
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec.clone());
    cluster.members("g", 2);
    cluster.settle();
    (0..2).for_each(|number| cluster.finish(&format!("g-{number}"), true));
    cluster.settle().wait(30_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").placed), (AppState::Completed, true));
    cluster.apply("g", GroupSpec { generation: 2, min_member: 3, ..spec });
    cluster.settle();
    let report = cluster.report("g");
    assert_eq!((report.state, report.incarnation, report.placed), (AppState::Accepted, 2, false));
    assert_eq!((report.seats.open, report.reason), (3, "WaitingForMembers"));
}

/// 01, 1.8: "An ID may be used again after … Rejected".
#[test]
fn a_rejected_application_comes_again_as_a_new_incarnation() {
    let mut cluster = held();
    cluster.set_queue("root.q", 2);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.placeholders()), (AppState::Rejected, 0));
    cluster.set_queue("root.q", 3);
    cluster.settle();
    assert_eq!((cluster.state("g"), cluster.report("g").incarnation), (AppState::Accepted, 2));
    assert_eq!(cluster.bound(), ["ph-g-2-0-0", "ph-g-2-1-0", "ph-g-2-2-0"]);
}

/// Seed 000: "A completed application with the same application ID must not prevent the submission of a new application
/// with the same ID": by another object of the same name.
#[test]
fn a_completed_id_can_be_submitted_by_a_new_object() {
    let mut cluster = ending();
    cluster.settle();
    cluster.lose_group("g");
    let spec = GroupSpec { uid: Uid::new("uid-g-2"), ..cluster.direct("g", 1) };
    cluster.apply("g", spec);
    cluster.member("g-9", "g");
    cluster.settle();
    assert_eq!((cluster.bound(), cluster.report("g").incarnation), (vec!["g-9".into()], 1));
}

/// 01, 1.8: "An operator that re-creates pods for ever under a dead ID gets a visible terminal state …, not an endless
/// loop."
#[test]
fn pods_under_a_dead_id_wait_with_its_reason() {
    let mut cluster = Cluster::default().nodes(2, 4).queue("root.q", 2);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    for round in 0..5 {
        let name = format!("g-{round}");
        cluster.member(&name, "g");
        cluster.settle().wait(60_000).settle();
        assert_eq!((cluster.state("g"), cluster.why(&name)), (AppState::Rejected, Some("ExceedsMaxQuota")));
        cluster.delete(&name);
    }
    assert_eq!(cluster.settle().log, [""; 0]);
}

/// 01, 1.9 Accepted: leaves to "Running (first real allocation) …, Waiting (only without a TaskGroup object, when
/// everything is withdrawn)".
#[test]
fn an_accepted_gang_whose_members_are_withdrawn_stays_accepted() {
    let mut cluster = held();
    cluster.large_member("g-0", "g", 50);
    cluster.change("g-0", |spec| spec.place = Place::Gated);
    cluster.settle().wait(60_000).settle();
    assert_eq!((cluster.state("g"), cluster.report("g").seats.held), (AppState::Accepted, 3));
    let mut cluster = Cluster::default().nodes(2, 4);
    let spec = cluster.direct("g", 3);
    cluster.apply("g", spec);
    cluster.members("g", 2);
    cluster.settle();
    (0..2).for_each(|number| cluster.delete(&format!("g-{number}")));
    cluster.settle().wait(60_000).settle();
    assert_eq!(cluster.state("g"), AppState::Accepted);
}

fn state_of_job(cluster: &Cluster) -> Option<AppState> {
    let books = &cluster.scheduler.books;
    books.app_ids.get(&Key::new(NS, "job")).map(|id| books.apps[*id].state())
}

/// 01, 1.9: an application of pods alone runs with its first allocation, completes when they end, and comes again.
#[test]
fn an_application_without_task_groups_lives_and_ends() {
    let mut cluster = Cluster::default().nodes(1, 1);
    cluster.originator("one", "job");
    cluster.originator("two", "job");
    cluster.settle();
    assert_eq!((state_of_job(&cluster), cluster.bound()), (Some(AppState::Running), vec!["one".into()]));
    cluster.finish("one", true);
    cluster.settle();
    assert_eq!((state_of_job(&cluster), cluster.bound()), (Some(AppState::Running), vec!["two".into()]));
    cluster.finish("two", false);
    cluster.settle();
    assert_eq!((state_of_job(&cluster), cluster.applications("root")), (Some(AppState::Completed), Vec::new()));
    cluster.originator("three", "job");
    cluster.settle();
    assert_eq!((state_of_job(&cluster), cluster.bound()), (Some(AppState::Running), vec!["three".into()]));
}

/// 01, 1.9: "Waiting (only without a TaskGroup object, when everything is withdrawn)"; with its last pod it is forgotten.
#[test]
fn an_application_without_task_groups_that_is_withdrawn() {
    let mut cluster = Cluster::default().nodes(1, 1);
    let large = cluster.sized("one", Role::Originator { application: "job".into() }, 5);
    cluster.show(large);
    cluster.settle();
    assert_eq!(state_of_job(&cluster), Some(AppState::Accepted));
    cluster.change("one", |spec| spec.place = Place::Gated);
    cluster.settle();
    assert_eq!(state_of_job(&cluster), Some(AppState::Completed));
    cluster.change("one", |spec| spec.place = Place::Pending);
    cluster.settle();
    assert_eq!(state_of_job(&cluster), Some(AppState::Accepted));
    cluster.delete("one");
    cluster.settle();
    assert_eq!((state_of_job(&cluster), cluster.clear_away()), (None, Vec::new()));
}

fn refusal() -> Refusal {
    Refusal { code: 500, message: "late".into() }
}

/// Facts that concern nothing: of objects that never were, or of times long past.
fn stale() -> Vec<Event> {
    let nobody = AskId { index: 9_999, generation: 0 };
    let name = |uid: &str, incarnation, seat, attempt| PlaceholderName {
        group: Key::new(NS, "g"),
        uid: Uid::new(uid),
        incarnation,
        seat,
        attempt,
    };
    let names = [name("uid-old", 1, 0, 0), name("uid-g", 9, 0, 0), name("uid-g", 1, 9, 0), name("uid-g", 1, 0, 9)];
    let mut events = vec![
        Event::AskGone(nobody),
        Event::Bind(nobody, BindOutcome::Bound),
        Event::Bind(nobody, BindOutcome::Failed(refusal())),
        Event::ReleaseRefused(nobody, refusal()),
        Event::GroupGone(Key::new(NS, "nobody")),
        Event::QueueGone("root.nobody".into()),
        Event::NodeGone("nobody".into()),
        Event::NamespaceLimit(NS.into(), Limit::default()),
        Event::GroupsListed,
        Event::QueuesListed,
        Event::Synced,
    ];
    events.extend(names.map(|name| Event::CreateRefused(name, refusal())));
    events
}

/// The same facts once more: every object as it is, and the outcome of every call that is over.
fn repeated(cluster: &Cluster) -> Vec<Event> {
    let mut events = cluster.objects();
    for (id, spec) in cluster.pods.values() {
        if let Role::Placeholder(name) = &spec.role {
            events.push(Event::CreateRefused(name.clone(), refusal()));
        }
        if let Place::On { .. } = spec.place {
            events
                .extend([BindOutcome::Bound, BindOutcome::Failed(refusal())].map(|outcome| Event::Bind(*id, outcome)));
        }
    }
    events
}

/// 01, 1.10: "Duplicate, late or unknown confirmations are legal inputs and change nothing."
#[test]
fn what_is_late_unknown_or_repeated_changes_nothing() {
    for (phase, cluster) in phases().into_iter().chain(endings()) {
        for event in stale().into_iter().chain(repeated(&cluster)) {
            let mut told = cluster.clone();
            told.tell(event.clone());
            told.step();
            assert_eq!(told.waiting(), cluster.waiting(), "{phase}: {event:?}");
            assert_eq!(told.summary(), cluster.summary(), "{phase}: {event:?}");
        }
    }
}

/// 01, 1.10: "the core's own releases (the last three) are not confirmed back"; seed 000: "For releases initiated by the
/// core no such confirmation message can or must be sent"; a confirmation that comes twice frees nothing twice.
#[test]
fn a_confirmation_is_not_answered() {
    let mut cluster = ending();
    let gone: Vec<_> = cluster.pods.values().map(|(id, _)| *id).collect();
    cluster.taken();
    cluster.settle();
    assert_eq!((cluster.log.len(), cluster.cpu("root.q")), (0, 0));
    gone.into_iter().for_each(|id| cluster.tell(Event::AskGone(id)));
    cluster.settle();
    assert_eq!((cluster.log.len(), cluster.cpu("root.q")), (0, 0));
}

/// Seed 000 "Allocation": "during that time period the allocation may not be released again".
#[test]
fn a_placeholder_on_its_way_out_is_not_released_again() {
    let mut cluster = running();
    (1..3).for_each(|number| cluster.member(&format!("g-{number}"), "g"));
    cluster.step();
    cluster.taken();
    ["g-0", "g-1", "g-2"].iter().for_each(|name| cluster.delete(name));
    cluster.step();
    cluster.wait(30_000);
    cluster.lose_node("n0");
    cluster.lose_node("n1");
    cluster.step();
    assert_eq!((cluster.state("g"), cluster.log.len()), (AppState::Completed, 0), "{:#?}", cluster.log);
    cluster.settle();
    assert_eq!((cluster.placeholders(), cluster.cpu("root.q")), (0, 0));
}

/// 01, 1.10 `StoppedByRm`, `Timeout`, `PlaceholderReplaced`: each release says why; seed 001: "a new TerminationType
/// specifically for the placeholder replacement".
#[test]
fn every_release_says_why() {
    let mut cluster = running();
    assert_eq!(cluster.logged("release ph-g-1-0-0 replaced"), 1);
    cluster.delete("g-0");
    cluster.settle().wait(30_000);
    assert_eq!(cluster.waiting(), ["release ph-g-1-1-0 timeout", "release ph-g-1-2-0 timeout"]);
    let mut cluster = held();
    cluster.lose_group("g");
    cluster.step();
    assert_eq!(cluster.logged("release ph-g-1-0-0 stopped"), 1);
}

/// 03, 3.7: what was said is said again without another look as long as the core's revision is the same: it changes with
/// what is seen and with what time brings, and not with an object that says nothing new.
#[test]
fn the_revision_changes_with_what_can_be_said_of_anything() {
    let mut cluster = waiting();
    let same = |cluster: &mut Cluster| {
        let before = cluster.scheduler.revision();
        cluster.step();
        cluster.scheduler.revision() == before
    };
    let again = cluster.pods.values().next().expect("its placeholders are there").1.clone();
    cluster.show(again);
    assert!(same(&mut cluster), "a pod as it was");
    cluster.node("n0", 4);
    assert!(same(&mut cluster), "a node as it was");
    cluster.node("n0", 5);
    assert!(!same(&mut cluster), "a larger node");
    cluster.settle();
    assert!(same(&mut cluster), "nothing");
    let before = cluster.scheduler.revision();
    cluster.wait(30_000);
    assert_eq!(cluster.state("g"), AppState::Completed);
    assert_ne!(cluster.scheduler.revision(), before, "its deadline has passed");
}

/// 01, 1.6 and 03, 3.7: what somebody got after a gang that waits may be what this gang waits for now: the scheduler looks
/// again by itself, and what was said of the gang before may be said no more.
#[test]
fn the_revision_changes_with_what_goes_on_by_itself() {
    let mut cluster = Cluster::default().nodes(1, 4);
    let spec = cluster.direct("g", 2);
    cluster.apply("g", spec);
    ["g-0", "g-1"].into_iter().for_each(|name| cluster.large_member(name, "g", 3));
    cluster.single("after");
    let events = std::mem::take(&mut cluster.events);
    let step = cluster.scheduler.step(cluster.now, events);
    assert!(
        step.more && step.decisions.iter().any(|decision| matches!(decision, Decision::Allocate { .. })),
        "{step:?}"
    );
    let before = cluster.scheduler.revision();
    assert!(!cluster.scheduler.step(cluster.now, []).more);
    let after = cluster.scheduler.revision();
    assert_ne!(after, before);
    cluster.scheduler.step(cluster.now, []);
    assert_eq!(cluster.scheduler.revision(), after, "it is at rest");
}

/// 01, 1.9: "One transition table, one function": the states to which each leaves. What a new process finds is New, and goes to
/// where it was. Also seed 004 "Code merges": "The application and object state will be an integrated part of the scheduler object.
/// A state change is thus immediate".
#[test]
fn each_state_leaves_to_what_the_table_says() {
    use AppState::{Accepted, Completed, Killed, New, Rejected, Resuming, Running, Waiting};
    let table: [(AppState, &[AppState]); 8] = [
        (New, &[Accepted, Resuming, Running, Rejected, Completed, Killed]),
        // Another judgement, or another life, begins at New.
        (Accepted, &[New, Resuming, Running, Waiting, Killed]),
        (Resuming, &[New, Running, Waiting]),
        // Accepted: a start of which nothing is bound can be called off (docs/adr/0025).
        (Running, &[New, Accepted, Waiting]),
        (Waiting, &[New, Running, Completed]),
        (Rejected, &[New]),
        (Completed, &[New]),
        (Killed, &[New]),
    ];
    for (state, leaves_to) in table {
        let mut next: Vec<_> = AppEvent::ALL.into_iter().filter_map(|event| state.next(event)).collect();
        next.sort_unstable();
        assert_eq!(next, leaves_to, "{state}");
    }
}

/// 01, 1.9: "Completed, Killed: final; removed from the queue; kept for display": as long as its TaskGroup is there, over a
/// restart too, and no longer.
#[test]
fn what_has_ended_is_shown_while_its_task_group_is_there() {
    let mut killed = timed_out(Style::Hard);
    killed.settle();
    let mut completed = ending();
    completed.settle();
    for (state, mut cluster) in [(AppState::Killed, killed), (AppState::Completed, completed)] {
        cluster.taken();
        for restart in [false, true, false] {
            if restart {
                cluster.restart();
            }
            cluster.settle().wait(7 * 86_400_000).settle();
            assert_eq!((cluster.state("g"), cluster.applications("root.q"), cluster.log.len()), (state, Vec::new(), 0));
        }
        assert_eq!(cluster.clear_away(), [""; 0], "{state}");
    }
}
