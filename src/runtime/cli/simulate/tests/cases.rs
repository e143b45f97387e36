//! The small inputs of `tests/cases/`: what must happen, and what did (their README says why).

use std::collections::BTreeMap;

use super::*;
use crate::shim::op::Kind;
use crate::sim::api::{Api, has_ended};

/// Longest wait of somebody who need not wait: calls and a node's start of a pod.
const AT_ONCE: Millis = 2_000;

/// A pod that was there at some time.
#[derive(Debug, Default)]
struct Ran {
    /// The node that it got.
    node: Option<String>,
    /// When it ran first.
    from: Option<Millis>,
    /// When it had ended.
    to: Option<Millis>,
    /// Reasons and messages of `PodScheduled=False` so far.
    said: Vec<(String, String)>,
}

/// What came of a case.
struct Outcome {
    story: Story,
    /// Every pod that there was, by name: placeholders, too.
    pods: BTreeMap<String, Ran>,
    /// Every message of a TaskGroup's status, with its name and when it was first there.
    statuses: Vec<(Millis, String, String)>,
}

impl Outcome {
    fn look(&mut self, now: Millis, api: &Api) {
        for (key, body) in api.store.of_kind(Kind::Pod) {
            let Body::Pod(pod) = body else { continue };
            let ran = self.pods.entry(key.name.to_string()).or_default();
            let status = pod.status.as_ref();
            ran.node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
            let runs = status.and_then(|status| status.phase.as_deref()) == Some("Running");
            ran.from = ran.from.or(runs.then_some(now));
            ran.to = ran.to.or(has_ended(pod).then_some(now));
            let waits = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
            for condition in waits.filter(|one| one.type_ == "PodScheduled" && one.status == "False") {
                let said =
                    (condition.reason.clone().unwrap_or_default(), condition.message.clone().unwrap_or_default());
                if ran.said.last() != Some(&said) {
                    ran.said.push(said);
                }
            }
        }
        for (key, body) in api.store.of_kind(Kind::TaskGroup) {
            let Body::TaskGroup(group) = body else { continue };
            let message = group.status.as_ref().map(|status| status.message.clone()).unwrap_or_default();
            let last = self.statuses.iter().rev().find(|(_, name, _)| *name == *key.name);
            if last.is_none_or(|(_, _, last)| *last != message) {
                self.statuses.push((now, key.name.to_string(), message));
            }
        }
    }

    fn pod(&self, name: &str) -> &Ran {
        self.pods.get(name).unwrap_or_else(|| panic!("{name} came: {:#?}", self.pods))
    }

    /// When a pod ran first, if it did.
    fn from(&self, name: &str) -> Option<Millis> {
        self.pod(name).from
    }

    /// Whether a pod ran as soon as it could after this.
    fn ran_at(&self, name: &str, earliest: Millis) -> bool {
        self.from(name).is_some_and(|from| (earliest..=earliest + AT_ONCE).contains(&from))
    }

    /// Pods of a Job, or of whatever names its pods so.
    fn of<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Ran> {
        self.pods.iter().filter(move |(name, _)| name.starts_with(prefix)).map(|(_, ran)| ran)
    }

    /// Those pods of the scheduler's own that ever held a node.
    fn holders(&self) -> usize {
        self.of("tg-").filter(|ran| ran.node.is_some()).count()
    }

    fn gang(&self, name: &str) -> &Gang {
        gang(&self.story, name)
    }

    /// Code and sentence with which a pod waits in the end.
    fn waits(&self, name: &str) -> (&str, &str) {
        let name = format!("default/{name}");
        let waiting = self.story.waiting.iter().find(|waiting| waiting.pods.contains(&name));
        let waiting = waiting.unwrap_or_else(|| panic!("{name} waits: {:#?}", self.story.waiting));
        (&waiting.reason, &waiting.message)
    }

    /// What a queue charges in the end.
    fn charged(&self, queue: &str) -> i64 {
        let queue = self.story.queues.iter().find(|one| one.name == queue);
        let last = |usage: &Usage| usage.over_time.last().map_or(0, |(_, used)| *used);
        queue.map_or(0, |queue| queue.resources.values().map(last).sum())
    }
}

fn case_text(file: &str) -> String {
    let path = format!("{}/tests/cases/{file}.yaml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What comes of a text, for half an hour as its README has it.
fn outcome(text: &str, nodes: Option<&str>, more: &[&str]) -> Outcome {
    let args = flags(&[&["--until", "30m"], more].concat());
    let mut outcome = Outcome { story: Story::default(), pods: BTreeMap::new(), statuses: Vec::new() };
    let play = cluster(given(&[("case.yaml", text)], nodes), &args);
    outcome.story = play.run(millis(args.until), |now, api| outcome.look(now, api));
    outcome
}

/// A case: its file, its nodes if it has none itself, and what must happen.
struct Case(&'static str, Option<&'static str>, fn(&Outcome));

/// Every file of `tests/cases/`.
const CASES: [Case; 11] = [
    Case("too-large-for-nodes", Some("1x3cpu,8Gi"), too_large_for_nodes),
    Case("selector-typo", Some("1x3cpu,8Gi"), selector_typo),
    Case("late-driver", Some("2x8cpu,32Gi"), late_driver),
    Case("restart-in-part", Some("1x4cpu,8Gi"), restart_in_part),
    Case("never-submitted", Some("1x4cpu,8Gi"), never_submitted),
    Case("members-refused", Some("1x4cpu,8Gi"), members_refused),
    Case("foreign-marker", Some("1x4cpu,8Gi"), declared_gang),
    Case("head-larger-than-its-group", Some("2x8cpu,32Gi"), head_larger),
    Case("template-lacks-the-selector", None, template_lacks_the_selector),
    Case("driver-and-gpu-worker", None, driver_and_gpu_worker),
    Case("other-node-comes", None, other_node_comes),
];

#[test]
fn every_case_comes_out_right() {
    for Case(file, nodes, check) in &CASES {
        check(&outcome(&case_text(file), *nodes, &[]));
    }
}

#[test]
fn every_file_is_a_case() {
    let dir = std::fs::read_dir(format!("{}/tests/cases", env!("CARGO_MANIFEST_DIR"))).expect("they are there");
    let mut files: Vec<String> =
        dir.map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned()).collect();
    let mut cases: Vec<String> = CASES.iter().map(|Case(file, ..)| format!("{file}.yaml")).collect();
    cases.push("README.md".to_owned());
    files.sort();
    cases.sort();
    assert_eq!(files, cases);
}

fn too_large_for_nodes(played: &Outcome) {
    assert!(played.ran_at("small", 1_000), "{:?}", played.pod("small"));
    let ((reason, message), big) = (played.waits("big"), played.gang("big"));
    assert_eq!((played.from("big"), big.started, reason), (None, None, "Unschedulable"), "{message}");
    assert!(message.contains("cpu"), "what is short: {message}");
}

fn selector_typo(played: &Outcome) {
    assert!(played.ran_at("small", 1_000), "{:?}", played.pod("small"));
    let (_, message) = played.waits("big");
    assert_eq!((played.from("big"), played.gang("big").started), (None, None), "{message}");
    assert!(!message.contains("cpu") && message.contains("select"), "no node matches: {message}");
}

fn late_driver(played: &Outcome) {
    let executors = played.gang("executors");
    assert_eq!((executors.state, executors.reason), ("Rejected", "ExceedsMaxQuota"), "{executors:#?}");
    assert_eq!((played.from("driver"), played.charged("root.q")), (None, 0), "{:#?}", played.story.queues);
    let left =
        played.story.waiting.iter().flat_map(|waiting| &waiting.pods).filter(|pod| pod.starts_with("default/tg-"));
    assert_eq!(left.count(), 0, "{:#?}", played.story.waiting);
}

fn restart_in_part(played: &Outcome) {
    let ended = played.pod("stranger").to.expect("the stranger ends");
    let starts: Vec<_> = played.of("again-").map(|ran| ran.from).collect();
    assert!(starts.len() == 4 && starts.iter().all(|from| from.is_some_and(|from| from >= ended)), "{starts:?}");
    let (first, last) = (starts.iter().flatten().min(), starts.iter().flatten().max());
    assert!(last.zip(first).is_some_and(|(last, first)| last - first <= AT_ONCE), "{starts:?}");
    assert!((660_000..=ended + AT_ONCE).contains(first.expect("it starts")), "{starts:?}");
}

fn never_submitted(played: &Outcome) {
    let real: Vec<_> = played.of("real-").map(|ran| ran.from).collect();
    let at_once = |from: &Option<Millis>| from.is_some_and(|from| (10_000..=10_000 + AT_ONCE).contains(&from));
    assert!(real.len() == 3 && real.iter().all(at_once), "{real:?}");
    let ghost = played.gang("ghost");
    assert_eq!((ghost.state, ghost.reason, ghost.started), ("Accepted", "WaitingForFirstPod", None), "{ghost:#?}");
}

fn members_refused(played: &Outcome) {
    assert!(played.ran_at("other", 10_000), "{:?}", played.pod("other"));
    let members: Vec<&str> =
        played.of("claims-").flat_map(|ran| ran.said.last()).map(|(reason, _)| &**reason).collect();
    assert_eq!(members, ["UnsupportedConstraint"; 3], "the cause is named");
    assert_eq!((played.of("claims-").filter(|ran| ran.node.is_some()).count(), played.holders()), (0, 0));
}

/// Its words are understood: the gang waits as one, and says for what.
fn declared_gang(played: &Outcome) {
    let pods: Vec<_> = played.of("yk-").collect();
    assert_eq!((pods.len(), pods.iter().filter(|ran| ran.node.is_some()).count()), (3, 0), "{pods:#?}");
    for ran in pods {
        assert!(ran.said.iter().any(|(reason, _)| reason == "QueueNotFound"), "{ran:?}");
    }
    assert_eq!(played.charged("root.default"), 0, "{:#?}", played.story.queues);
}

/// With its queue, and a node that takes all three.
#[test]
fn a_gang_in_yunikorn_s_words_starts_whole() {
    let queue =
        "---\n{apiVersion: gangline.dev/v1alpha1, kind: Queue, metadata: {name: root.q}, spec: {parent: root}}\n";
    let played = outcome(&(case_text("foreign-marker") + queue), Some("1x6cpu,8Gi"), &[]);
    let starts: Vec<_> = played.of("yk-").map(|ran| ran.from.expect("each runs")).collect();
    assert!(starts.len() == 3 && starts.iter().all(|start| *start <= AT_ONCE), "{starts:?}");
    let small = outcome(&(case_text("foreign-marker") + queue), Some("1x4cpu,8Gi"), &[]);
    assert!(small.of("yk-").all(|ran| ran.from.is_none()), "{:#?}", small.pods);
}

fn foreign_marker(played: &Outcome) {
    let pods: Vec<_> = played.of("yk-").collect();
    assert_eq!((pods.len(), pods.iter().filter(|ran| ran.node.is_some()).count()), (3, 0), "{pods:#?}");
    for ran in pods {
        let [(reason, message)] = &ran.said[..] else { panic!("it is said once: {ran:?}") };
        assert_eq!(reason, "DialectNotSupported");
        let words = ["YuniKorn", "yunikorn.apache.org/task-group-name", "TaskGroup", "--ignore-foreign-markers"];
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
    assert_eq!(played.charged("root.default"), 0, "{:#?}", played.story.queues);
}

fn head_larger(played: &Outcome) {
    for name in ["head", "workers"] {
        let gang = played.gang(name);
        assert_eq!((gang.state, gang.reason, gang.started), ("Rejected", "ExceedsMaxQuota", None), "{gang:#?}");
    }
    assert!(["head", "worker1", "worker2"].iter().all(|pod| played.from(pod).is_none()), "{:#?}", played.pods);
    assert_eq!(played.charged("root.ray"), 0);
    let text =
        case_text("head-larger-than-its-group").replace("\"max\": {\"cpu\": \"4\"}", "\"max\": {\"cpu\": \"4500m\"}");
    let enough = outcome(&text, Some("2x8cpu,32Gi"), &[]);
    assert!(["head", "worker1", "worker2"].iter().all(|pod| enough.from(pod).is_some()), "{:#?}", enough.pods);
}

fn template_lacks_the_selector(played: &Outcome) {
    let mut members: Vec<&Ran> =
        played.pods.iter().filter(|(name, _)| name.starts_with("g-")).map(|(_, ran)| ran).collect();
    members.sort_by_key(|ran| ran.from.unwrap_or(Millis::MAX));
    let [one, two, three] = members[..] else { panic!("three members came: {members:#?}") };
    let ran = |ran: &Ran, earliest: Millis| {
        let in_time = ran.from.is_some_and(|from| (earliest..=earliest + AT_ONCE).contains(&from));
        in_time && matches!(ran.node.as_deref(), Some("b1" | "b2"))
    };
    assert!(ran(one, 20_000) && ran(two, 20_000), "there is room for two: {members:#?}");
    let free = one.to.expect("the first ends");
    assert!(ran(three, free), "the third is next: {members:#?}");
    let meanwhile = played.statuses.iter().filter(|(at, ..)| (20_000..free).contains(at));
    let said = meanwhile.map(|(.., message)| message).chain(three.said.iter().map(|(_, message)| message));
    assert!(
        said.into_iter().any(|message| message.contains("placeholderTemplate")),
        "{:#?} {three:#?}",
        played.statuses
    );
}

fn driver_and_gpu_worker(played: &Outcome) {
    let runs_on = |played: &Outcome, pod: &str, node: &str| {
        assert!(played.ran_at(pod, 0) && played.pod(pod).node.as_deref() == Some(node), "{pod}: {:#?}", played.pods);
    };
    runs_on(played, "driver", "cpu-1");
    runs_on(played, "worker", "gpu-1");
    let text =
        case_text("driver-and-gpu-worker").replace("{name: cpu-1}", "{name: z}").replace("{name: gpu-1}", "{name: a}");
    let renamed = outcome(&text, None, &[]);
    runs_on(&renamed, "driver", "z");
    runs_on(&renamed, "worker", "a");
}

fn other_node_comes(played: &Outcome) {
    let both = |message: &str| message.contains("taint") && message.contains("cpu");
    for pod in ["v-0", "v-1", "alone"] {
        let (_, message) = played.waits(pod);
        assert!(played.from(pod).is_none() && both(message), "{pod}: {message}");
    }
    let last = played.statuses.iter().rev().find(|(_, name, _)| name == "v").expect("it has a status");
    assert!(last.0 >= 300_000 && both(&last.2), "what was written is so, too: {:#?}", played.statuses);
}

/// The same pods beside others: those go on, and with the flag these do too, one by one.
#[test]
fn pods_with_foreign_markers_block_nobody_and_are_placed_one_by_one_on_request() {
    let other = "---\n{apiVersion: v1, kind: Pod, metadata: {name: other, annotations: {gangline.dev/simulated-start: 10s}}, \
                 spec: {schedulerName: gangline, containers: [{name: c, resources: {requests: {cpu: 4}}}]}}\n";
    let text = case_text("foreign-marker") + other;
    let refused = outcome(&text, Some("1x4cpu,8Gi"), &["--dialects", "none"]);
    assert!(refused.ran_at("other", 10_000), "{:#?}", refused.pods);
    foreign_marker(&refused);
    let mut starts: Vec<_> =
        outcome(&case_text("foreign-marker"), Some("1x4cpu,8Gi"), &["--dialects", "none", "--ignore-foreign-markers"])
            .of("yk-")
            .map(|ran| ran.from.expect("each runs"))
            .collect();
    starts.sort_unstable();
    assert!(starts[1] <= AT_ONCE && starts[2] >= 60_000, "the node takes two: {starts:?}");
}
