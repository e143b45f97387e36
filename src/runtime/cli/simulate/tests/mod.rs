//! Manifests as text, and the story that comes of them.

#[allow(clippy::print_stdout, reason = "a case that is skipped is printed")]
mod cases;
mod end;
mod input;

use std::time::Duration;

use super::*;
use crate::shim::observation::Body;
use crate::sim::play::Thing;
use crate::sim::story::{Gang, Story, Usage};

const RUNS: Duration = Duration::from_secs(60);

fn story(files: &[(&str, &str)], nodes: &str) -> Story {
    played(files, nodes, "168h")
}

/// What is played of these files until then.
fn played(files: &[(&str, &str)], nodes: &str, until: &str) -> Story {
    play(given(files, Some(nodes)), &flags(&["--until", until]))
}

/// These files, and these nodes besides.
fn given(files: &[(&str, &str)], nodes: Option<&str>) -> Input {
    let mut input = Input::default();
    nodes.into_iter().for_each(|nodes| input.take_nodes(nodes::of(nodes, 0).expect("nodes")));
    for (file, text) in files {
        add(&mut input, file, text, RUNS).expect("an example reads");
    }
    input.settle();
    input
}

/// Adds a file, or says everything that is wrong with it, a line each.
fn add(input: &mut Input, file: &str, text: &str, runs: Duration) -> Result<(), String> {
    read::add(input, file, text, runs);
    let errors: Vec<_> = input.errors.drain(..).map(|error| error.to_string()).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}

/// The flags of a command line.
fn flags(flags: &[&str]) -> SimulateArgs {
    let line = ["gangline", "simulate", "-"].iter().chain(flags).map(std::ffi::OsString::from).collect();
    match crate::runtime::args::parse(line).map(|line| line.command) {
        Ok(crate::runtime::args::Command::Simulate(args)) => args,
        other => panic!("{other:?} is no such command"),
    }
}

fn example(name: &str) -> String {
    std::fs::read_to_string(format!("{}/examples/{name}", env!("CARGO_MANIFEST_DIR"))).expect("the example is there")
}

fn gang<'a>(story: &'a Story, name: &str) -> &'a Gang {
    story.gangs.iter().find(|gang| gang.name == format!("default/{name}")).expect("the gang is there")
}

#[test]
fn every_example_is_played_to_its_end() {
    let dir = format!("{}/examples", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = (std::fs::read_dir(dir).expect("they are there"))
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let files: Vec<(String, String)> = names.into_iter().map(|name| (name.clone(), example(&name))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let story = story(&files, "20x32cpu,128Gi");
    for gang in &story.gangs {
        let expected =
            if gang.name == "default/too-big" { ("Rejected", None) } else { ("Completed", gang.submitted.into()) };
        assert_eq!((gang.state, gang.started.map(|_| gang.submitted)), expected, "{gang:#?}");
    }
    assert!(story.gangs.len() >= 6 && gang(&story, "too-big").reason == "ExceedsMaxQuota", "{:#?}", story.gangs);
}

const TWO: &str = r#"
apiVersion: gangline.dev/v1alpha1
kind: Queue
metadata: {name: root.q}
spec: {parent: root, max: {cpu: "10"}}
---
apiVersion: v1
kind: List
items:
- apiVersion: gangline.dev/v1alpha1
  kind: TaskGroup
  metadata: {name: first}
  spec: {queue: root.q, minMember: 6, minResource: {cpu: "1"}, reservation: Direct}
- apiVersion: batch/v1
  kind: Job
  metadata: {name: first, annotations: {gangline.dev/simulated-run: 2m}}
  spec:
    parallelism: 6
    template:
      metadata: {labels: {gangline.dev/task-group: first}}
      spec:
        schedulerName: gangline
        containers: [{name: main, resources: {requests: {cpu: "1"}}}]
---
apiVersion: gangline.dev/v1alpha1
kind: TaskGroup
metadata: {name: second, annotations: {gangline.dev/simulated-start: 10s}}
spec: {queue: root.q, minMember: 6, minResource: {cpu: "1"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: second, annotations: {gangline.dev/simulated-start: 10s}}
spec:
  parallelism: 6
  template:
    metadata: {labels: {gangline.dev/task-group: second}}
    spec:
      schedulerName: gangline
      containers: [{name: main, resources: {requests: {cpu: "1"}}}]
---
apiVersion: v1
kind: Service
metadata: {name: s}
"#;

/// Two gangs of 60 % of a quota: the second starts when the first is done, says so until then, and uses nothing.
#[test]
fn a_gang_waits_for_the_quota_that_another_has() {
    let story = story(&[("two.yaml", TWO)], "3x4cpu,8Gi");
    let (first, second) = (gang(&story, "first"), gang(&story, "second"));
    let ended = first.finished.expect("it ends");
    assert!((120_000..125_000).contains(&ended) && second.submitted == 10_000, "{first:#?}");
    let started = second.started.expect("it starts");
    assert!(ended <= started && started < ended + 5_000, "{second:#?}");
    let waited = second.waited.get("WaitingForQuota").copied().unwrap_or(0);
    assert!((ended - 11_000..=ended - 9_000).contains(&waited), "{second:#?}");
    let queue = story.queues.iter().find(|queue| queue.name == "root.q").expect("it is there");
    let cpu = &queue.resources["cpu"];
    assert_eq!((cpu.max, cpu.peak, &*cpu.peak_text), (Some(10_000), 6_000, "6"), "never both");
    assert_eq!(cpu.over_time.last().map(|(_, used)| *used), Some(0));
    let text = show::words(&story, false);
    for words in ["WaitingForQuota", "root.q cpu", "peak 6 of 10", "2 gangs after", "2 finished, 0 running, 0 waiting"]
    {
        assert!(text.contains(words), "{words}:\n{text}");
    }
}

/// What a cluster did with a pod is what the play is to find out.
#[test]
fn a_pod_that_terminated_when_it_was_exported_is_played_from_its_beginning() {
    let text = "{apiVersion: gangline.dev/v1alpha1, kind: TaskGroup, metadata: {name: g}, \
                spec: {minMember: 1, minResource: {cpu: 1}}}\n---\n\
                {apiVersion: v1, kind: Pod, metadata: {name: p, deletionTimestamp: 2026-01-01T00:00:00Z, \
                labels: {gangline.dev/task-group: g}}, spec: {schedulerName: gangline, containers: []}}";
    let story = story(&[("pod.yaml", text)], "1x4cpu,8Gi");
    assert!(gang(&story, "g").finished.is_some(), "{:?}", gang(&story, "g"));
}

/// What the API server says of each case (`e2e/schemas.rs` asks it).
#[test]
fn the_schemas_know_the_fields_that_the_server_knows() {
    let file = format!("{}/tests/golden/schema_cases.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).expect("the cases are there");
    let options = serde_saphyr::options! { budget: None };
    let cases: Vec<serde_json::Value> = serde_saphyr::from_str_with_options(&text, options).expect("they read");
    let mut unknown = 0;
    for case in cases.iter().filter(|case| !case["object"].is_null()) {
        let kind = case["object"]["kind"].as_str().expect("each has a kind");
        let said = fields::unknown(kind, &case["object"]);
        let said = said.first().map(|field| format!("unknown field {field:?}"));
        let expected = case["expected"].as_str().filter(|text| text.starts_with("unknown field"));
        assert_eq!(said.as_deref(), expected, "{}", case["name"]);
        unknown += usize::from(expected.is_some());
    }
    assert!(unknown > 1 && cases.len() > 50, "{unknown} of {}", cases.len());
}

#[test]
fn nodes_are_a_number_and_resources() {
    let nodes = nodes::of("2x32cpu,256Gi,8nvidia.com/gpu", 0).expect("nodes");
    let Thing::Object(Body::Node(node)) = &nodes[1].what else { panic!("a node") };
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref()).expect("it has something");
    let all: Vec<_> = allocatable.iter().map(|(name, amount)| format!("{name}={}", amount.0)).collect();
    assert_eq!((nodes.len(), &*nodes[1].key.name), (2, "node-1"));
    assert_eq!(all, ["cpu=32", "memory=256Gi", "nvidia.com/gpu=8", "pods=110"]);
    let labels: Vec<_> = node.metadata.labels.iter().flatten().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(labels, ["kubernetes.io/arch=amd64", "kubernetes.io/hostname=node-1", "kubernetes.io/os=linux"]);
    for text in ["20", "0x4cpu", "x4cpu", "2x", "2xcpu", "2x4cores", "2x4cpu,", "9999999x1cpu", "1x4cpu,8cpu"] {
        let error = nodes::of(text, 0).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(&format!("--nodes {text}: ")) && error.contains("20x32cpu"), "{error}");
    }
}

#[test]
fn a_chart_shows_the_most_of_each_column() {
    let usage =
        Usage { max: Some(8), over_time: vec![(0, 8), (1_000, 4), (30_000, 0), (59_500, 1)], ..Usage::default() };
    let bars = chart::bars(&usage, 8, 60_000);
    let expected = format!("{}{}{}▁", '█', "▄".repeat(29), " ".repeat(29));
    assert_eq!(bars, expected);
    let clocks = [0, 12_340, 599_999, 600_000, 36_000_000].map(show::clock);
    assert_eq!(clocks, ["0.0s", "12.3s", "599.9s", "10m00s", "10h00m"]);
}

/// Lengths that no clock reaches, and what an exported object says of itself.
#[test]
fn a_pod_may_run_for_ever_and_a_status_is_not_believed() {
    let text = r#"
apiVersion: gangline.dev/v1alpha1
kind: TaskGroup
metadata: {name: g}
spec: {minMember: 1, minResource: {cpu: "1"}, reservation: Direct}
status: {applicationState: Completed, incarnation: 3}
---
apiVersion: v1
kind: Pod
metadata:
  name: g-0
  labels: {gangline.dev/task-group: g}
  annotations: {gangline.dev/simulated-run: 9000000000000000s}
spec: {schedulerName: gangline, containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
"#;
    let story = story(&[("g.yaml", text)], "1x4cpu,8Gi");
    assert_eq!((gang(&story, "g").state, &*gang(&story, "g").message), ("Running", "1 of 1 members runs"));
    let text = show::words(&story, false);
    assert!(text.contains("0 finished, 1 running, 0 waiting, 0 rejected"), "{text}");
}

#[test]
fn a_play_has_an_end() {
    let until = |text: &str| {
        let line = ["gangline", "simulate", "-", "--until", text].map(std::ffi::OsString::from).to_vec();
        crate::runtime::args::parse(line).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(until("2000h"), Ok(()));
    for (text, problem) in [("9000000000000000s", "longer than 3650 days"), ("soon", "no duration")] {
        assert!(until(text).is_err_and(|error| error.contains(problem)), "{text}");
    }
}
