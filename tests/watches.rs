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
    next_of(Kind::TaskGroup, facts, count).await
}

async fn next_of(wanted: Kind, facts: &mut Receiver<Fact>, count: usize) -> Vec<String> {
    let mut words = Vec::new();
    while words.len() < count {
        let fact = timeout(Duration::from_secs(10), facts.recv()).await;
        let fact = fact.unwrap_or_else(|_| panic!("only {words:?}")).expect("the watches run");
        if let Observation::Watch { kind, fact, .. } = fact.observation
            && kind == wanted
        {
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

/// A message of protobuf's field `number` with this content; all of them are short.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(content.len()).expect("short")], content].concat()
}

/// A pod of protobuf, without the envelope of an object.
fn pod(name: &str, rv: &str) -> Vec<u8> {
    let metadata = [field(1, name.as_bytes()), field(3, b"data"), field(5, name.as_bytes()), field(6, rv.as_bytes())];
    field(1, &metadata.concat())
}

fn object(kind: &str, message: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &type_meta), field(2, message)].concat()
}

/// A frame of a watch: its length and an event.
fn frame(kind: &str, object: &[u8]) -> Vec<u8> {
    let event = [field(1, kind.as_bytes()), field(2, &field(1, object))].concat();
    [&u32::try_from(event.len()).expect("short").to_be_bytes()[..], &event].concat()
}

const PROTOBUF: &str = "Content-Type: application/vnd.kubernetes.protobuf\r\n";

fn page(pods: &[Vec<u8>], rv: &str, more: &str) -> Reply {
    let metadata = [field(2, rv.as_bytes()), field(3, more.as_bytes())].concat();
    let items: Vec<u8> = pods.iter().flat_map(|pod| field(2, pod)).collect();
    let list = object("PodList", &[field(1, &metadata), items].concat());
    Reply::Answer(200, PROTOBUF, list)
}

/// As the API server does it: pages, a bookmark, an event that comes in two parts, and in the end a watch that is too old.
fn pods_in_protobuf(asked: &Asked) -> Reply {
    let stream = "Content-Type: application/vnd.kubernetes.protobuf;stream=watch\r\n";
    match (is_watch(asked), asked.before) {
        (false, _) if asked.line.contains("continue=more") => page(&[pod("b", "2")], "5", ""),
        (false, 0) => page(&[pod("a", "1")], "5", "more"),
        (false, _) => page(&[], "30", ""),
        (true, 0) if asked.line.contains("resourceVersion=5") => {
            let bad = [pod("bad", "7"), field(2, b"\x0a\x7f")].concat();
            let (changed, gone) = (frame("MODIFIED", &object("Pod", &pod("a", "6"))), object("Pod", &pod("a", "8")));
            let (start, rest) = changed.split_at(20);
            let bookmark = object("Pod", &field(1, &field(6, b"20")));
            let frames = [
                start.to_vec(),
                [rest, &frame("ADDED", &object("Pod", &bad)), &frame("DELETED", &gone)].concat(),
                frame("BOOKMARK", &bookmark),
            ];
            Reply::Bytes(stream, frames.to_vec(), Duration::ZERO)
        }
        (true, _) if asked.line.contains("resourceVersion=20") => {
            let expired = [field(2, b"Failure"), field(3, b"too old"), field(4, b"Expired"), b"\x30\x9a\x03".to_vec()];
            Reply::Bytes(stream, vec![frame("ERROR", &object("Status", &expired.concat()))], LINGER)
        }
        (true, _) => Reply::Stream(vec![], LINGER),
    }
}

#[tokio::test]
async fn pods_are_asked_for_in_protobuf_and_become_facts_like_any_other() {
    let server = Server::start(|asked| {
        if asked.line.contains("/pods?") { pods_in_protobuf(asked) } else { Reply::json(404, "404 page not found") }
    });
    let (_watches, mut facts) = start(&server);
    let expected = [
        "begin",
        "listed data/a@1",
        "listed data/b@2",
        "end",
        "upsert data/a@6",
        r#"upsert data/bad@7 (spec: invalid type: string "malformed protobuf", expected PodSpec)"#,
        "gone data/a@8",
        "broken 410 watch pods: too old",
        "begin",
        "end",
    ];
    assert_eq!(next_of(Kind::Pod, &mut facts, expected.len()).await, expected);
    for asked in server.asked() {
        let is_protobuf = asked.accept.contains("application/vnd.kubernetes.protobuf");
        assert_eq!(is_protobuf, asked.line.contains("/pods?"), "{}: {}", asked.line, asked.accept);
    }
}

#[tokio::test]
async fn pods_in_json_and_a_refusal_in_protobuf_are_understood_too() {
    let server = Server::start(|asked| match (asked.line.contains("/pods?"), is_watch(asked), asked.before) {
        (false, _, _) => Reply::json(404, "404 page not found"),
        (true, true, _) => Reply::Stream(vec![], LINGER),
        (true, false, 0) => {
            let refusal = [field(2, b"Failure"), field(3, b"you may not"), b"\x30\x93\x03".to_vec()].concat();
            Reply::Answer(403, PROTOBUF, object("Status", &refusal))
        }
        (true, false, 1) => Reply::Answer(403, PROTOBUF, b"<html>".to_vec()),
        (true, false, _) => {
            Reply::json(200, r#"{"metadata":{"resourceVersion":"3"},"items":[{"metadata":{"name":"a"}}]}"#)
        }
    });
    let (_watches, mut facts) = start(&server);
    let words = next_of(Kind::Pod, &mut facts, 5).await;
    assert!(words[0].starts_with("broken 403 list pods: ") && words[0].contains("you may not"), "{words:?}");
    assert!(words[1].starts_with("broken 403 list pods: "), "{words:?}");
    assert_eq!(words[2..], ["begin", "listed a@0", "end"]);
}
