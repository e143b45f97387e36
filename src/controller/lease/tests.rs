//! One Lease by hand: each rule in a few steps.

use super::*;

pub(super) const TIMING: Timing = Timing { duration_ms: 15_000, renew_ms: 10_000, retry_ms: 2_000 };

fn record(version: &str, holder: Option<&str>) -> Record {
    Record { version: version.into(), holder: holder.map(Into::into), duration_ms: 15_000, transitions: 3 }
}

fn shown(version: &str, holder: Option<&str>) -> Answer {
    Answer::Shown(record(version, holder))
}

fn me() -> Lease {
    Lease::new("me".into(), TIMING)
}

/// Asks at this time; fails if there is nothing to ask.
fn ask(lease: &mut Lease, now: u64) -> Request {
    match lease.next(Mono(now)) {
        Next::Ask(request) => request,
        other @ (Next::Wait(_) | Next::End) => panic!("{other:?} at {now}"),
    }
}

/// Asks at one time and is answered at another; what was asked.
fn ask_answered(lease: &mut Lease, (asked, heard): (u64, u64), answer: Answer) -> Verb {
    let request = ask(lease, asked);
    lease.heard(Mono(heard), request.number, answer);
    request.verb
}

fn take(version: &str, transitions: u32) -> Verb {
    Verb::Take { version: version.into(), transitions }
}

fn renew(version: &str) -> Verb {
    Verb::Renew { version: version.into() }
}

fn leads(lease: &Lease, now: u64) -> bool {
    matches!(lease.standing(Mono(now)), Standing::Leads { .. })
}

fn reign(lease: &Lease, now: u64) -> Option<u64> {
    match lease.standing(Mono(now)) {
        Standing::Leads { reign, .. } => Some(reign),
        Standing::Follows => None,
    }
}

/// Holds version 5 since a write that was sent at 0.
fn holder() -> Lease {
    let mut lease = me();
    assert_eq!(ask_answered(&mut lease, (0, 0), Answer::Absent), Verb::Look);
    assert_eq!(ask_answered(&mut lease, (0, 30), shown("5", Some("me"))), Verb::Create);
    lease
}

#[test]
fn a_lease_that_does_not_exist_is_made_and_held() {
    let lease = holder();
    assert_eq!(lease.standing(Mono(30)), Standing::Leads { reign: 1, until: Mono(10_000) });
}

/// It may have come after the Lease of another who still leads was deleted.
#[test]
fn a_creation_of_ours_of_which_we_did_not_hear_is_waited_for_like_anothers() {
    let mut lease = me();
    ask_answered(&mut lease, (0, 0), Answer::Absent);
    assert_eq!(ask_answered(&mut lease, (0, 30), Answer::Failed), Verb::Create);
    let late = || Answer::Shown(Record { transitions: 0, ..record("7", Some("me")) });
    assert_eq!(ask_answered(&mut lease, (2_100, 2_110), late()), Verb::Look);
    assert_eq!(ask_answered(&mut lease, (10_000, 10_010), late()), Verb::Look, "15 s from when it was seen first");
    assert!(matches!(ask(&mut lease, 17_200).verb, Verb::Take { .. }));
}

#[test]
fn it_counts_from_the_sending_and_ends_by_itself() {
    let mut lease = me();
    ask_answered(&mut lease, (0, 0), Answer::Absent);
    ask_answered(&mut lease, (100, 4_000), shown("5", Some("me")));
    assert!(leads(&lease, 10_100) && !leads(&lease, 10_101));
}

#[test]
fn it_is_renewed_at_its_pace_by_its_version() {
    let mut lease = holder();
    assert_eq!(lease.next(Mono(30)), Next::Wait(Mono(2_000)));
    assert_eq!(ask_answered(&mut lease, (2_000, 2_010), shown("6", Some("me"))), renew("5"));
    assert_eq!(lease.next(Mono(2_010)), Next::Wait(Mono(4_000)));
    assert_eq!(ask_answered(&mut lease, (4_000, 4_010), shown("7", Some("me"))), renew("6"));
    assert_eq!(reign(&lease, 14_000), Some(1));
}

#[test]
fn a_renewal_without_an_answer_is_looked_after() {
    let mut lease = holder();
    assert_eq!(ask_answered(&mut lease, (2_000, 7_000), Answer::Failed), renew("5"));
    assert_eq!(ask_answered(&mut lease, (7_000, 7_010), shown("6", Some("me"))), Verb::Look);
    assert_eq!(ask_answered(&mut lease, (7_010, 7_020), shown("8", Some("me"))), renew("6"));
    assert_eq!(lease.standing(Mono(7_020)), Standing::Leads { reign: 1, until: Mono(17_010) });
}

/// What was written without an answer may have been written at any time since: only a write that is answered counts.
#[test]
fn to_see_it_in_ones_own_name_is_not_to_hold_it() {
    let mut lease = me();
    assert_eq!(ask_answered(&mut lease, (0, 5), shown("9", Some("me"))), Verb::Look);
    assert!(!leads(&lease, 5));
    assert_eq!(ask_answered(&mut lease, (5, 9), shown("10", Some("me"))), take("9", 3));
    assert!(leads(&lease, 9));
}

/// It was made so late that the Lease of another was deleted meanwhile, who perhaps leads still.
#[test]
fn a_creation_without_an_answer_is_waited_for_like_anothers() {
    let mut lease = me();
    ask_answered(&mut lease, (0, 0), Answer::Absent);
    assert_eq!(ask_answered(&mut lease, (0, 5_000), Answer::Failed), Verb::Create);
    ask_answered(&mut lease, (5_000, 5_010), shown("5", Some("other")));
    let ours = || Answer::Shown(Record { transitions: 0, ..record("9", Some("me")) });
    for now in (6_010..21_000).step_by(1_000) {
        assert_eq!(ask_answered(&mut lease, (now, now), ours()), Verb::Look, "{now}");
    }
    assert_eq!(ask(&mut lease, 21_010).verb, take("9", 0));
}

#[test]
fn no_request_of_a_holder_lasts_longer_than_its_time() {
    let mut lease = holder();
    assert_eq!(ask(&mut lease, 2_000).within_ms, 5_000);
    lease.heard(Mono(7_000), 3, Answer::Failed);
    assert_eq!(ask(&mut lease, 7_000).within_ms, 3_001);
}

#[test]
fn nobody_but_its_holder_takes_it_before_its_time() {
    let mut lease = me();
    ask_answered(&mut lease, (0, 40), shown("5", Some("other")));
    for now in (1..15).map(|second| second * 1_000 + 40) {
        let verb = ask_answered(&mut lease, (now, now), shown("5", Some("other")));
        assert_eq!((verb, leads(&lease, now)), (Verb::Look, false), "{now}");
    }
    assert_eq!(lease.next(Mono(15_039)), Next::Wait(Mono(15_040)));
    assert_eq!(ask_answered(&mut lease, (15_040, 15_050), shown("6", Some("me"))), take("5", 4));
    assert!(leads(&lease, 15_050));
}

#[test]
fn each_other_version_counts_anew_whoever_wrote_it() {
    let mut lease = me();
    ask_answered(&mut lease, (0, 0), shown("5", Some("other")));
    ask_answered(&mut lease, (14_000, 14_000), shown("6", Some("other")));
    assert_eq!(ask_answered(&mut lease, (15_000, 15_000), shown("6", Some("other"))), Verb::Look);
    ask_answered(&mut lease, (28_999, 28_999), shown("6", Some("other")));
    assert_eq!(ask(&mut lease, 29_000).verb, take("6", 4));
}

#[test]
fn a_longer_duration_of_its_holder_is_respected_within_a_bound() {
    for (duration_ms, free_at) in [(1_000, 15_000), (60_000, 60_000), (u64::MAX, DURATION_MAX_MS)] {
        let mut lease = me();
        ask_answered(&mut lease, (0, 0), Answer::Shown(Record { duration_ms, ..record("5", Some("other")) }));
        ask_answered(&mut lease, (free_at - 1, free_at - 1), shown("5", Some("other")));
        assert_eq!(lease.next(Mono(free_at - 1)), Next::Wait(Mono(free_at)), "{duration_ms}");
        assert_eq!(ask(&mut lease, free_at).verb, take("5", 4), "{duration_ms}");
    }
}

#[test]
fn one_that_was_given_back_is_taken_at_the_next_look() {
    let mut lease = me();
    ask_answered(&mut lease, (0, 0), shown("5", Some("other")));
    assert_eq!(lease.next(Mono(0)), Next::Wait(Mono(1_000)));
    ask_answered(&mut lease, (1_000, 1_020), shown("6", None));
    assert_eq!(ask_answered(&mut lease, (1_020, 1_040), shown("7", Some("me"))), take("6", 4));
    assert!(leads(&lease, 1_040));
}

#[test]
fn who_comes_second_looks_and_waits() {
    let mut lease = me();
    ask_answered(&mut lease, (0, 0), shown("6", None));
    // The other one was faster.
    ask_answered(&mut lease, (0, 10), Answer::Failed);
    assert_eq!(lease.next(Mono(10)), Next::Wait(Mono(2_000)));
    assert_eq!(ask_answered(&mut lease, (2_000, 2_010), shown("7", Some("other"))), Verb::Look);
    assert_eq!(lease.holder().map(|holder| &**holder), Some("other"));
    assert!(!leads(&lease, 2_010));
    assert_eq!(lease.next(Mono(2_010)), Next::Wait(Mono(3_010)));
}

#[test]
fn whoever_sees_another_in_its_place_leads_no_more() {
    for other in [Some("other"), None] {
        let mut lease = holder();
        ask_answered(&mut lease, (2_000, 2_010), Answer::Failed);
        assert!(leads(&lease, 2_010), "a refusal says nothing of who holds it");
        assert_eq!(ask_answered(&mut lease, (4_000, 4_010), shown("6", other)), Verb::Look);
        assert!(!leads(&lease, 4_010), "{other:?}");
    }
}

#[test]
fn to_hold_it_again_is_another_reign() {
    let mut lease = holder();
    assert_eq!(ask_answered(&mut lease, (10_001, 10_020), shown("6", Some("me"))), take("5", 3));
    assert_eq!(reign(&lease, 10_020), Some(2));
}

/// Stopped for a minute: what it believed is over at its first look at the clock, whatever answer lies there.
#[test]
fn a_pause_ends_it() {
    let mut lease = holder();
    let request = ask(&mut lease, 2_000);
    assert!(!leads(&lease, 62_000));
    lease.heard(Mono(62_000), request.number, shown("6", Some("me")));
    assert!(!leads(&lease, 62_000), "it was sent a minute ago");
    ask_answered(&mut lease, (62_000, 62_010), shown("9", Some("other")));
    assert!(!leads(&lease, 62_010));
}

#[test]
fn an_answer_counts_once_and_only_for_its_request() {
    let mut lease = holder();
    let first = ask(&mut lease, 2_000);
    lease.heard(Mono(7_000), first.number, Answer::Failed);
    let look = ask(&mut lease, 7_000);
    // The answer of the first comes after all, and comes twice.
    lease.heard(Mono(7_001), first.number, shown("6", Some("me")));
    lease.heard(Mono(7_002), first.number, shown("6", Some("me")));
    assert_eq!(lease.standing(Mono(7_003)), Standing::Leads { reign: 1, until: Mono(10_000) });
    lease.heard(Mono(7_004), look.number, shown("6", Some("me")));
    lease.heard(Mono(7_005), look.number, shown("6", Some("other")));
    assert!(leads(&lease, 7_006));
}

#[test]
fn a_holder_makes_it_anew_if_it_was_deleted() {
    let mut lease = holder();
    assert_eq!(ask_answered(&mut lease, (2_000, 2_010), Answer::Absent), renew("5"));
    assert_eq!(ask_answered(&mut lease, (2_010, 2_020), shown("8", Some("me"))), Verb::Create);
    assert_eq!(reign(&lease, 12_010), Some(1));
}

#[test]
fn whoever_saw_one_waits_when_it_is_gone_as_for_its_holder() {
    let mut lease = me();
    ask_answered(&mut lease, (0, 0), shown("5", Some("other")));
    ask_answered(&mut lease, (14_000, 14_000), Answer::Absent);
    ask_answered(&mut lease, (28_000, 28_999), Answer::Absent);
    assert_eq!(lease.next(Mono(28_999)), Next::Wait(Mono(29_000)));
    assert_eq!(ask(&mut lease, 29_000).verb, Verb::Create);
}

#[test]
fn what_cannot_be_made_is_tried_at_its_pace() {
    let mut lease = me();
    ask_answered(&mut lease, (0, 0), Answer::Absent);
    // There is no such namespace.
    ask_answered(&mut lease, (0, 10), Answer::Absent);
    assert_eq!(lease.next(Mono(10)), Next::Wait(Mono(2_000)));
}

#[test]
fn what_is_given_back_is_not_taken_again() {
    let mut lease = holder();
    lease.release();
    assert_eq!(lease.standing(Mono(500)), Standing::Follows, "another may hold it as soon as this is asked");
    let request = ask(&mut lease, 500);
    assert_eq!(request.verb, Verb::Release { version: "5".into() });
    lease.heard(Mono(510), request.number, shown("6", None));
    assert_eq!((lease.next(Mono(510)), lease.standing(Mono(510))), (Next::End, Standing::Follows));
}

#[test]
fn what_is_not_held_or_not_known_is_not_given_back() {
    let mut follower = me();
    ask_answered(&mut follower, (0, 0), shown("5", Some("other")));
    let mut doubting = holder();
    ask_answered(&mut doubting, (2_000, 7_000), Answer::Failed);
    for mut lease in [follower, doubting] {
        lease.release();
        assert_eq!(lease.next(Mono(7_000)), Next::End);
    }
}

fn both() -> Leases {
    Leases::new(["b".into(), "a".into(), "b".into()], &"me".into(), TIMING)
}

fn answer(leases: &mut Leases, now: u64, reply: impl Fn(&str, &Verb) -> Answer) -> Option<(String, Verb)> {
    let (name, next) = leases.next(Mono(now), true);
    let Next::Ask(request) = next else { return None };
    leases.heard(Mono(now), &name, &request, reply(&name, &request.verb));
    Some((name.to_string(), request.verb))
}

fn all_free(_name: &str, verb: &Verb) -> Answer {
    if *verb == Verb::Look { shown("1", None) } else { shown("2", Some("me")) }
}

#[test]
fn several_are_taken_in_one_order_and_count_together() {
    let mut leases = both();
    let asked: Vec<_> = (0..4).filter_map(|step| answer(&mut leases, step * 10, all_free)).collect();
    assert_eq!(asked.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["a", "a", "b", "b"]);
    assert_eq!(leases.standing(Mono(40)), Standing::Leads { reign: 2, until: Mono(10_010) });
    assert_eq!(leases.next(Mono(40), true), ("a".into(), Next::Wait(Mono(2_010))));
}

#[test]
fn of_several_one_that_is_held_by_another_is_enough_to_follow() {
    let mut leases = both();
    let reply = |name: &str, verb: &Verb| if name == "b" { shown("1", Some("x")) } else { all_free(name, verb) };
    (0..3).for_each(|step| drop(answer(&mut leases, step, reply)));
    assert_eq!(leases.standing(Mono(3)), Standing::Follows);
    assert_eq!(leases.holder().map(|(name, holder)| (&**name, &**holder)), Some(("b", "x")));
    // The first is held meanwhile.
    let asked: Vec<_> = (0..60).filter_map(|step| answer(&mut leases, step * 100, reply)).collect();
    assert!(asked.contains(&("a".to_owned(), renew("2"))), "{asked:?}");
}

#[test]
fn who_cannot_read_the_cluster_keeps_what_it_holds_and_takes_nothing() {
    let mut leases = both();
    assert_eq!(leases.next(Mono(0), false).1, Next::Wait(Mono(100)));
    (0..2).for_each(|step| drop(answer(&mut leases, step, all_free)));
    // One of them is held, to be kept, and then to be taken again.
    assert!(matches!(leases.next(Mono(2), false).1, Next::Ask(Request { verb: Verb::Look, .. })));
    assert_eq!(leases.next(Mono(20_000), false).1, Next::Wait(Mono(20_100)));
    leases.release();
    assert_eq!(leases.next(Mono(20_000), false).1, Next::End);
}

#[test]
fn all_of_several_are_given_back() {
    let mut leases = both();
    (0..4).for_each(|step| drop(answer(&mut leases, step, all_free)));
    leases.release();
    let release = |name: &str| Some((name.to_owned(), Verb::Release { version: "2".into() }));
    assert_eq!([answer(&mut leases, 5, all_free), answer(&mut leases, 6, all_free)], [release("a"), release("b")]);
    assert_eq!(leases.next(Mono(7), true).1, Next::End);
}

/// Somebody else has written it: that may have been to take it.
#[test]
fn a_conflict_ends_a_reign_until_it_is_seen_what_was_written() {
    let mut lease = holder();
    assert_eq!(ask_answered(&mut lease, (2_000, 2_010), Answer::Conflict), renew("5"));
    assert!(!leads(&lease, 2_010));
    // Something beside the holder: it is taken again at once, in another reign.
    assert_eq!(ask_answered(&mut lease, (2_010, 2_020), shown("6", Some("me"))), Verb::Look);
    assert_eq!(ask_answered(&mut lease, (2_020, 2_030), shown("7", Some("me"))), take("6", 3));
    assert_eq!(reign(&lease, 2_030), Some(2));
    assert_eq!(ask_answered(&mut lease, (4_020, 4_030), Answer::Conflict), renew("7"));
    assert_eq!(ask_answered(&mut lease, (4_030, 4_040), shown("9", Some("other"))), Verb::Look);
    assert!(!leads(&lease, 4_040) && !leads(&lease, 19_000));
}
