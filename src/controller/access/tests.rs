//! Tokens that come once, again, and in floods; and what the reviews' answers mean.

use http::HeaderValue;
use k8s_openapi::api::authentication::v1::{TokenReview, UserInfo};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use serde_json::{Value, json};

use super::*;

const GOOD: &str = "good";

fn about(token: &str) -> Question {
    Question::new(token, Page::Metrics)
}

fn forbidden() -> Verdict {
    Verdict::Forbidden { user: "u".into() }
}

/// Asks about a token and is answered at once; what was said to the question.
fn answered(access: &mut Access, now: u64, token: &str, answer: &Result<Verdict, Trouble>) -> Turn {
    let turn = access.turn(Mono(now), about(token));
    if turn == Turn::Ask {
        access.heard(about(token), answer);
    }
    turn
}

#[test]
fn an_answer_holds_for_its_time_and_a_refusal_for_a_shorter_one() {
    for (verdict, lasts) in [(Verdict::Allowed, 60_000), (forbidden(), 10_000), (Verdict::Unknown, 10_000)] {
        let mut access = Access::default();
        assert_eq!(answered(&mut access, 5, GOOD, &Ok(verdict.clone())), Turn::Ask);
        assert_eq!(access.turn(Mono(4 + lasts), about(GOOD)), Turn::Answered(verdict.clone()), "{verdict:?}");
        assert_eq!(access.turn(Mono(5 + lasts), about(GOOD)), Turn::Ask, "{verdict:?}");
    }
}

#[test]
fn an_answer_is_as_old_as_its_question() {
    let mut access = Access::default();
    assert_eq!(access.turn(Mono(0), about(GOOD)), Turn::Ask);
    // The answer took two seconds, in which the right may have been taken away.
    access.heard(about(GOOD), &Ok(Verdict::Allowed));
    assert_eq!(access.turn(Mono(LET_IN_MS), about(GOOD)), Turn::Ask);
}

#[test]
fn an_answer_is_about_one_token_and_one_page() {
    let mut access = Access::default();
    answered(&mut access, 0, GOOD, &Ok(Verdict::Allowed));
    assert_eq!(access.turn(Mono(1), Question::new(GOOD, Page::State)), Turn::Ask);
    assert_eq!(access.turn(Mono(1), about("other")), Turn::Ask);
    assert_eq!(access.turn(Mono(1), about(GOOD)), Turn::Answered(Verdict::Allowed));
}

#[test]
fn one_question_is_asked_once_whoever_waits_for_it() {
    let mut access = Access::default();
    assert_eq!(access.turn(Mono(0), about(GOOD)), Turn::Ask);
    for _ in 0..100 {
        assert_eq!(access.turn(Mono(0), about(GOOD)), Turn::Join);
    }
    access.heard(about(GOOD), &Ok(Verdict::Allowed));
    assert_eq!(access.turn(Mono(0), about(GOOD)), Turn::Answered(Verdict::Allowed));
}

#[test]
fn without_an_answer_nothing_is_learnt_and_the_next_asks_again() {
    let mut access = Access::default();
    let silent = || Err(Trouble::NoAnswer(TOKEN_REVIEWS));
    assert_eq!(answered(&mut access, 0, GOOD, &silent()), Turn::Ask);
    assert_eq!(answered(&mut access, 0, GOOD, &Ok(Verdict::Allowed)), Turn::Ask);
    // Whoever was let in stays known as one who was, but is not let in on an old answer.
    assert_eq!(answered(&mut access, LET_IN_MS, GOOD, &silent()), Turn::Ask);
    assert_eq!(access.turn(Mono(LET_IN_MS), about(GOOD)), Turn::Ask);
    let regulars = access.asked.values().filter(|(caller, _)| *caller == Caller::Regular).count();
    assert_eq!(regulars, 1);
    // What nobody asked for teaches nothing.
    access.heard(about("other"), &Ok(Verdict::Allowed));
    assert_eq!(access.turn(Mono(0), about("other")), Turn::Ask);
}

/// Ten thousand tokens a second for ten seconds, all of them nobody's.
#[test]
fn a_flood_of_tokens_is_no_flood_of_questions_and_keeps_no_regular_out() {
    let mut access = Access::default();
    answered(&mut access, 0, GOOD, &Ok(Verdict::Allowed));
    let mut asked = 0;
    for number in 0..100_000_u64 {
        let turn = answered(&mut access, number / 10, &format!("bad-{number}"), &Ok(Verdict::Unknown));
        asked += u64::from(turn == Turn::Ask);
        assert!(access.known.len() <= KEPT + 1 && access.asked.is_empty());
    }
    let bound = STRANGERS.rate.burst + 10 * STRANGERS.rate.per_second;
    assert!((bound - 5..=bound).contains(&asked), "{asked} of {bound}");
    assert_eq!(access.turn(Mono(9_999), about("a new one")), Turn::Later);
    assert_eq!(access.turn(Mono(LET_IN_MS), about(GOOD)), Turn::Ask, "a regular");
}

#[test]
fn so_many_are_asked_about_at_once_of_each_kind() {
    let mut access = Access::default();
    answered(&mut access, 0, GOOD, &Ok(Verdict::Allowed));
    let turns = |access: &mut Access, now| {
        (0..6)
            .map(|number| access.turn(Mono(now), about(&format!("{number}"))))
            .filter(|turn| *turn == Turn::Ask)
            .count()
    };
    assert_eq!(turns(&mut access, LET_IN_MS), STRANGERS.at_once);
    assert_eq!(access.turn(Mono(LET_IN_MS), about("more")), Turn::Later);
    assert_eq!(access.turn(Mono(LET_IN_MS), about(GOOD)), Turn::Ask);
    access.heard(about("0"), &Err(Trouble::NoClient));
    assert_eq!(access.turn(Mono(LET_IN_MS), about("more")), Turn::Ask);
}

#[test]
fn what_is_kept_is_bounded_and_refusals_go_first() {
    let mut access = Access::default();
    // Slowly enough that all of them may be asked about, and fast enough that all are remembered.
    let mut now = 0;
    let mut come = |access: &mut Access, token: &str, verdict: Verdict| {
        now += 200;
        assert_eq!(answered(access, now, token, &Ok(verdict)), Turn::Ask, "{token}");
        now
    };
    for number in 0..KEPT {
        come(&mut access, &format!("{number}"), Verdict::Allowed);
    }
    assert_eq!(access.known.len(), KEPT);
    come(&mut access, "refused", forbidden());
    assert_eq!(access.known.len(), KEPT);
    assert!(access.known.values().all(Known::is_allowed), "the refusal is the one that goes");
    come(&mut access, "one more", Verdict::Allowed);
    assert!(!access.known.contains_key(&about("0")) && access.known.contains_key(&about("1")), "the oldest goes");
}

#[test]
fn a_token_is_one_header_of_the_right_form() {
    let headers = |values: &[&str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        headers
    };
    for value in ["Bearer abc.d-e_f", "bearer abc.d-e_f", "BEARER  abc.d-e_f "] {
        assert_eq!(bearer(&headers(&[value])), Some("abc.d-e_f"), "{value}");
    }
    for value in ["", "Bearer", "Bearer ", "Basic abc", "abc", "Bearer a b", "Bearer a\tb", "Bearer \u{e9}"] {
        assert_eq!(bearer(&headers(&[value])), None, "{value}");
    }
    assert_eq!(bearer(&headers(&[])), None);
    assert_eq!(bearer(&headers(&["Bearer a", "Bearer b"])), None);
    let long = |length| format!("Bearer {}", "a".repeat(length));
    assert!(bearer(&headers(&[&long(TOKEN_MAX)])).is_some());
    assert_eq!(bearer(&headers(&[&long(TOKEN_MAX + 1)])), None);
}

/// An answer as the API server writes it.
fn token_review(status: &Value) -> TokenReview {
    serde_json::from_value(json!({"metadata": {}, "spec": {"token": ""}, "status": status})).unwrap()
}

#[test]
fn only_an_authenticated_user_with_a_name_is_one() {
    let user = json!({"username": "u", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}});
    let known = identified(token_review(&json!({"authenticated": true, "user": user}))).unwrap();
    assert_eq!(known.as_ref().and_then(|user| user.username.as_deref()), Some("u"));
    for status in [json!({}), json!({"authenticated": false, "user": user}), json!({"error": "invalid bearer token"})] {
        assert_eq!(identified(token_review(&status)), Ok(None), "{status}");
    }
    let empty = Err(Trouble::Empty(TOKEN_REVIEWS));
    assert_eq!(identified(token_review(&json!(null))), empty);
    assert_eq!(identified(token_review(&json!({"authenticated": true}))), empty);
    assert_eq!(identified(token_review(&json!({"authenticated": true, "user": {"username": ""}}))), empty);
}

#[test]
fn all_that_is_known_of_a_user_is_asked_about_and_only_a_clear_yes_lets_in() {
    let user: UserInfo =
        serde_json::from_value(json!({"username": "u", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}})).unwrap();
    assert_eq!(
        serde_json::to_value(permit(&user, Page::State)).unwrap()["spec"],
        json!({"user": "u", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]},
            "nonResourceAttributes": {"path": "/state", "verb": "get"}})
    );
    assert_eq!(serde_json::to_value(identify("t")).unwrap()["spec"], json!({"token": "t"}));
    let answer = |status: Value| {
        let review: SubjectAccessReview =
            serde_json::from_value(json!({"metadata": {}, "spec": {}, "status": status})).unwrap();
        permitted(&user, review)
    };
    assert_eq!(answer(json!({"allowed": true})), Ok(Verdict::Allowed));
    assert_eq!(answer(json!({"allowed": false, "reason": "no"})), Ok(forbidden()));
    assert_eq!(answer(json!({"allowed": true, "denied": true})), Ok(forbidden()));
    assert_eq!(answer(json!(null)), Err(Trouble::Empty(ACCESS_REVIEWS)));
    let long = UserInfo { username: Some("é".repeat(9_999)), ..UserInfo::default() };
    let refused = SubjectAccessReview { status: Some(Default::default()), ..SubjectAccessReview::default() };
    assert_eq!(permitted(&long, refused), Ok(Verdict::Forbidden { user: "é".repeat(320).into() }));
}

#[test]
fn each_refusal_has_its_code_and_says_what_is_missing() {
    let refusal = |answer| Refusal::unless_allowed(answer, Page::State).unwrap_err();
    assert_eq!(Refusal::unless_allowed(Ok(Verdict::Allowed), Page::State), Ok(()));
    for (refusal, code, words) in [
        (Refusal::NoToken, 401, "Authorization: Bearer"),
        (refusal(Ok(Verdict::Unknown)), 401, "does not know this token"),
        (refusal(Ok(forbidden())), 403, "user \"u\" cannot get path \"/state\""),
        (Refusal::TooMany, 429, "try again"),
        (refusal(Err(Trouble::NoClient)), 503, "cannot be asked who may read this: not logged in there"),
        (refusal(Err(Trouble::NoAnswer(TOKEN_REVIEWS))), 503, "no answer to create tokenreviews"),
        (
            refusal(Err(Trouble::Refused { resource: ACCESS_REVIEWS, code: 403 })),
            503,
            "it answers create subjectaccessreviews with 403",
        ),
    ] {
        assert_eq!(refusal.code(), code);
        assert!(refusal.to_string().contains(words), "{refusal} should say {words}");
    }
}
