//! Watches against a scripted server: lists, breaks and bad objects become facts, in order.

use std::sync::Arc;
use std::time::Duration;

use gangline::runtime::watch::{Fact, Watches};
use gangline::shim::observation::{Observation, Seen, WatchFact};
use gangline::shim::op::Kind;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

use crate::scripted::{Asked, Reply, Server};

const LINGER: Duration = Duration::from_secs(30);

/// A server that knows TaskGroups as the script says, and nothing else.
fn groups(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |asked| {
        if asked.line.contains("/taskgroups?") { script(asked) } else { Reply::json(404, "404 page not found") }
    })
}

fn is_watch(asked: &Asked) -> bool {
    asked.line.contains("watch=true")
}

fn group(name: &str, rv: u32, member: &str) -> String {
    format!(
        r#"{{"apiVersion":"gangline.dev/v1alpha1","kind":"TaskGroup","metadata":{{"name":"{name}","namespace":"data",
        "uid":"u-{name}","resourceVersion":"{rv}"}},"spec":{{"minMember":{member},"minResource":{{}}}}}}"#
    )
    .replace('\n', "")
}

fn list(items: &[String], rv: u32) -> Reply {
    let items = items.join(",");
    Reply::json(
        200,
        format!(
            r#"{{"apiVersion":"gangline.dev/v1alpha1","kind":"TaskGroupList","metadata":{{"resourceVersion":"{rv}"}},
            "items":[{items}]}}"#
        ),
    )
}

fn event(kind: &str, object: &str) -> String {
    format!(r#"{{"type":"{kind}","object":{object}}}"#)
}

/// One word for a fact.
fn word(fact: WatchFact) -> String {
    let seen = |what: &str, seen: Seen| {
        let problem = seen.body.err().map(|bad| format!(" ({})", bad.problem)).unwrap_or_default();
        format!("{what} {}@{}{problem}", seen.key, seen.rv)
    };
    match fact {
        WatchFact::Unserved => "unserved".into(),
        WatchFact::ListBegin => "begin".into(),
        WatchFact::Listed(object) => seen("listed", object),
        WatchFact::ListEnd => "end".into(),
        WatchFact::Upsert(object) => seen("upsert", object),
        WatchFact::Gone(object) => seen("gone", object),
        WatchFact::Broken { code, message } => format!("broken {code} {message}"),
    }
}

/// The next facts about TaskGroups.
async fn next(facts: &mut Receiver<Fact>, count: usize) -> Vec<String> {
    let mut words = Vec::new();
    while words.len() < count {
        let fact = timeout(Duration::from_secs(10), facts.recv()).await;
        let fact = fact.unwrap_or_else(|_| panic!("only {words:?}")).expect("the watches run");
        if let Observation::Watch { kind: Kind::TaskGroup, fact, .. } = fact.observation {
            words.push(word(fact));
        }
    }
    words
}

fn start(server: &Server) -> (Watches, Receiver<Fact>) {
    let (sender, facts) = channel(4);
    (Watches::start(&server.client(), &sender, &Arc::default()), facts)
}

#[tokio::test]
async fn a_list_and_a_watch_become_facts_and_a_bad_object_is_one_of_them() {
    let server = groups(|asked| {
        if is_watch(asked) {
            let lines = vec![
                event("ADDED", &group("c", 11, "true")),
                event("MODIFIED", &group("a", 12, "3")),
                event("DELETED", &group("a", 13, "3")),
            ];
            return Reply::Stream(lines, LINGER);
        }
        list(&[group("a", 1, "2"), group("b", 2, r#""two""#)], 9)
    });
    let (_watches, mut facts) = start(&server);
    let expected = [
        "begin",
        "listed data/a@1",
        r#"listed data/b@2 (spec.minMember: invalid type: string "two", expected u32)"#,
        "end",
        "upsert data/c@11 (spec.minMember: invalid type: boolean `true`, expected u32)",
        "upsert data/a@12",
        "gone data/a@13",
    ];
    assert_eq!(next(&mut facts, 7).await, expected);
    let lines: Vec<_> = server.asked().into_iter().map(|asked| asked.line).collect();
    let list = lines.iter().find(|line| line.contains("/taskgroups?") && !line.contains("watch")).expect("listed");
    assert!(list.contains("limit=500") && !list.contains("resourceVersion"), "reads the most recent state: {list}");
}

#[tokio::test]
async fn a_watch_that_is_too_old_lists_again() {
    let server = groups(|asked| {
        let expired = r#"{"kind":"Status","status":"Failure","reason":"Expired","message":"too old","code":410}"#;
        match (is_watch(asked), asked.before) {
            (false, 0) => list(&[group("a", 1, "1")], 5),
            (false, _) => list(&[group("b", 8, "1")], 9),
            (true, 0) if asked.line.contains("resourceVersion=5") => {
                Reply::Stream(vec![event("ERROR", expired)], LINGER)
            }
            (true, _) => Reply::Stream(vec![], LINGER),
        }
    });
    let (_watches, mut facts) = start(&server);
    let expected =
        ["begin", "listed data/a@1", "end", "broken 410 watch taskgroups: too old", "begin", "listed data/b@8", "end"];
    assert_eq!(next(&mut facts, 7).await, expected);
}

#[tokio::test]
async fn a_kind_that_is_not_served_is_waited_for() {
    let server = groups(|asked| match (is_watch(asked), asked.before) {
        (false, 0 | 1) => Reply::json(404, "404 page not found"),
        (false, _) => list(&[], 9),
        (true, _) => Reply::Stream(vec![], LINGER),
    });
    let (_watches, mut facts) = start(&server);
    assert_eq!(next(&mut facts, 4).await, ["unserved", "unserved", "begin", "end"]);
}

#[tokio::test]
async fn a_kind_that_is_not_served_any_more_is_listed_again_when_it_is_back() {
    let server = groups(|asked| match (is_watch(asked), asked.before) {
        (false, 0) => list(&[group("a", 1, "1")], 5),
        (false, 1) | (true, 0) => Reply::json(404, "404 page not found"),
        (false, _) => list(&[], 9),
        (true, _) => Reply::Stream(vec![], LINGER),
    });
    let (_watches, mut facts) = start(&server);
    let expected = ["begin", "listed data/a@1", "end", "unserved", "unserved", "begin", "end"];
    assert_eq!(next(&mut facts, 7).await, expected);
}

#[tokio::test]
async fn a_missing_rule_is_named() {
    let server = groups(|_| {
        Reply::json(
            403,
            r#"{"kind":"Status","status":"Failure","reason":"Forbidden","message":"User \"x\" cannot","code":403}"#,
        )
    });
    let (_watches, mut facts) = start(&server);
    let words = next(&mut facts, 1).await;
    assert!(
        words[0].starts_with(r#"broken 403 list taskgroups: "#) && words[0].contains(r#"User "x" cannot"#),
        "{words:?}"
    );
}

#[tokio::test]
async fn a_cut_watch_goes_on_where_it_was() {
    let server = groups(|asked| match (is_watch(asked), asked.line.contains("resourceVersion=7")) {
        (false, _) => list(&[], 5),
        (true, false) => Reply::Stream(vec![event("ADDED", &group("a", 7, "1"))], Duration::ZERO),
        (true, true) => Reply::Stream(vec![event("ADDED", &group("b", 8, "1"))], LINGER),
    });
    let (_watches, mut facts) = start(&server);
    assert_eq!(next(&mut facts, 4).await, ["begin", "end", "upsert data/a@7", "upsert data/b@8"]);
}
