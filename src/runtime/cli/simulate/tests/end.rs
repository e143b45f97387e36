//! What is said of the end of a play has to be true in the end.

use super::*;
use crate::sim::story::{End, Later};

/// A gang of pods of 1 cpu each: name, members, and how long they run.
fn direct(name: &str, members: u32, runs: &str) -> String {
    format!(
        "{{apiVersion: gangline.dev/v1alpha1, kind: TaskGroup, metadata: {{name: {name}}}, \
         spec: {{minMember: {members}, minResource: {{cpu: 1}}, reservation: Direct}}}}\n---\n\
         {{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}}}, spec: {{parallelism: {members}, template: \
         {{metadata: {{labels: {{gangline.dev/task-group: {name}}}, annotations: {{gangline.dev/simulated-run: {runs}}}}}, \
         spec: {{schedulerName: gangline, containers: [{{name: a, resources: {{requests: {{cpu: 1}}}}}}]}}}}}}}}\n---\n"
    )
}

#[test]
fn a_play_that_is_cut_off_counts_until_then() {
    let story = played(&[("two.yaml", TWO)], "3x4cpu,8Gi", "30s");
    let second = gang(&story, "second");
    assert_eq!((story.played, story.end, second.still_waits), (30_000, End::Until, true));
    assert_eq!(second.waited.get("WaitingForQuota"), Some(&20_000), "{second:#?}");
    let text = show::words(&story, false);
    for words in ["WaitingForQuota 20.0s", "from 0s to 30.0s; a column is 0.5s", "2 gangs after 30.0s: ", "(--until)"] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    // Nothing is due any more, but the scheduler itself has something to do later.
    let completing = played(&[("g.yaml", &direct("g", 1, "10s"))], "1x4cpu,8Gi", "20s");
    assert_eq!((completing.played, completing.end), (20_000, End::Until));
    let json = serde_json::to_value(&completing).expect("it is data");
    assert_eq!((&json["played"], &json["end"]), (&20_000.into(), &"until".into()));
}

#[test]
fn what_waits_for_ever_is_said_to() {
    let story = story(&[("two.yaml", TWO)], "1x4cpu,8Gi");
    let first = gang(&story, "first");
    assert_eq!((first.state, first.reason, first.started), ("Accepted", "WaitingForCapacity", None));
    assert_eq!((story.end, first.still_waits, first.waited.get("WaitingForCapacity")), (End::NothingMore, true, None));
    let text = show::words(&story, false);
    let words =
        ["WaitingForCapacity: still waits, and nothing more will happen", "2 waiting", "Nothing more will happen.\n"];
    assert!(words.iter().all(|words| text.contains(words)), "{text}");
}

#[test]
fn what_comes_later_is_named() {
    let late = TWO.replace("simulated-start: 10s", "simulated-start: 200h");
    let story = story(&[("two.yaml", &late)], "3x4cpu,8Gi");
    let at = 200 * 3_600_000;
    let expected = ["TaskGroup default/second", "Job default/second"].map(|what| Later { at, what: what.to_owned() });
    assert_eq!((story.end, &story.later[..], story.gangs.len()), (End::Until, &expected[..], 1));
    let text = show::words(&story, false);
    assert!(text.contains("NOT PLAYED") && text.contains("Job default/second  at 200h00m"), "{text}");
}

/// When it came there was no room at all; in the end there is some, and the pods say so as their gang does.
#[test]
fn why_a_pod_waits_is_what_holds_in_the_end() {
    let text = direct("hog", 4, "10s") + &direct("large", 8, "10s") + &direct("larger", 9, "10s");
    let story = story(&[("g.yaml", &text)], "1x4cpu,8Gi");
    let message = |name: &str| gang(&story, name).message.clone();
    let first_said = story.timeline.iter().find(|moment| moment.gang == "default/large").map(|moment| &moment.message);
    assert!(
        message("large").starts_with("4 of 8 members of large") && first_said != Some(&message("large")),
        "{story:#?}"
    );
    let said: Vec<_> =
        story.waiting.iter().map(|same| (same.gang.as_deref(), same.pods.len(), &same.message)).collect();
    let (large, larger) = (message("large"), message("larger"));
    assert_eq!(said, [(Some("default/large"), 8, &large), (Some("default/larger"), 9, &larger)]);
    let text = show::words(&story, false);
    for line in [
        format!("  default/large-0 and 7 more  Unschedulable: {large}\n"),
        format!("larger-0 and 8 more  Unschedulable: {larger}\n"),
    ] {
        assert!(text.contains(&line), "{text}");
    }
}

/// Of a cluster as it is: what is on its nodes takes room, and goes if it is the scheduler's own.
#[test]
fn pods_that_have_a_node_already_take_their_room() {
    let bound = |name: &str, scheduler: &str, node: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{schedulerName: {scheduler}, nodeName: {node}, \
             containers: [{{name: a, resources: {{requests: {{cpu: 1}}}}}}]}}, status: {{phase: Running}}}}\n---\n"
        )
    };
    let text = bound("gone", "gangline", "node-9") + &bound("ours", "gangline", "node-0") + &direct("three", 3, "10s");
    let daemon = bound("daemon", "default-scheduler", "node-0");
    let started = |story: &Story, name: &str| gang(story, name).started;
    let alone = story(&[("g.yaml", &text)], "1x4cpu,8Gi");
    assert_eq!(started(&alone, "three"), Some(0), "the pod of another node takes nothing here");
    let with_daemon = story(&[("g.yaml", &(daemon.clone() + &text))], "1x4cpu,8Gi");
    assert!(started(&with_daemon, "three").is_some_and(|at| at > 60_000), "it needs what ours has");
    let four = story(&[("g.yaml", &(daemon + &direct("four", 4, "10s")))], "1x4cpu,8Gi");
    assert_eq!((started(&four, "four"), four.end), (None, End::NothingMore), "a DaemonSet's pod does not end");
    // One that was exported with its Job stands for one of its pods, and runs as long as they do.
    let owners = "{name: j-7, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: u}]}";
    let at_work = bound("j-7", "default-scheduler", "node-0").replace("{name: j-7}", owners);
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: j, annotations: {gangline.dev/simulated-run: 10s}}, \
               spec: {template: {spec: {schedulerName: default-scheduler, containers: []}}}}\n---\n";
    let with_job = story(&[("g.yaml", &(at_work + job + &direct("four", 4, "10s")))], "1x4cpu,8Gi");
    let at = started(&with_job, "four");
    assert!(at.is_some_and(|at| (10_000..12_000).contains(&at)) && with_job.waiting.is_empty(), "{with_job:#?}");
}

/// A dump of a cluster keeps its UIDs: who runs belongs to the gang of that TaskGroup, and another member needs no gang anew.
#[test]
fn a_gang_that_runs_in_a_dump_of_a_cluster_goes_on() {
    let member = |name: &str, seat: &str, node: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{gangline.dev/task-group: g}}{seat}}}, spec: \
             {{schedulerName: gangline, {node}containers: [{{name: a, resources: {{requests: {{cpu: 1}}}}}}]}}}}\n---\n"
        )
    };
    let runs = |number: u32| {
        let mark = format!("queue=root.default task-group=g incarnation=u.1 seat={number} started=true");
        let annotations = format!(", annotations: {{gangline.dev/binding: {mark}, gangline.dev/simulated-run: 60s}}");
        member(&format!("g-{number}"), &annotations, "nodeName: node-0, ")
    };
    let group = "{apiVersion: gangline.dev/v1alpha1, kind: TaskGroup, metadata: {name: g, uid: u}, \
                 spec: {minMember: 2, minResource: {cpu: 1}, reservation: Direct}}\n---\n";
    let text = group.to_owned() + &runs(0) + &runs(1) + &member("g-2", "", "");
    let story = story(&[("dump.yaml", &text)], "1x4cpu,8Gi");
    assert!(story.waiting.is_empty(), "{story:#?}");
    let alone = text.replace("uid: u}", "uid: another}");
    let another = self::story(&[("dump.yaml", &alone)], "1x4cpu,8Gi");
    assert_eq!(another.waiting.len(), 1, "one of two members is no gang: {another:#?}");
}

#[test]
fn priorities_are_those_of_the_classes() {
    let class = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}\n---\n";
    let urgent = direct("z-urgent", 4, "10s")
        .replace("schedulerName: gangline", "schedulerName: gangline, priorityClassName: urgent");
    let hog = direct("hog", 4, "10s");
    let waits = |text: String| {
        text.replacen(
            "kind: TaskGroup, metadata: {",
            "kind: TaskGroup, metadata: {annotations: {gangline.dev/simulated-start: 1s}, ",
            1,
        )
    };
    let text = hog + &waits(direct("a-usual", 4, "10s")) + &waits(urgent);
    let first = |text: &str| {
        let story = story(&[("g.yaml", text)], "1x4cpu,8Gi");
        gang(&story, "z-urgent").started < gang(&story, "a-usual").started
    };
    assert!(first(&format!("{class}{text}")) && !first(&text), "without the class the name decides");
}

#[test]
fn work_outside_gangs_is_told_of_too() {
    let text = "\
{apiVersion: batch/v1, kind: Job, metadata: {name: waves}, spec: {parallelism: 3, completions: 7, template: {metadata: \
{annotations: {gangline.dev/simulated-run: 10s}}, spec: {schedulerName: gangline, containers: []}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: huge}, spec: {schedulerName: gangline, containers: [{name: a, resources: {requests: {cpu: 9}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: daemon}, spec: {nodeName: node-0, containers: []}}
---
";
    let story = story(&[("g.yaml", &(text.to_owned() + &direct("g", 1, "10s")))], "1x4cpu,8Gi");
    let told: Vec<_> = story.outside.iter().map(|work| (&*work.name, work.pods, work.started.is_some())).collect();
    assert_eq!(told, [("Job default/waves", 7, true), ("Pod default/huge", 1, false)], "{:#?}", story.outside);
    let ended = story.outside[0].ended.expect("three waves end");
    assert!((30_000..36_000).contains(&ended) && story.outside[1].ended.is_none(), "{ended}");
    let text = show::words(&story, false);
    assert!(text.contains("OUTSIDE GANGS") && text.contains("Job default/waves  7     0.5s     3"), "{text}");
}

/// Without a limit the whole is the cluster, and each task group of an application is placed when its own members are.
#[test]
fn a_task_group_and_an_unlimited_queue_have_measures_of_their_own() {
    let group = |name: &str, start: &str| {
        direct(name, 1, "1m")
            .replace(", reservation: Direct", ", applicationId: a, gangGroup: [default/one, default/two]")
            .replace(
                "Job, metadata: {",
                &format!("Job, metadata: {{annotations: {{gangline.dev/simulated-start: {start}}}, "),
            )
    };
    let story = story(&[("g.yaml", &(group("one", "0s") + &group("two", "15s")))], "2x4cpu,8Gi");
    let placed = ["one", "two"].map(|name| gang(&story, name).placed.expect("it is placed"));
    assert!(placed[0] < 5_000 && (15_000..20_000).contains(&placed[1]), "{placed:?}");
    let text = show::words(&story, false);
    assert!(text.contains("peak 2, unlimited; the nodes have 8") && text.contains("▂▂▂"), "{text}");
    assert!(!text.contains("root.default memory"), "{text}");
    assert!(text.contains("\n1 gang after") && text.contains(": 1 finished, 0 running"), "{text}");
    assert_eq!(gang(&story, "two").application, "default/a");
}

/// What only some nodes have is what one waits for, limited or not.
#[test]
fn use_of_devices_is_shown() {
    let gang = direct("g", 2, "30s").replace("requests: {cpu: 1}", "requests: {cpu: 1}, limits: {nvidia.com/gpu: 2}");
    let gang = gang.replace("minResource: {cpu: 1}", "minResource: {cpu: 1, nvidia.com/gpu: 2}");
    let text = show::words(&story(&[("g.yaml", &gang)], "2x4cpu,8Gi,4nvidia.com/gpu"), false);
    assert!(text.contains("peak 4, unlimited; the nodes have 8"), "{text}");
    assert!(text.contains("root.default nvidia.com/gpu"), "{text}");
}
