//! What is read of manifests, what is refused, and what is noted.

use super::*;

fn notes(text: &str) -> String {
    let mut input = Input::default();
    input.take_nodes(nodes::of("1x4cpu,8Gi", 0).expect("nodes"));
    add(&mut input, "f.yaml", text, RUNS).expect("it reads");
    input.settle();
    input.notes.text()
}

/// A Job of one pod, as an export has it: fields of it, of its pod's metadata and of its pod.
fn job(name: &str, fields: &str, metadata: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}}}, {fields}, \
         spec: {{completions: 2, template: {{metadata: {{{metadata}}}, spec: {{{spec}}}}}}}}}"
    )
}

#[test]
fn what_is_left_out_is_said() {
    let others = "\
{apiVersion: v1, kind: Service, metadata: {name: s}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q}}
---
{apiVersion: v1, kind: \"\\e[31mX\", metadata: {name: x}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}
---
{apiVersion: v1, kind: Pod, metadata: {name: e}, spec: {containers: []}, status: {phase: Failed}}
";
    let complete = job("done", "status: {conditions: [{type: Complete, status: 'True'}]}", "", "containers: []");
    let enough = job("enough", "status: {succeeded: 2}", "", "containers: []");
    let failing = job("failing", "status: {succeeded: 1, failed: 1}", "", "schedulerName: gangline, containers: []");
    let expected = "Left out, as kinds that are not simulated: 1 \\u{1b}[31mX, 1 Queue of scheduling.volcano.sh, 1 Service.\n\
                    Pods and Jobs that have ended: 3 (Pod default/e, Job default/done, Job default/enough). They are left out.\n\
                    Pods or Jobs without schedulerName gangline: 1 (Pod default/p). Nobody places them here.";
    assert_eq!(notes(&[others, &complete, &enough, &failing].join("\n---\n")), expected);
}

/// What was left out is said although the rest cannot be read.
#[test]
fn notes_are_said_beside_an_error() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}\n---\n{apiVersion: v7, kind: Pod}";
    std::fs::write(file.path(), text).expect("it is written");
    let line = ["gangline".into(), "simulate".into(), file.path().into()].to_vec();
    let Ok(crate::runtime::args::Command::Simulate(args)) = crate::runtime::args::parse(line).map(|line| line.command)
    else {
        panic!("it is a command")
    };
    let reply = simulate(&args);
    let expected = format!(
        "Left out, as kinds that are not simulated: 1 Deployment.\nerror: {}: document 2, of kind \"Pod\": apiVersion: \
         \"v7\" is not \"v1\"",
        file.path().display()
    );
    assert_eq!((reply.code, reply.note, reply.out), (2, expected, String::new()));
}

#[test]
fn what_will_not_be_as_its_author_may_think_is_said() {
    let gangs = job("ns", "metadata: {}", "labels: {gangline.dev/task-group: g}", "containers: []");
    let gangs = gangs.replace(", metadata: {},", ",");
    let other = "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {gangline.dev/task-group: g}}, \
                 spec: {schedulerName: other, nodeName: node-0, containers: []}}";
    let suspended = "{apiVersion: batch/v1, kind: Job, metadata: {name: s}, spec: {suspend: true, template: {spec: \
                     {schedulerName: gangline, priorityClassName: urgent, containers: []}}}}";
    let known = "{apiVersion: v1, kind: Pod, metadata: {name: k}, spec: {schedulerName: gangline, containers: [], \
                 priorityClassName: system-node-critical, activeDeadlineSeconds: 9}}";
    let group = "{apiVersion: gangline.dev/v1alpha1, kind: TaskGroup, metadata: {name: g}, spec: {minMember: 1, \
                 minResource: {cpu: 1}, placeholderTemplate: {priorityClassName: high}}}";
    let idle = "{apiVersion: batch/v1, kind: Job, metadata: {name: i}, spec: {parallelism: 0, template: {spec: \
                {schedulerName: gangline, containers: []}}}}";
    let expected = "Members of a TaskGroup without schedulerName gangline: 2 (Job default/ns of TaskGroup g: no schedulerName, \
                    Pod default/p of TaskGroup g: schedulerName other). They do not join it.\n\
                    Suspended Jobs: 1 (default/s). They make no pods.\n\
                    Jobs with parallelism or completions 0: 1 (default/i). They make no pods.\n\
                    Pods and Jobs with activeDeadlineSeconds: 1 (Pod default/k). Nothing ends them here before their time.\n\
                    PriorityClasses that are not in the files: 2 (urgent of Job default/s, high of TaskGroup default/g). \
                    They count as none.";
    assert_eq!(notes(&[&*gangs, other, suspended, idle, known, group].join("\n---\n")), expected);
}

#[test]
fn a_field_that_nobody_knows_is_named() {
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: g, lables: {}}, spec: {paralelism: 5, template: {spec: \
               {schedulerName: gangline, containers: [{name: a}, {name: b, resource: {}}]}}}}";
    let node =
        "{apiVersion: v1, kind: Node, metadata: {name: node}, spec: {taint: []}, status: {allocatable: {cpu: 1}}}";
    let queue = "{apiVersion: gangline.dev/v1alpha1, kind: Queue, metadata: {name: root, anotations: {}}, spec: {}}";
    let expected = "Unknown fields: 5 (f.yaml: Job default/g: metadata.lables, f.yaml: Job default/g: spec.paralelism, \
                    f.yaml: Job default/g: spec.template.spec.containers[1].resource, f.yaml: Node node: spec.taint, \
                    f.yaml: Queue root: metadata.anotations). They are not played.";
    assert_eq!(notes(&[job, node, queue].join("\n---\n")), expected);
}

#[test]
fn lists_of_one_kind_are_lists() {
    let pod =
        "{apiVersion: v1, kind: Pod, metadata: {generateName: x-}, spec: {schedulerName: gangline, containers: []}}";
    let bare = pod.replace("apiVersion: v1, kind: Pod, ", "");
    let job = job("j", "status: {}", "", "schedulerName: gangline, containers: []");
    let text = format!(
        "{{apiVersion: v1, kind: PodList, items: [{pod}, {bare}]}}\n---\n\
         {{apiVersion: batch/v1, kind: JobList, items: [{job}]}}\n---\n\
         {{apiVersion: v1, kind: List, items: [{{apiVersion: v1, kind: NodeList, items: []}}]}}"
    );
    let mut input = Input::default();
    add(&mut input, "f.yaml", &text, RUNS).expect("it reads");
    let names: Vec<String> = input.arrivals.iter().map(|arrival| arrival.key.to_string()).collect();
    assert!(names[..2].iter().all(|name| name.starts_with("default/x-") && name.len() == "default/x-".len() + 5));
    assert!(names[0] != names[1] && names[2..] == ["default/j"], "{names:?}");
}

#[test]
fn a_job_does_not_ask_for_less_than_nothing() {
    for field in ["parallelism", "completions"] {
        let text = format!(
            "{{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {{{field}: -1, template: {{}}}}}}"
        );
        let answer = add(&mut Input::default(), "f.yaml", &text, RUNS);
        assert_eq!(answer, Err(format!("f.yaml: Job j: spec.{field}: -1 is below 0")));
    }
}

#[test]
fn amounts_that_a_cluster_does_not_take_are_refused() {
    let of = |text: &str| add(&mut Input::default(), "f.yaml", text, RUNS).err();
    let pod = |resources: &str| {
        let containers = format!("[{{name: c, resources: {resources}}}]");
        of(&format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: {containers}}}}}"))
    };
    let said = |problem: &str| Some(format!("f.yaml: Pod p: spec.containers[c].resources.{problem}"));
    assert_eq!(pod("{requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1}}"), None);
    assert_eq!(pod("{requests: {cpu: abc}}"), said("requests[cpu]: \"abc\" is no amount, such as 500m or 2Gi"));
    assert_eq!(pod("{limits: {cpu: -1}}"), said("limits[cpu]: \"-1\" is below 0"));
    assert_eq!(pod("{requests: {cpu: 2}, limits: {cpu: 1500m}}"), said("requests[cpu]: more than the limit"));
    let job = "{template: {spec: {initContainers: [{name: i, resources: {requests: {memory: 1GB}}}], containers: []}}}";
    let job = of(&format!("{{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {job}}}"));
    let field = "spec.template.spec.initContainers[i].resources.requests[memory]";
    assert_eq!(job, Some(format!("f.yaml: Job j: {field}: \"1GB\" is no amount, such as 500m or 2Gi")));
    let node = of("{apiVersion: v1, kind: Node, metadata: {name: node0}, status: {allocatable: {cpu: four}}}");
    let problem = "status.allocatable[cpu]: \"four\" is no amount, such as 500m or 2Gi";
    assert_eq!(node, Some(format!("f.yaml: Node node0: {problem}")));
}

#[test]
fn queues_that_will_not_count_are_named() {
    let queue = |name: &str, spec: &str| {
        format!("{{apiVersion: gangline.dev/v1alpha1, kind: Queue, metadata: {{name: {name}}}, spec: {spec}}}")
    };
    let files = [
        queue("root.a.b", "{parent: root.a}"),
        queue("root.c.d", "{parent: root.c}"),
        queue("root.c", "{parent: root}"),
    ];
    let mut input = Input::default();
    add(&mut input, "f.yaml", &files.join("\n---\n"), RUNS).expect("they read");
    input.settle();
    let text = input.notes.text();
    assert!(text.starts_with("Queues that are wrong: 1 (root.a.b: spec.parent: "), "{text}");
    assert!(!text.contains("root.c"), "{text}");
}

#[test]
fn wrong_input_names_file_object_and_field() {
    let of = |text: &str| add(&mut Input::default(), "f.yaml", text, RUNS);
    for (text, expected) in [
        (
            "{apiVersion: gangline.dev/v1alpha1, kind: Queue, metadata: {name: root.a}, spec: {parent: root, max: {cpu: -1}}}",
            "f.yaml: Queue root.a: spec.max[cpu]: Invalid value: -1: must be a quantity that is not negative, such as 500m, \
             2 or 4Gi",
        ),
        (
            "{apiVersion: gangline.dev/v1alpha1, kind: Queue, metadata: {name: root}, max: {cpu: 1}, spec: {}}",
            "f.yaml: Queue root: unknown field \"max\"",
        ),
        (
            "{apiVersion: v1, kind: Node, metadata: {name: node0}}",
            "f.yaml: Node node0: status.allocatable: missing, so that nothing fits on it",
        ),
        ("{apiVersion: v1, kind: Pod, metadata: {}}", "f.yaml: document 1, of kind \"Pod\": metadata.name: missing"),
        ("{apiVersion: v1, kind: Secret}\n---\n{apiVersion: v1}", "f.yaml: document 2: kind: missing"),
        (
            "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret}, 7]}",
            "f.yaml: document 1, item 2: kind: missing",
        ),
        (
            "{apiVersion: gangline.dev/v1alpha1, kind: TaskGroup, metadata: {name: g}, spec: {minMember: -1, \
              minResource: {cpu: 1}}}",
            "f.yaml: TaskGroup g: spec.minMember: Invalid value: -1: spec.minMember in body should be greater than or equal \
             to 1",
        ),
        (
            "{apiVersion: gangline.dev/v1beta9, kind: TaskGroup, metadata: {name: g}, spec: {minMember: 1}}",
            "f.yaml: TaskGroup g: apiVersion: \"gangline.dev/v1beta9\" is not \"gangline.dev/v1alpha1\"",
        ),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: 1}}",
            "f.yaml: Pod p: metadata.namespace: must be text (quote it)",
        ),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: p}, }\n---\n- kind: Pod",
            "f.yaml: document 2: a list, not an object",
        ),
        ("hello", "f.yaml: document 1: a single value, not an object"),
        (
            "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: many}}",
            "f.yaml: Job j: spec.parallelism: invalid type: string \"many\", expected i32",
        ),
        (
            "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 2147483647, template: {}}}",
            "f.yaml: Job j: spec.parallelism: 2147483647 pods at once are more than 100000",
        ),
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {gangline.dev/simulated-run: long}}}",
            "f.yaml: Pod p: metadata.annotations[gangline.dev/simulated-run]: \"long\" is no duration as in \"90s\" or \"1h 30m\"",
        ),
    ] {
        assert_eq!(of(text), Err(expected.to_owned()));
    }
}

#[test]
fn a_task_group_is_told_all_that_its_definition_refuses() {
    let of = |spec: &str| {
        let text =
            format!("{{apiVersion: gangline.dev/v1alpha1, kind: TaskGroup, metadata: {{name: g}}, spec: {spec}}}");
        let said = add(&mut Input::default(), "f.yaml", &text, RUNS).err().unwrap_or_default();
        said.replace("f.yaml: TaskGroup g: ", "").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let rest = "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the \
                existing errors to complete validation";
    let no_number =
        "spec.minMember: Invalid value: \"string\": spec.minMember in body must be of type integer: \"string\"";
    assert_eq!(of("{minMember: two}"), ["spec.minResource: Required value", no_number, rest]);
    let missing = ["spec.minMember: Required value", "spec.minResource: Required value", rest];
    assert_eq!(
        of("{minmember: 2, queu: a}"),
        [&["unknown field \"spec.minmember\"", "unknown field \"spec.queu\""][..], &missing].concat()
    );
}

#[test]
fn text_that_is_no_object_is_refused_where_it_stands() {
    let of = |text: &str| add(&mut Input::default(), "f.yaml", text, RUNS);
    assert!(of("a: [").is_err_and(|error| error.starts_with("f.yaml: ")));
    assert_eq!(of("---\n---\n"), Ok(()));
    // In the YAML of Kubernetes a bare n is a boolean.
    let bare = of("{apiVersion: v1, kind: Pod, metadata: {name: n}}");
    assert_eq!(bare, Err("f.yaml: document 1, of kind \"Pod\": metadata.name: must be text (quote it)".to_owned()));
    let twice = of("{apiVersion: v1, kind: Pod, kind: Node}").err().unwrap_or_default();
    assert!(twice.starts_with("f.yaml: line 1") && twice.contains("duplicate"), "{twice}");
    assert!(!twice.contains("Options") && !twice.contains("error: "), "{twice}");
    let queue = "{apiVersion: gangline.dev/v1alpha1, kind: Queue, metadata: {name: root}, spec: {}}";
    let twice = of(&format!("{queue}\n---\n{queue}"));
    assert_eq!(twice, Err("f.yaml: Queue root: metadata.name: there is one of this name already".to_owned()));
}

#[test]
fn a_kind_that_was_meant_and_a_namespace_are_named() {
    let of = |text: &str| add(&mut Input::default(), "f.yaml", text, RUNS);
    let wrong = of("{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: b}, spec: {parallelism: many}}");
    assert_eq!(wrong, Err("f.yaml: Job b/j: spec.parallelism: invalid type: string \"many\", expected i32".to_owned()));
    let misspelt = of("{apiVersion: batch/v1, kind: Jobs, metadata: {name: j}}");
    assert_eq!(misspelt, Err("f.yaml: Jobs j: kind: \"Jobs\" is not \"Job\"".to_owned()));
}

#[test]
fn every_error_of_every_file_is_said_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("it is written");
        path
    };
    let objects = [
        "{apiVersion: v7, kind: Pod}",
        "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: 1}, annotations: {gangline.dev/simulated-run: x, \
         gangline.dev/simulated-end: z}}, spec: {priority: high, containers: [{name: c, resources: {requests: {cpu: x, \
         memory: -1}}}]}}",
        "7",
        "{apiVersion: gangline.dev/v1alpha1, kind: Queue, metadata: {name: root}, spec: {mx: {}, maxApplication: 1}}",
        "{a: 1, a: 2}",
    ];
    let files = [
        file("a.yaml", &objects.join("\n---\n")),
        dir.path().join("missing.yaml"),
        file(
            "b.yaml",
            "{apiVersion: v1, kind: Node, metadata: {name: node0}, status: {allocatable: {cpu: x, memory: z}}}\n---\na: [",
        ),
    ];
    let words = ["gangline", "simulate", "--nodes", "2"].map(std::ffi::OsString::from).into_iter();
    let line = words.chain(files.iter().map(|file| file.as_os_str().to_owned())).collect();
    let Ok(crate::runtime::args::Command::Simulate(args)) = crate::runtime::args::parse(line).map(|line| line.command)
    else {
        panic!("it is a command")
    };
    let reply = simulate(&args);
    assert_eq!((reply.code, &*reply.out), (2, ""));
    let said: Vec<_> = reply.note.lines().map(|line| line.rsplit('/').next().unwrap_or_default()).collect();
    let begins = |words: &str| reply.note.lines().filter(|line| line.contains(words)).count();
    for (words, times) in [
        ("error: --nodes 2: ", 1),
        ("a.yaml: document 1, of kind \"Pod\": apiVersion: ", 1),
        ("a.yaml: Pod p: metadata.annotations[gangline.dev/simulated-", 2),
        ("a.yaml: Pod p: metadata.labels.a: ", 1),
        ("a.yaml: Pod p: spec.priority: ", 1),
        ("a.yaml: document 3: a single value, not an object", 1),
        ("a.yaml: Queue root: unknown field \"spec.m", 2),
        ("a.yaml: line ", 1),
        ("a.yaml: document 5: kind: missing", 1),
        ("error: cannot read ", 1),
        ("b.yaml: Node node0: status.allocatable[", 2),
        ("b.yaml: line ", 1),
    ] {
        assert_eq!(begins(words), times, "{words}: {said:#?}");
    }
    assert_eq!(said.len(), 15, "{said:#?}");
}

/// Namespaces that no file names are there all the same; where queues choose namespaces, by their labels or their names, gangs
/// of them are played in those.
#[test]
fn queues_by_namespace_are_played() {
    let text = r#"
{apiVersion: gangline.dev/v1alpha1, kind: Queue, metadata: {name: root.teams}, spec: {parent: root,
  namespaceSelector: {matchLabels: {team: a}}, childTemplate: {max: {cpu: 1}}}}
---
{apiVersion: gangline.dev/v1alpha1, kind: Queue, metadata: {name: root.one}, spec: {parent: root,
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: one}}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: labelled, labels: {team: a},
  annotations: {yunikorn.apache.org/namespace.maxApps: "3"}}}
"#;
    let gang = |namespace: &str| {
        format!(
            "---\n{{apiVersion: gangline.dev/v1alpha1, kind: TaskGroup, metadata: {{name: g, namespace: {namespace}}},\n  spec: \
             {{minMember: 2, minResource: {{cpu: 1}}, placeholderFor: all}}}}\n"
        )
    };
    let text = ["labelled", "one", "other"].into_iter().fold(text.to_owned(), |text, name| text + &gang(name));
    let story = story(&[("all.yaml", &text)], "1x9cpu,8Gi");
    let queues: Vec<_> = story.gangs.iter().map(|gang| (&*gang.name, &*gang.queue, gang.reason)).collect();
    let ran = "Completed";
    let expected = [
        ("labelled/g", "root.teams.labelled", "ExceedsMaxQuota"),
        ("one/g", "root.one", ran),
        ("other/g", "root.default", ran),
    ];
    assert_eq!(queues, expected, "{:#?}", story.gangs);
}
