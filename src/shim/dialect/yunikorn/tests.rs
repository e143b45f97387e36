//! What pods say in YuniKorn's words, and what becomes of what is wrong in them.

use serde_json::{Value, json};

use super::*;
use crate::core::reason::SpecError;

const SPARK: &str = r#"[
    {"name": "spark-driver", "minMember": 1, "minResource": {"cpu": "1", "memory": "2Gi"}},
    {"name": "spark-executor", "minMember": 3, "minResource": {"cpu": "500m", "memory": "1Gi"},
     "nodeSelector": {"pool": "batch"}, "tolerations": [{"key": "batch", "operator": "Exists"}],
     "labels": {"version": "3"}, "annotations": {"note": "x"}}
]"#;

fn pod(labels: &Value, annotations: &Value) -> Pod {
    let metadata = json!({"namespace": "data", "name": "p", "labels": labels, "annotations": annotations});
    let pod = json!({"metadata": metadata, "spec": {"containers": [], "priorityClassName": "high"}});
    serde_json::from_value(pod).expect("a pod")
}

fn declaring(groups: &str) -> Spoken {
    let annotations = json!({TASK_GROUPS: groups, TASK_GROUP_NAME: "a"});
    read(&pod(&json!({APP_ID: "app"}), &annotations)).expect("it speaks")
}

fn fields(problems: &[SpecError]) -> Vec<String> {
    problems.iter().map(|problem| problem.field.to_string()).collect()
}

#[test]
fn the_application_is_looked_for_where_yunikorn_does_in_its_order() {
    for (labels, annotations, id) in [
        (json!({APP_ID: "a", "spark-app-selector": "s"}), json!({APP_ID: "b"}), Some("a")),
        (json!({"spark-app-selector": "s", "applicationId": "l"}), json!({APP_ID: "b"}), Some("b")),
        (json!({"spark-app-selector": "s", "applicationId": "l"}), json!({}), Some("s")),
        (json!({"applicationId": "l"}), json!({}), Some("l")),
        (json!({APP_ID: "", "applicationId": "l"}), json!({}), Some("l")),
        (json!({"queue": "root.a"}), json!({QUEUE: "root.a"}), None),
    ] {
        let spoken = read(&pod(&labels, &annotations));
        assert_eq!(spoken.and_then(|spoken| spoken.application).as_deref(), id, "{labels} {annotations}");
    }
}

#[test]
fn a_queue_is_below_the_root_whether_it_says_so_or_not() {
    for (labels, annotations, queue) in [
        (json!({QUEUE: "root.a"}), json!({QUEUE: "root.b"}), Some("root.a")),
        (json!({"queue": "c"}), json!({QUEUE: "root.b"}), Some("root.b")),
        (json!({"queue": "c.d"}), json!({}), Some("root.c.d")),
        (json!({"queue": "root"}), json!({}), Some("root")),
        (json!({}), json!({}), None),
    ] {
        let mut labels = labels;
        labels[APP_ID] = json!("app");
        let spoken = read(&pod(&labels, &annotations)).expect("it speaks");
        assert_eq!((spoken.queue.as_deref(), spoken.problems.len()), (queue, 0), "{labels} {annotations}");
    }
}

#[test]
fn spark_s_groups_are_two_task_groups_of_one_application() {
    let annotations = json!({
        TASK_GROUPS: SPARK, TASK_GROUP_NAME: "spark-driver",
        PARAMETERS: "placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard",
    });
    let driver = read(&pod(&json!({APP_ID: "spark-1", "queue": "root.etl"}), &annotations)).expect("it speaks");
    assert_eq!((&*driver.problems, &*driver.warnings), (&[][..], &[][..]));
    let executor = json!({TASK_GROUP_NAME: "spark-executor"});
    let executor = read(&pod(&json!({"spark-app-selector": "spark-1"}), &executor)).expect("it speaks");
    assert!(executor.declares.is_empty());
    let names: Vec<_> = driver.declares.iter().map(|declared| Some(declared.name.clone())).collect();
    assert_eq!(names, [driver.group.clone(), executor.group]);
    let team: Vec<_> = names.iter().flatten().map(|name| format!("data/{name}")).collect();
    for (declared, min) in driver.declares.iter().zip([1, 3]) {
        let spec = &declared.spec;
        assert_eq!((spec.application_id.as_deref(), spec.queue.as_deref()), (Some("spark-1"), Some("root.etl")));
        assert_eq!((spec.min_member, spec.style, spec.placeholder_timeout_seconds), (min, Style::Hard, Some(60)));
        assert_eq!(spec.gang_group, team);
    }
    let template = driver.declares[1].spec.placeholder_template.as_ref().expect("a template");
    assert_eq!(template.node_selector["pool"], "batch");
    assert_eq!(template.tolerations.len(), 1);
    assert_eq!((&*template.labels["version"], &*template.annotations["note"]), ("3", "x"));
    assert_eq!(template.priority_class_name.as_deref(), Some("high"));
}

#[test]
fn what_a_driver_of_spark_declares_goes_with_it_and_other_declarations_with_the_controller() {
    let spark = json!({"spark-app-selector": "spark-1", "spark-role": "driver"});
    let named = json!({"spark-app-selector": "spark-1", "spark-role": "driver", APP_ID: "etl"});
    let other = json!({"spark-app-selector": "spark-1"});
    for (labels, owner) in [(spark, "Pod"), (named, "SparkApplication"), (other, "SparkApplication")] {
        let mut pod = pod(&labels, &json!({TASK_GROUPS: SPARK, TASK_GROUP_NAME: "spark-driver"}));
        let controller =
            json!([{"apiVersion": "v1", "kind": "SparkApplication", "name": "a", "uid": "1", "controller": true}]);
        pod.metadata.owner_references = serde_json::from_value(controller).expect("an owner");
        let spoken = read(&pod).expect("it speaks");
        let owners: Vec<&str> = spoken.declares.iter().map(|declared| &*declared.owner.kind).collect();
        assert_eq!(owners, [owner, owner], "{labels}");
    }
}

#[test]
fn an_object_s_name_is_fit_and_of_one_pair_alone() {
    let long = "x".repeat(200);
    let mut names = std::collections::BTreeSet::new();
    for (application, group) in
        [("a", "bc"), ("ab", "c"), ("a", "BC"), ("a", "bc_"), ("a", "_"), ("a", &long), (&long, "a"), ("a", "ä/x")]
    {
        let name = object_name(application, group);
        assert!(syntax::is_dns_label(&name) && name.len() <= syntax::MAX_LABEL, "{name}");
        assert_eq!(name, object_name(application, group));
        assert!(names.insert(name.clone()), "{name}");
    }
    assert!(object_name("app", "Spark_Executor").starts_with("spark-executor-"));
}

/// Our own label for the queue counts, and what YuniKorn's words say otherwise is told.
#[test]
fn our_label_names_the_queue_before_their_words_do() {
    let pod = |labels: Value| {
        let pod = json!({"metadata": {"name": "p", "labels": labels}, "spec": {"containers": []}});
        read(&serde_json::from_value(pod).expect("a pod")).expect("it speaks")
    };
    let ours = pod(json!({APP_ID: "a", "gangline.dev/queue": "root.ours"}));
    assert_eq!((ours.queue.as_deref(), ours.warnings.len(), ours.problems.len()), (Some("root.ours"), 0, 0));
    let both = pod(json!({APP_ID: "a", "gangline.dev/queue": "root.ours", "queue": "theirs"}));
    assert_eq!((both.queue.as_deref(), both.warnings.len()), (Some("root.ours"), 1));
    let same = pod(json!({APP_ID: "a", "gangline.dev/queue": "root.ours", "queue": "ours"}));
    assert_eq!((same.queue.as_deref(), same.warnings.len()), (Some("root.ours"), 0));
    let wrong = pod(json!({APP_ID: "a", "queue": "Narrow"}));
    assert_eq!(fields(&wrong.problems), ["queue"]);
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// So many labels, say.
fn many(count: usize) -> Value {
    (0..count).map(|number| (format!("key-{number}"), json!("x"))).collect::<serde_json::Map<_, _>>().into()
}

/// An affinity to nodes of so many terms with so many values each.
fn on_nodes(terms: usize, values: usize) -> Value {
    let values: Vec<String> = (0..values).map(|number| number.to_string()).collect();
    let term = json!({"matchExpressions": [{"key": "a", "operator": "In", "values": values}]});
    json!({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": vec![term; terms]}}})
}

/// The API server would refuse one more of each for ever.
#[test]
fn as_much_as_a_task_group_may_have_is_taken() {
    let groups = json!([{
        "name": "a", "minMember": 1, "minResource": {"cpu": "1"}, "labels": many(32), "nodeSelector": many(32),
        "annotations": {"x": "ü".repeat(1_024)}, "affinity": on_nodes(16, 256),
        "tolerations": vec![json!({"key": "a", "operator": "Exists"}); 32],
    }]);
    let spoken = declaring(&groups.to_string());
    assert_eq!((fields(&spoken.problems), spoken.declares.len()), (vec![], 1));
    let long = format!(
        "[{{\"name\": \"a\", \"minMember\": 1, \"minResource\": {{\"cpu\": \"1\"}}}}{}]",
        " ".repeat(256 << 10)
    );
    let problems = declaring(&long).problems;
    assert_eq!(problems[0].problem.to_string(), format!("must have at most 262144 characters, has {}", long.len()));
}

/// An amount beyond all that there is is read; the application is refused for it (`AskTooLarge`).
#[test]
fn an_absurd_amount_is_read() {
    let groups = json!([{"name": "a", "minMember": 1, "minResource": {"cpu": "1e99"}}]);
    let spoken = declaring(&groups.to_string());
    assert_eq!((fields(&spoken.problems), &*spoken.declares[0].spec.min_resource["cpu"].0), (vec![], "1e99"));
}

/// What operators write of workers of which none is there at first. Another number that is none is refused.
#[test]
fn a_group_of_nobody_is_left_out_of_the_gang() {
    let group = |name: &str, min: i64| json!({"name": name, "minMember": min, "minResource": {"cpu": "1"}});
    let spoken = declaring(&json!([group("a", 1), group("workers", 0)]).to_string());
    assert_eq!(fields(&spoken.problems), [""; 0]);
    let names: Vec<_> = spoken.declares.iter().map(|declared| declared.name.clone()).collect();
    assert_eq!((names, spoken.declares[0].spec.gang_group.len()), (vec![object_name("app", "a")], 0));
    assert_eq!(spoken.left_out, [object_name("app", "workers")]);
    assert!(spoken.warnings.len() == 1 && spoken.warnings[0].contains("task-groups[1].minMember"), "{spoken:?}");
    let nobody = declaring(&json!([group("a", 0)]).to_string());
    assert_eq!((nobody.problems.len(), nobody.declares.len(), nobody.left_out.len()), (0, 0, 1));
    assert!(nobody.is_declaration(), "it says that nobody is to start together");
    let negative = declaring(&json!([group("a", 1), group("workers", -1)]).to_string());
    assert_eq!(fields(&negative.problems), [format!("{TASK_GROUPS}[1].minMember")]);
    let twice = declaring(&json!([group("a", 1), group("a", 0), group("", 0)]).to_string());
    assert_eq!(fields(&twice.problems), [format!("{TASK_GROUPS}[1].name"), format!("{TASK_GROUPS}[2].name")]);
}

/// Each is refused, and says where; nothing is made of the others beside it.
#[test]
fn what_is_wrong_is_named_where_it_is_written() {
    let group = |change: Value| {
        let mut group = json!({"name": "a", "minMember": 1, "minResource": {"cpu": "1"}});
        change.as_object().expect("a change").iter().for_each(|(key, value)| group[key] = value.clone());
        json!([group]).to_string()
    };
    let at = |field: &str| format!("{TASK_GROUPS}[0]{field}");
    let resource = |name: &str, amount: Value| group(json!({"minResource": {name: amount}}));
    let anti =
        json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}});
    let spread = json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]);
    for (text, field) in [
        ("not JSON".to_owned(), TASK_GROUPS.to_owned()),
        ("{}".to_owned(), TASK_GROUPS.to_owned()),
        ("[]".to_owned(), TASK_GROUPS.to_owned()),
        ("[".repeat(100_000), TASK_GROUPS.to_owned()),
        ("x".repeat(1 << 20), TASK_GROUPS.to_owned()),
        ("[7]".to_owned(), at("")),
        (group(json!({"minMember": null})), at(".minMember")),
        (group(json!({"minMember": -1})), at(".minMember")),
        (group(json!({"minMember": 1_000_000_000})), at(".minMember")),
        (group(json!({"minMember": "1"})), at("")),
        (group(json!({"minResource": {}})), at(".minResource")),
        (resource("cpu", json!("-1")), at(".minResource[cpu]")),
        (resource("cpu", json!("much")), at(".minResource[cpu]")),
        (resource("cpu", json!([])), at(".minResource[cpu]")),
        (resource("cpu", json!("1e099")), at(".minResource[cpu]")),
        (resource("cpu", json!("0".repeat(40) + "1")), at(".minResource[cpu]")),
        (resource("pods", json!("1")), at(".minResource[pods]")),
        (group(json!({"minResource": {"cpu": "1", "vcore": "1"}})), at(".minResource[vcore]")),
        (group(json!({"affinity": anti})), at(".affinity.podAntiAffinity")),
        (group(json!({"topologySpreadConstraints": spread})), at(".topologySpreadConstraints")),
        (group(json!({"labels": {"x": "not a label value"}})), at(".labels[x]")),
        (group(json!({"labels": many(33)})), at(".labels")),
        (group(json!({"annotations": many(33)})), at(".annotations")),
        (group(json!({"annotations": {"x": "ü".repeat(1_025)}})), at(".annotations[x]")),
        (group(json!({"nodeSelector": many(33)})), at(".nodeSelector")),
        (group(json!({"tolerations": vec![json!({"key": "a", "operator": "Exists"}); 33]})), at(".tolerations")),
        (group(json!({"tolerations": [{"key": "a".repeat(318), "operator": "Exists"}]})), at(".tolerations[0].key")),
        (group(json!({"affinity": on_nodes(17, 1)})), at(&format!(".affinity.nodeAffinity.{REQUIRED}"))),
        (group(json!({"affinity": on_nodes(1, 257)})), at(&format!(".affinity.nodeAffinity.{REQUIRED}"))),
    ] {
        let spoken = declaring(&text);
        let found = fields(&spoken.problems);
        assert!(found.contains(&field), "{found:?} lacks {field}: {}", &text[..text.len().min(200)]);
        assert!(spoken.declares.is_empty());
    }
    let twice = json!([{"name": "a", "minMember": 1, "minResource": {"cpu": "1"}},
                       {"name": "a", "minMember": 2, "minResource": {"cpu": "1"}}]);
    assert_eq!(fields(&declaring(&twice.to_string()).problems), [format!("{TASK_GROUPS}[1].name")]);
    let other = json!([{"name": "b", "minMember": 1, "minResource": {"cpu": "1"}}]);
    assert_eq!(fields(&declaring(&other.to_string()).problems), [TASK_GROUP_NAME]);
}

#[test]
fn an_application_that_cannot_be_one_is_named() {
    let groups = json!({TASK_GROUPS: SPARK});
    let nobody = read(&pod(&json!({}), &groups)).expect("it speaks");
    assert_eq!((fields(&nobody.problems), nobody.application), (vec![APP_ID.to_owned()], None));
    let long = json!({TASK_GROUP_NAME: "a", APP_ID: "x".repeat(64)});
    let long = read(&pod(&json!({}), &long)).expect("it speaks");
    assert_eq!((fields(&long.problems), long.group), (vec![APP_ID.to_owned()], None));
    let characters = json!({TASK_GROUP_NAME: "a", APP_ID: "a b/ü"});
    let characters = read(&pod(&json!({}), &characters)).expect("it speaks");
    assert_eq!((fields(&characters.problems), characters.application), (vec![APP_ID.to_owned()], None));
    let odd = read(&pod(&json!({APP_ID: "app", "queue": "Not a queue"}), &json!({}))).expect("it speaks");
    assert_eq!(fields(&odd.problems), [OLD_QUEUE]);
}

/// A pod may have 256 KiB of annotations, and nobody reads as many warnings as that makes.
#[test]
fn warnings_are_few_and_short() {
    let mut told = Warnings::default();
    Parameters::read(&format!("{} {}", "x".repeat(10_000), "a ".repeat(100_000)), &mut told);
    assert!(told.0.len() <= 16 && told.0.iter().all(|warning| warning.chars().count() <= 201));
}

/// The queue is not lost where YuniKorn's admission would have added an application.
#[test]
fn a_queue_is_heeded_without_an_application_and_a_placeholder_of_yunikorn_is_nothing() {
    let alone = read(&pod(&json!({QUEUE: "root.prod"}), &json!({}))).expect("it speaks");
    assert_eq!((alone.queue.as_deref(), alone.application, &*alone.problems), (Some("root.prod"), None, &[][..]));
    let annotations = json!({PLACEHOLDER: "true", TASK_GROUP_NAME: "a", TASK_GROUPS: SPARK});
    let placeholder = read(&pod(&json!({APP_ID: "app"}), &annotations)).expect("it speaks");
    assert_eq!((fields(&placeholder.problems), placeholder.group), (vec![PLACEHOLDER.to_owned()], None));
    assert!(placeholder.declares.is_empty());
}

/// As YuniKorn reads it, so that what works there works here; and it is said.
#[test]
fn what_yunikorn_overlooks_is_overlooked_and_told() {
    let lenient = json!([{
        "NAME": "a", "minmember": 2, "minResource": {"cpu": 1, "memory": "1Gi"}, "colour": "blue", "affinity": null,
        "labels": {"app.kubernetes.io/name": "x", "mine": "y"},
        "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
    }]);
    let spoken = declaring(&lenient.to_string());
    assert_eq!(fields(&spoken.problems), [""; 0]);
    let spec = &spoken.declares[0].spec;
    assert_eq!((spec.min_member, &*spec.min_resource["cpu"].0, spec.gang_group.len()), (2, "1", 0));
    let template = spec.placeholder_template.as_ref().expect("a template");
    assert_eq!(template.labels.keys().collect::<Vec<_>>(), ["mine"]);
    assert_eq!(spoken.warnings.len(), 4, "{:?}", spoken.warnings);
    for (text, style, seconds, warnings) in [
        ("", Style::Soft, None, 0),
        ("gangSchedulingStyle=hard", Style::Soft, None, 1),
        ("placeholderTimeoutInSeconds=x gangSchedulingStyle=Hard other", Style::Hard, None, 2),
        ("placeholderTimeoutInSeconds=0", Style::Soft, None, 1),
        ("placeholderTimeoutInSeconds=99999999999", Style::Soft, None, 1),
        ("placeholderTimeoutInSeconds=31536001", Style::Soft, None, 1),
        ("placeholderTimeoutInSeconds=7", Style::Soft, Some(7), 0),
    ] {
        let mut told = Warnings::default();
        let read = Parameters::read(text, &mut told);
        assert_eq!((read, told.0.len()), (Parameters { timeout_seconds: seconds, style }, warnings), "{text}");
    }
}
