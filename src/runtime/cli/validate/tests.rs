//! Manifests, and everything that is found in them.

use super::*;
use crate::shim::dialect::Dialect;

fn checked(files: &[(&str, &str)]) -> Answer {
    understood(files, &default_dialects())
}

fn understood(files: &[(&str, &str)], dialects: &[Dialect]) -> Answer {
    let mut input = Input::remembering();
    files.iter().for_each(|(file, text)| add(&mut input, file, text, Duration::ZERO));
    let names: Vec<String> = files.iter().map(|(file, _)| (*file).to_owned()).collect();
    answer(&input, &Served::default().speaking(dialects.iter().copied()), &names)
}

fn lines(text: &str) -> Vec<String> {
    let answer = checked(&[("f.yaml", text)]);
    answer.findings.iter().map(|finding| finding.text().trim_end().to_owned()).collect()
}

fn flags(words: &[&std::ffi::OsStr]) -> ValidateArgs {
    let line = ["gangline", "validate"].map(std::ffi::OsString::from).into_iter();
    let line = line.chain(words.iter().map(|word| (*word).to_owned())).collect();
    match crate::runtime::args::parse(line).map(|line| line.command) {
        Ok(crate::runtime::args::Command::Validate(args)) => args,
        other => panic!("{other:?} is no such command"),
    }
}

/// A PodGroup is looked at where its system's words are understood and a pod names it, and what is made of it is judged.
#[test]
fn pod_groups_that_pods_name_are_looked_at() {
    let pod_group = |name: &str, spec: &str| {
        format!(
            "{{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {{name: {name}}}, spec: {{{spec}}}}}"
        )
    };
    let named = |name: &str| job("j", 3, &format!("labels: {{scheduling.x-k8s.io/pod-group: {name}}}"), OURS);
    let said = |objects: &[String], dialects: &[Dialect]| {
        let answer = understood(&[("f.yaml", &objects.join("\n---\n"))], dialects);
        answer.findings.iter().map(|finding| finding.text().trim_end().to_owned()).collect::<Vec<_>>()
    };
    let all = Dialect::ALL;
    assert_eq!(said(&[pod_group("g", "minMember: 3, minResources: {cpu: 3}"), named("g")], &all), Vec::<String>::new());
    for (objects, expected) in [
        (
            vec![pod_group("g", "minMember: 0"), named("g")],
            "error: PodGroup g: spec.minMember: must be a number from 1",
        ),
        (vec![named("g")], "warning: Job j: PodGroup g of scheduling.x-k8s.io is not in the files"),
        (vec![node("a", FOUR), pod_group("g", "minMember: 9"), named("g")], "warning: PodGroup g: "),
    ] {
        let lines = said(&objects, &all);
        assert!(lines.iter().any(|line| line.contains(expected)), "{expected}: {lines:#?}");
    }
    assert_eq!(said(&[pod_group("g", "minMember: 0")], &all), Vec::<String>::new(), "nobody names it");
    let off = said(&[pod_group("g", "minMember: 0"), named("g")], &[Dialect::YuniKorn]);
    assert!(off.len() == 1 && off[0].contains("scheduling.x-k8s.io/pod-group"), "{off:#?}");
}

/// As above, of Volcano's, which pods name by an annotation.
#[test]
fn pod_groups_of_volcano_are_looked_at_too() {
    let kind = "apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup";
    let named = job("j", 3, "annotations: {scheduling.k8s.io/group-name: g}", OURS);
    let said = |spec: &str| {
        let objects = [format!("{{{kind}, metadata: {{name: g}}, spec: {{{spec}}}}}"), named.clone()].join("\n---\n");
        let answer = understood(&[("f.yaml", &objects)], &[Dialect::Volcano]);
        answer.findings.iter().map(|finding| finding.text().trim_end().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(said("minMember: 3, minResources: {cpu: 3}"), Vec::<String>::new());
    let refused = said("minMember: 3, minTaskMember: {worker: 3}");
    let expected = "error: PodGroup g: spec.minTaskMember: is not supported yet";
    assert!(refused.iter().any(|line| line.contains(expected)), "{refused:#?}");
}

/// As above, of Kubernetes' own, which pods name by a field.
#[test]
fn pod_groups_of_kubernetes_are_looked_at_too() {
    let kind = "apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup";
    let named = job("j", 3, "labels: {a: b}", &format!("{OURS}, priority: 5, schedulingGroup: {{podGroupName: g}}"));
    let said = |spec: &str| {
        let objects = [format!("{{{kind}, metadata: {{name: g}}, spec: {{{spec}}}}}"), named.clone()].join("\n---\n");
        let answer = understood(&[("f.yaml", &objects)], &[Dialect::Kubernetes]);
        answer.findings.iter().map(|finding| finding.text().trim_end().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(said("schedulingPolicy: {gang: {minCount: 3}}"), Vec::<String>::new());
    let refused = said("schedulingPolicy: {gang: {minCount: 3}}, schedulingConstraints: {topology: [{key: rack}]}");
    let expected = "error: PodGroup g: spec.schedulingConstraints: is not supported yet";
    assert!(refused.iter().any(|line| line.contains(expected)), "{refused:#?}");
    let other = said("schedulingPolicy: {gang: {minCount: 3}}, priority: 7");
    assert!(other.iter().any(|line| line.contains("warning: PodGroup g: spec.priority: 7 is left out")), "{other:#?}");
    assert_eq!(said("schedulingPolicy: {gang: {minCount: 3}}, priority: 5"), Vec::<String>::new());
}

/// What we ship is right, and most of it without a warning.
#[test]
fn every_example_is_valid() {
    let dir = format!("{}/examples", env!("CARGO_MANIFEST_DIR"));
    let files: Vec<(String, String)> = (std::fs::read_dir(dir).expect("they are there"))
        .map(|entry| entry.expect("a file").path())
        .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).expect("text")))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (&**file, &**text)).collect();
    let answer = checked(&files);
    assert_eq!(answer.errors, 0, "{}", answer.text(PlainOutput::Table));
    let of_one = answer.findings.iter().filter(|finding| finding.file.ends_with("/never-fits.yaml")).count();
    assert_eq!((answer.warnings, of_one), (2, 2), "the gang that is too big: {}", answer.text(PlainOutput::Table));
    assert!(answer.findings[0].message.ends_with("it can never start"), "{:?}", answer.findings[0]);
}

const MANY: &str = "\
apiVersion: gangline.dev/v1alpha1
kind: TaskGroup
metadata: {name: workers}
spec:
  minMember: 0
  minResource: {cpu: -1, mem: 4Gi}
  queu: root.a
---
apiVersion: v1
kind: Pod
metadata:
  name: p
  labels: {a: 1}
spec:
  priority: high
---
apiVersion: gangline.dev/v1alpha1
kind: Queue
metadata: {name: root.a.b}
spec:
  parent: root
  max:
    cpu: 1
    cpu: 2
---
kind: Pod
";

#[test]
fn every_error_is_said_at_once_where_it_is() {
    let lines = lines(MANY);
    for said in [
        "f.yaml:5:14: error: TaskGroup workers: spec.minMember: Invalid value: 0",
        "f.yaml:7:9: error: TaskGroup workers: spec.queu: unknown field",
        "f.yaml:13:15: error: Pod p: metadata.labels.a: invalid type",
        "f.yaml:15:13: error: Pod p: spec.priority: invalid type",
        "f.yaml:21:11: error: Queue root.a.b: spec.parent: ",
        "f.yaml:24:5: error: duplicate mapping key: cpu",
        "f.yaml:26:1: error: document 4, of kind \"Pod\": apiVersion: missing; it is \"v1\"",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(said)), "{said}: {lines:#?}");
    }
    let amounts = lines.iter().filter(|line| line.contains("spec.minResource")).count();
    assert!(amounts >= 1, "{lines:#?}");
}

fn group(name: &str, spec: &str) -> String {
    format!("{{apiVersion: gangline.dev/v1alpha1, kind: TaskGroup, metadata: {{name: {name}}}, spec: {{{spec}}}}}")
}

fn queue(name: &str, spec: &str) -> String {
    format!("{{apiVersion: gangline.dev/v1alpha1, kind: Queue, metadata: {{name: {name}}}, spec: {{{spec}}}}}")
}

fn job(name: &str, parallelism: u32, metadata: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}}}, spec: {{parallelism: {parallelism}, completions: \
         {parallelism}, template: {{metadata: {{{metadata}}}, spec: {{{spec}}}}}}}}}"
    )
}

fn node(name: &str, fields: &str) -> String {
    format!("{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{zone: {name}}}}}, {fields}}}")
}

const OURS: &str = "schedulerName: gangline, containers: [{name: c, resources: {requests: {cpu: 1}}}]";
const FOUR: &str = "status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}";

/// Nothing else is found.
fn only(objects: &[String], said: &str) {
    let lines = lines(&objects.join("\n---\n"));
    assert!(lines.len() == 1 && lines[0].contains(said), "{said}: {lines:#?}");
}

const TWO: &str = "minMember: 2, minResource: {cpu: 3}";
const MEMBER: &str = "labels: {gangline.dev/task-group: g}";

#[test]
fn what_may_be_meant_of_gangs_and_queues_is_warned_of() {
    let two = TWO;
    for (objects, said) in [
        (vec![group("g", &format!("{two}, queue: root.x"))], "warning: TaskGroup g: queue root.x does not exist"),
        (
            vec![queue("root.q", "parent: root, max: {cpu: 5}"), group("g", &format!("{two}, queue: root.q"))],
            "warning: TaskGroup g: ",
        ),
        (
            vec![
                queue("root.q", "parent: root"),
                queue("root.q.a", "parent: root.q"),
                group("g", &format!("{two}, queue: root.q")),
            ],
            "warning: TaskGroup g: queue root.q has queues below it",
        ),
        (vec![group("g", &format!("{two}, gangGroup: [default/g, default/h]"))], "warning: TaskGroup g: "),
        (
            vec![
                group("g", &format!("{two}, applicationId: a, gangGroup: [default/g, default/h]")),
                group("h", &format!("{two}, applicationId: a, gangGroup: [default/g, default/h], style: Hard")),
            ],
            "error: TaskGroup ",
        ),
        (
            vec![queue("root.q.a", "parent: root.q")],
            "warning: Queue root.q.a: spec.parent: queue root.q does not exist",
        ),
        (
            vec![queue("root.q", "parent: root, max: {cpu: 5}"), queue("root.q.a", "parent: root.q, max: {cpu: 6}")],
            "error: Queue root.q.a: spec.max[cpu]: 6 is more than the 5 of root.q",
        ),
        (
            vec![group("g", TWO), job("j", 1, MEMBER, OURS)],
            "warning: TaskGroup g: spec.minMember: 2 start together, and the Pods and Jobs in the files make 1",
        ),
    ] {
        only(&objects, said);
    }
}

/// A gang, and a pod that names the queue of its own namespace, are judged by the namespaces of the files.
#[test]
fn queues_of_namespaces_count() {
    let teams = queue(
        "root.teams",
        "parent: root, namespaceSelector: {matchLabels: {team: a}}, childTemplate: {max: {cpu: 5}}",
    );
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {team: a}}}".to_owned();
    let (gang, two) = (group("g", TWO), "warning: TaskGroup g: ");
    only(&[teams.clone(), namespace.clone(), gang.clone()], two);
    assert_eq!(lines(&[teams.clone(), gang].join("\n---\n")), [""; 0], "nothing says that the namespace is chosen");
    let pod = |queue: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p, labels: {{gangline.dev/queue: {queue}}}}}, spec: {{{OURS}}}}}"
        )
    };
    assert_eq!(lines(&[teams.clone(), namespace.clone(), pod("root.teams.default")].join("\n---\n")), [""; 0]);
    only(&[teams, namespace, pod("root.teams.other")], "queue root.teams.other is not in the files");
}

#[test]
fn what_may_be_meant_of_pods_is_warned_of() {
    for (objects, said) in [
        (vec![job("j", 1, MEMBER, OURS)], "TaskGroup default/g is not in the files"),
        (vec![job("j", 1, MEMBER, "containers: []")], "spec.template.spec.schedulerName: missing, so it does not join"),
        (
            vec![job("j", 1, "annotations: {yunikorn.apache.org/task-group-name: w}", "schedulerName: yunikorn")],
            "warning: Job j: spec.template.spec.schedulerName: \"yunikorn\", so what it says in the words of YuniKorn",
        ),
        (vec![job("j", 1, "labels: {gangline.dev/queue: root.x}", OURS)], "queue root.x is not in the files"),
        (
            vec![job("j", 1, "labels: {gangline.dev/que: root.x}", OURS)],
            "error: Job j: spec.template.metadata.labels[gangline.dev/que]: ",
        ),
        (
            vec![job("j", 1, "", &format!("{OURS}, volume: []"))],
            "warning: Job j: spec.template.spec.volume: unknown field",
        ),
        (
            vec![job("j", 1, "annotations: {volcano.sh/job-name: x}", OURS)],
            "error: Job j: spec.template.metadata.annotations[volcano.sh/job-name]: ",
        ),
    ] {
        only(&objects, said);
    }
}

#[test]
fn what_finds_no_room_on_the_nodes_of_the_files_is_warned_of() {
    for (objects, said) in [
        (
            vec![node("node-a", FOUR), group("g", "minMember: 1, minResource: {cpu: 5}")],
            "one asks for 5 cpu, and no node in the files that may take it has more than 4",
        ),
        (vec![node("node-a", FOUR), group("g", TWO)], "the nodes in the files have room for 1 of 2"),
        (
            vec![
                node("node-a", FOUR),
                group("g", "minMember: 1, minResource: {cpu: 1}, placeholderTemplate: {nodeSelector: {zone: m}}"),
            ],
            "of the 1 node in the files none may take it",
        ),
        (
            vec![node("node-a", FOUR), job("j", 1, "", &OURS.replace("cpu: 1", "cpu: 9"))],
            "warning: Job j: spec.template.spec: one asks for 9 cpu",
        ),
    ] {
        only(&objects, said);
    }
    let fits = [node("node-a", FOUR), node("node-b", FOUR), group("g", TWO), job("j", 2, MEMBER, OURS)];
    assert_eq!(lines(&fits.join("\n---\n")), [""; 0]);
}

/// Gangs that pods declare in YuniKorn's words are gangs like others.
#[test]
fn what_pods_say_in_yunikorn_s_words_is_checked_too() {
    let pod = |groups: &str, name: &str| {
        let annotations = format!(
            "{{yunikorn.apache.org/app-id: app, yunikorn.apache.org/task-group-name: {name}, \
             yunikorn.apache.org/task-groups: '{groups}'}}"
        );
        format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p, annotations: {annotations}}}, spec: {{{OURS}}}}}")
    };
    let groups = r#"[{"name": "a", "minMember": 3, "minResource": {"cpu": "2"}}]"#;
    assert_eq!(lines(&pod(groups, "a")), [""; 0]);
    let lines_of = lines(&pod(&groups.replace('3', "-1").replace("cpu", "vcore"), "a"));
    for said in ["[0].minMember: ", "[0].minResource[vcore]: must be named cpu"] {
        let said = format!("error: Pod p: metadata.annotations[yunikorn.apache.org/task-groups]{said}");
        assert!(lines_of.iter().any(|line| line.contains(&said)), "{said}: {lines_of:#?}");
    }
    let small = queue("root.s", "parent: root, max: {cpu: 5}");
    let there = pod(groups, "a").replace("app-id: app", "app-id: app, yunikorn.apache.org/queue: root.s");
    let too_big = lines(&format!("{small}\n---\n{there}"));
    assert!(too_big.len() == 1 && too_big[0].contains("warning: Pod p: "), "{too_big:#?}");
    let lone = pod(groups, "a").replace("yunikorn.apache.org/task-groups", "x.y/z");
    let lone = lines(&lone);
    assert!(lone.len() == 1 && lone[0].contains("declares its YuniKorn task group"), "{lone:#?}");
    let none = r#"[{"name": "a", "minMember": 1, "minResource": {"cpu": "1"}}, {"name": "b", "minMember": 0}]"#;
    let beside = |group: &str| {
        let other =
            pod(groups, group).replace("yunikorn.apache.org/task-groups", "x.y/z").replace("name: p,", "name: o,");
        lines(&format!("{}\n---\n{other}", pod(none, "a")))
    };
    assert!(beside("b").len() == 1 && beside("b")[0].contains("minMember"), "{:#?}", beside("b"));
    assert!(beside("c").iter().any(|line| line.contains("an ordinary pod of its application")), "{:#?}", beside("c"));
}

#[test]
fn the_exit_code_says_errors_usage_or_neither() {
    let dir = tempfile::tempdir().expect("a directory");
    let reply = |texts: &[&[u8]]| {
        let paths: Vec<_> = (texts.iter().enumerate())
            .map(|(number, text)| {
                let path = dir.path().join(format!("{number}.yaml"));
                if !text.is_empty() {
                    std::fs::write(&path, text).expect("it is written");
                } else {
                    let _ = std::fs::remove_file(&path);
                }
                path
            })
            .collect();
        validate(&flags(&paths.iter().map(|path| path.as_os_str()).collect::<Vec<_>>()))
    };
    let right = queue("root.q", "parent: root");
    let unknown = group("g", "minMember: 1, minResource: {cpu: 1}, queue: root.x");
    let wrong = group("g", "minMember: 0, minResource: {cpu: 1}");
    let service = "{apiVersion: v1, kind: Service, metadata: {name: s}}";
    for (texts, code, out) in [
        (vec![right.as_bytes()], 0, "1 object: 0 errors, 0 warnings\n"),
        (vec![unknown.as_bytes()], 0, "1 object: 0 errors, 1 warning\n"),
        (vec![wrong.as_bytes()], 1, "1 object: 1 error, 0 warnings\n"),
        (vec![right.as_bytes(), &[0xff]], 1, "1 object: 1 error, 0 warnings\n"),
        (vec![wrong.as_bytes(), &[]], 2, "1 object: 2 errors, 0 warnings\n"),
        (vec!["# nothing".as_bytes()], 1, "0 objects: 1 error, 0 warnings\n"),
        (vec![service.as_bytes()], 0, "0 objects: 0 errors, 0 warnings\n"),
    ] {
        let reply = reply(&texts);
        assert!(reply.code == code && reply.out.ends_with(out), "{code} {out}: {reply:#?}");
    }
    assert!(crate::runtime::args::parse(["gangline", "validate"].map(std::ffi::OsString::from).to_vec()).is_err());
}

#[test]
fn json_has_every_part_of_a_finding() {
    let text = group("g", "minMember: 0, minResource: {cpu: 1}");
    let answer = checked(&[("a.yaml", &queue("root", "")), ("f.yaml", &format!("{{}}\n---\n{text}"))]);
    let said: serde_json::Value = serde_json::from_str(&answer.text(PlainOutput::Json)).expect("JSON");
    let finding = &said["findings"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
    for (part, value) in [
        ("severity", "error"),
        ("file", "f.yaml"),
        ("document", "document 2"),
        ("object", "TaskGroup g"),
        ("field", "spec.minMember"),
    ] {
        assert_eq!(finding[part], value, "{said:#}");
    }
    assert_eq!((&finding["line"], &finding["objects"]), (&3.into(), &serde_json::Value::Null));
    assert_eq!(said["errors"], 2, "an empty map has no kind: {said:#}");
}

/// Each is an answer.
#[test]
fn hostile_manifests_are_errors() {
    let long = "x".repeat(1 << 20);
    let deep = format!("{{apiVersion: v1, kind: Pod, metadata: {}a{}}}", "[".repeat(900), "]".repeat(900));
    for text in [
        &*group("g", &format!("minMember: 1, minResource: {{cpu: {long}}}")),
        &*group(&long, "minMember: 1, minResource: {cpu: 1}"),
        &*deep,
        "a: &a [*a, *a]",
        &*group("g", "minMember: 99999999999999999999, minResource: {cpu: 1e999}"),
        "{apiVersion: v1, kind: List, items: {a: b}}\n---\n7",
        "\u{202e}",
    ] {
        let answer = checked(&[("f.yaml", text)]);
        assert!(answer.errors > 0, "{}", &text[..text.len().min(80)]);
        let printed = answer.text(PlainOutput::Table);
        assert!(printed.chars().all(|c| c == '\n' || !crate::runtime::text::is_unsafe(c)));
    }
}
