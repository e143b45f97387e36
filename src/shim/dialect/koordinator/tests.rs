//! What pods say in Koordinator's words, and what becomes of what is wrong in them.

use serde_json::{Value, json};

use super::super::pod_group::{self, PodGroup};
use super::*;
use crate::api::names;
use crate::api::task_group::{MatchPolicy, Mode, Reservation, TaskGroupSpec};
use crate::core::reason::SpecError;
use crate::shim::dialect::{Dialect, WAIT_TIMEOUT_SECONDS};

/// A pod of the namespace `data` that requests a core and a half.
fn pod(labels: &Value, annotations: &Value) -> Pod {
    let metadata = json!({"namespace": "data", "name": "p", "uid": "u", "labels": labels, "annotations": annotations});
    let container =
        json!({"name": "main", "resources": {"requests": {"cpu": "1500m", "memory": "2Gi", "x.io/gpu": "2"}}});
    serde_json::from_value(json!({"metadata": metadata, "spec": {"containers": [container]}})).expect("a pod")
}

fn said(labels: &Value, annotations: &Value) -> Spoken {
    read(&pod(labels, annotations), WAIT_TIMEOUT_SECONDS).expect("it speaks")
}

/// A pod of three of the gang `a` with more annotations, under the prefix; null takes one away.
fn annotated(more: &Value) -> Spoken {
    let mut annotations = json!({NAME: "a", MIN: "3"});
    for (key, value) in more.as_object().expect("annotations") {
        annotations[format!("{PREFIX}{key}")] = value.clone();
    }
    annotations.as_object_mut().expect("annotations").retain(|_, value| !value.is_null());
    said(&json!({}), &annotations)
}

fn fields(problems: &[SpecError]) -> Vec<&str> {
    problems.iter().map(|problem| &*problem.field).collect()
}

fn spec(spoken: &Spoken) -> &TaskGroupSpec {
    let [declared] = &*spoken.declares else { panic!("one TaskGroup: {spoken:?}") };
    assert_eq!((Some(&declared.name), &*spoken.problems), (spoken.group.as_ref(), &[][..]));
    &declared.spec
}

/// peers 1.1: name and number of the lightweight labels come before the annotations.
#[test]
fn a_gang_is_one_task_group_without_placeholders() {
    let by_labels = json!({NAME_LABEL: "a", MIN_LABEL: "3"});
    let by_annotations = json!({NAME: "a", MIN: "3"});
    let mixed = (json!({NAME_LABEL: "a"}), json!({MIN: "3"}));
    for (labels, annotations) in [(by_labels, json!({})), (json!({}), by_annotations), mixed] {
        let spoken = said(&labels, &annotations);
        assert_eq!((spoken.system, spoken.application.as_deref(), spoken.warnings.len()), (SYSTEM, Some("a"), 0));
        let spec = spec(&spoken);
        assert_eq!((spec.min_member, spec.reservation, spec.wait_timeout_seconds), (3, Reservation::Direct, Some(600)));
        assert_eq!((spec.application_id.as_deref(), spec.gang_group.len(), &spec.queue), (Some("a"), 0, &None));
        let amounts: Vec<_> =
            spec.min_resource.iter().map(|(name, amount)| (name.as_str(), amount.0.as_str())).collect();
        assert_eq!(amounts, [("cpu", "1500m"), ("memory", "2147483648"), ("x.io/gpu", "2")]);
    }
}

/// peers 1.1: "deprecated lightweight min; wins over the annotation for min"; of the name likewise.
#[test]
fn labels_count_before_annotations_and_that_is_told() {
    let spoken = said(&json!({NAME_LABEL: "a", MIN_LABEL: "3"}), &json!({NAME: "b", MIN: "4"}));
    assert_eq!((spoken.group.as_deref(), spec(&spoken).min_member, spoken.warnings.len()), (Some("a"), 3, 2));
    let same = said(&json!({NAME_LABEL: "a", MIN_LABEL: "3"}), &json!({NAME: "a", MIN: "3"}));
    assert_eq!(same.warnings.len(), 0);
    let wrong = said(&json!({NAME_LABEL: "a", MIN_LABEL: "three"}), &json!({MIN: "3"}));
    assert_eq!((fields(&wrong.problems), wrong.declares.len()), (vec![MIN_LABEL], 0));
}

#[test]
fn who_says_nothing_is_not_read() {
    for (labels, annotations) in [
        (json!({}), json!({})),
        (json!({NAME_LABEL: "", MIN_LABEL: ""}), json!({NAME: "", MIN: "", GROUPS: ""})),
        (json!({"koordinator.sh/priority": "1"}), json!({POLICY_ALIAS: "only-waiting"})),
        (json!({}), json!({"gang.scheduling.koordinator.sh/network-topology-index": "1"})),
    ] {
        assert_eq!(read(&pod(&labels, &annotations), 600), None, "{labels} {annotations}");
    }
}

/// A pod that names a PodGroup says what it wants to say otherwise, each value by itself; what is wrong in it is refused.
#[test]
fn who_names_a_pod_group_refers_to_it() {
    let said = |labels: Value, annotations: Value| read(&pod(&labels, &annotations), 600).expect("it speaks");
    let spoken = said(
        json!({POD_GROUP: "pg", NAME_LABEL: "a"}),
        json!({MIN: "2", TOTAL: "5", WAIT: "1m", MODE: "NonStrict", POLICY: "only-waiting"}),
    );
    let reference = spoken.refers.as_ref().expect("it names one");
    assert_eq!((&*reference.name, &*reference.words()), ("pg", "PodGroup pg of scheduling.sigs.k8s.io"));
    let terms = Terms {
        min_member: Some(2),
        total_member: Some(5),
        wait_seconds: Some(60),
        mode: Some(Mode::NonStrict),
        match_policy: Some(MatchPolicy::OnlyWaiting),
        team: None,
    };
    assert_eq!((&reference.terms, spoken.declares.len(), spoken.application), (&terms, 0, None));
    assert_eq!((spoken.group.as_deref(), spoken.warnings.len(), spoken.problems.len()), (Some("pg"), 1, 0));
    for (annotations, key) in [(json!({MIN: "0"}), MIN), (json!({MIN: "x"}), MIN)] {
        let spoken = said(json!({POD_GROUP: "pg"}), annotations);
        assert_eq!((fields(&spoken.problems), spoken.refers), (vec![key], None));
    }
    let long = said(json!({POD_GROUP: "x".repeat(64)}), json!({}));
    assert_eq!((fields(&long.problems), long.refers, long.group), (vec![POD_GROUP], None, None));
}

/// An object has a field for the time, which is all that Koordinator reads of it there: the annotation counts where the field says
/// nothing, and where it says something else that is told.
#[test]
fn the_field_of_a_pod_group_for_its_time_counts_before_its_annotation() {
    let pod = read(&pod(&json!({POD_GROUP: "pg"}), &json!({})), 700).expect("it speaks");
    let reference = pod.refers.expect("it names one");
    for (field, annotation, seconds, told) in [
        (json!(30), "1m", 30, Some("60s is left out, since spec.scheduleTimeoutSeconds says 30")),
        (json!(60), "1m", 60, None),
        (json!(30), "", 30, None),
        (json!(30), "soon", 30, Some("is no time with its unit")),
        (json!(0), "1m", 60, None),
        (json!(null), "1m", 60, None),
        (json!(null), "", 700, None),
    ] {
        let metadata = json!({"namespace": "data", "name": "pg", "uid": "u", "annotations": {WAIT: annotation}});
        let object = json!({"metadata": metadata, "spec": {"minMember": 1, "scheduleTimeoutSeconds": field}});
        let group: PodGroup<pod_group::Koordinator> = serde_json::from_value(object).expect("a PodGroup");
        let found = pod_group::read(&group).expect("it stays");
        let declared = reference.declared(&found).expect("it is right");
        let warnings = reference.warnings(&found);
        assert_eq!(
            (declared.spec.wait_timeout_seconds, warnings.len()),
            (Some(seconds), usize::from(told.is_some())),
            "{field} {annotation}"
        );
        assert!(warnings.iter().zip(told).all(|(warning, told)| warning.contains(told)), "{warnings:?}");
    }
}

/// A TaskGroup asks for something, and for no more resources than it may.
#[test]
fn what_members_request_is_what_the_task_group_says() {
    let amounts = |requests: Value| {
        let mut pod = pod(&json!({NAME_LABEL: "a", MIN_LABEL: "3"}), &json!({}));
        let container = json!([{"name": "main", "resources": {"requests": requests}}]);
        pod.spec.as_mut().expect("a spec").containers = serde_json::from_value(container).expect("containers");
        let spoken = read(&pod, 600).expect("it speaks");
        spec(&spoken).min_resource.clone()
    };
    let memory = amounts(json!({}));
    assert_eq!((memory.len(), &*memory["memory"].0), (1, "1"));
    let zero = amounts(json!({"cpu": "0"}));
    assert_eq!((zero.len(), zero.contains_key("memory")), (1, true));
    let many: serde_json::Map<_, _> = (0..40).map(|number| (format!("x.io/{number}"), json!("1"))).collect();
    assert_eq!(amounts(many.into()).len(), MAX_RESOURCES);
    let huge = amounts(json!({"cpu": "9000000000000000000"}));
    assert_eq!(&*huge["cpu"].0, format!("{}m", i64::MAX));
}

/// Design 03, 3.4: "Bad values are refused visibly". What Koordinator lets pass, but is read nowhere here, is among them.
#[test]
fn what_is_wrong_or_not_supported_is_named_where_it_is_written() {
    let at = |field: &str| format!("{PREFIX}{field}");
    let huge = "9".repeat(1 << 20);
    for (more, field) in [
        (json!({"name": null}), at("name")),
        (json!({"name": "A_b"}), at("name")),
        (json!({"name": "-a"}), at("name")),
        (json!({"name": "a/b"}), at("name")),
        (json!({"name": "a".repeat(64)}), at("name")),
        (json!({"name": "\u{1b}[31m".repeat(9_000)}), at("name")),
        (json!({"min-available": null}), at("min-available")),
        (json!({"min-available": "five"}), at("min-available")),
        (json!({"min-available": "-1"}), at("min-available")),
        (json!({"min-available": "3.0"}), at("min-available")),
        (json!({"min-available": " 3"}), at("min-available")),
        (json!({"min-available": "100001"}), at("min-available")),
        (json!({"min-available": huge}), at("min-available")),
        (json!({"network-topology-spec": "{}"}), at("network-topology-spec")),
        (json!({"colour": "blue"}), at("colour")),
        (json!({"groups": "[\"b\"]"}), at("groups[0]")),
        (json!({"groups": "[\"data/a\", \"data/B\"]"}), at("groups[1]")),
        (json!({"gang-groups": "[\"data/a\", \"other/B\"]"}), at("gang-groups[1]")),
        (json!({"groups": format!("[{}\"data/a\"]", "\"data/a\",".repeat(64))}), at("groups")),
        (json!({"groups": format!("[\"data/a\"{}]", " ".repeat(1 << 20))}), at("groups")),
        (json!({"min-available": "0", "groups": "[\"data/a\", \"data/b\"]"}), at("min-available")),
    ] {
        let spoken = annotated(&more);
        assert_eq!((fields(&spoken.problems), spoken.declares.len(), spoken.left_out.len()), (vec![&*field], 0, 0));
        let told = &*spoken.problems[0].problem;
        assert!(told.chars().count() <= 513 && !told.contains('\u{1b}'), "{told}");
    }
    let label = said(&json!({NAME_LABEL: "a", MIN_LABEL: "3", "pod-group.scheduling.sigs.k8s.io/x": "y"}), &json!({}));
    assert_eq!(fields(&label.problems), ["pod-group.scheduling.sigs.k8s.io/x"]);
    let queue = said(&json!({NAME_LABEL: "a", MIN_LABEL: "3", (names::QUEUE): "root..x"}), &json!({}));
    assert_eq!(fields(&queue.problems), [names::QUEUE]);
    let all = annotated(&json!({"name": "A", "min-available": "x", "network-topology-spec": "{}", "groups": "[\"\"]"}));
    assert_eq!(all.problems.len(), 3, "all at once, and no list without a gang: {:?}", all.problems);
}

/// Peers 1.1: the second key counts where the first is empty; what is no policy is the default, and told.
#[test]
fn a_match_policy_is_read_under_either_of_two_keys() {
    let policy = |annotations: Value| {
        let spoken = said(&json!({NAME_LABEL: "a", MIN_LABEL: "3"}), &annotations);
        (spoken.declares[0].spec.match_policy, spoken.warnings.len())
    };
    for (annotations, expected) in [
        (json!({}), (MatchPolicy::OnceSatisfied, 0)),
        (json!({POLICY: "waiting-and-running"}), (MatchPolicy::WaitingAndRunning, 0)),
        (json!({POLICY_ALIAS: "only-waiting"}), (MatchPolicy::OnlyWaiting, 0)),
        (json!({POLICY: "", POLICY_ALIAS: "only-waiting"}), (MatchPolicy::OnlyWaiting, 0)),
        (json!({POLICY: "once-satisfied", POLICY_ALIAS: "only-waiting"}), (MatchPolicy::OnceSatisfied, 0)),
        (json!({POLICY: "OnlyWaiting"}), (MatchPolicy::OnceSatisfied, 1)),
    ] {
        assert_eq!(policy(annotations.clone()), expected, "{annotations}");
    }
}

/// Seed 002 "After Gang": `gang.scheduling.koordinator.sh/timeout=true`, and no other value. What the pod declares is read all the
/// same: it counts again when the annotation is gone.
#[test]
fn one_value_says_that_the_gang_has_timed_out() {
    let huge = "true".repeat(1 << 18);
    for (value, says) in [
        (json!("true"), true),
        (json!("TRUE"), false),
        (json!("True"), false),
        (json!(" true"), false),
        (json!("1"), false),
        (json!("yes"), false),
        (json!("false"), false),
        (json!(""), false),
        (json!(huge), false),
    ] {
        let spoken = annotated(&json!({"timeout": value}));
        assert_eq!((spoken.timed_out, spoken.has_timed_out()), (Some(says), says), "{value:.99}");
        assert_eq!((spoken.problems.len(), spoken.warnings.len(), spoken.declares.len()), (0, 0, 1), "{value:.99}");
    }
    assert_eq!(annotated(&json!({})).timed_out, Some(false));
}

/// peers 1.1: "" and what is no duration, is 0 or less, is the default; so is what Koordinator's own tests have
/// (`gang_cache_test`: "0", "-20s").
#[test]
fn a_waiting_time_is_gos_and_the_default_where_it_makes_no_sense() {
    let huge = "9".repeat(1 << 20) + "s";
    for (text, seconds, warnings) in [
        (json!("3600s"), 3_600, 0),
        (json!("1h30m"), 5_400, 0),
        (json!("1500ms"), 2, 0),
        (json!(""), 700, 0),
        (json!(null), 700, 0),
        (json!("600"), 700, 1),
        (json!("0"), 700, 1),
        (json!("-20s"), 700, 1),
        (json!("soon"), 700, 1),
        (json!(huge), 700, 1),
        (json!("9000h"), 31_536_000, 1),
    ] {
        let labels = json!({NAME_LABEL: "a", MIN_LABEL: "3"});
        let mut annotations = json!({WAIT: text});
        annotations.as_object_mut().expect("annotations").retain(|_, value| !value.is_null());
        let spoken = read(&pod(&labels, &annotations), 700).expect("it speaks");
        assert_eq!(
            (spec(&spoken).wait_timeout_seconds, spoken.warnings.len()),
            (Some(seconds), warnings),
            "{annotations:.99}"
        );
    }
}

/// peers 1.1: illegal or less than the least number is that number; any other mode is Strict; any other policy is the default;
/// invalid JSON is this gang alone (`gang_cache_test`: "[a,b]", "ganga,gangx").
#[test]
fn koordinators_defaults_are_taken_and_told() {
    let long = "[".repeat(LONGEST);
    for (more, warnings) in [
        (json!({"total-number": "3"}), 0),
        (json!({"total-number": "30"}), 0),
        (json!({"total-number": ""}), 0),
        (json!({"total-number": "2"}), 1),
        (json!({"total-number": "-3"}), 1),
        (json!({"total-number": "many"}), 1),
        (json!({"total-number": "9".repeat(1 << 20)}), 1),
        (json!({"mode": "Strict"}), 0),
        (json!({"mode": ""}), 0),
        (json!({"mode": "strict"}), 1),
        (json!({"mode": "nonstrict"}), 1),
        (json!({"match-policy": "once-satisfied"}), 0),
        (json!({"match-policy": "sometimes"}), 1),
        (json!({"timeout": "false"}), 0),
        (json!({"groups": "[a,b]"}), 1),
        (json!({"groups": "ganga,gangx"}), 1),
        (json!({"groups": "{\"data/a\": 1}"}), 1),
        (json!({"groups": "[1]"}), 1),
        (json!({"groups": "7"}), 1),
        (json!({"groups": long}), 1),
        (json!({"groups": "[]"}), 0),
        (json!({"groups": "null"}), 0),
        (json!({"groups": ""}), 0),
    ] {
        let spoken = annotated(&more);
        let spec = spec(&spoken);
        assert_eq!((spec.min_member, spec.gang_group.len(), spoken.application.as_deref()), (3, 0, Some("a")));
        assert_eq!(spec.mode, Mode::Strict);
        assert_eq!(spoken.warnings.len(), warnings, "{:?}", spoken.warnings);
        assert!(spoken.warnings.iter().all(|warning| warning.chars().count() <= 201), "{:?}", spoken.warnings);
    }
}

/// ADR 36: one application for the set, whichever gang says it and in whatever order, and its TaskGroups list it.
#[test]
fn gangs_of_one_group_are_one_application() {
    let of = |name: &str, groups: &str| annotated(&json!({"name": name, "groups": groups}));
    let a = of("a", r#"["data/b", "data/a"]"#);
    assert_eq!((spec(&a).gang_group.clone(), a.warnings.len()), (vec!["data/a".to_owned(), "data/b".to_owned()], 0));
    let application = a.application.as_deref().expect("an application");
    assert!(application.starts_with("a-") && syntax::is_dns_label(application), "{application}");
    assert_eq!(spec(&a).application_id.as_deref(), Some(application));
    let b = of("b", r#"["data/a", "data/b", "data/a"]"#);
    assert_eq!((b.application.as_deref(), &spec(&b).gang_group), (Some(application), &spec(&a).gang_group));
    let other = annotated(&json!({"gang-groups": r#"["data/\u0061", "data/b"]"#}));
    assert_eq!(other.application.as_deref(), Some(application), "the other spelling, and other spellings in JSON");
    let without_itself = of("b", r#"["data/a"]"#);
    assert_eq!((without_itself.application.as_deref(), without_itself.warnings.len()), (Some(application), 1));
    let across = of("a", r#"["data/a", "other/b"]"#);
    assert_eq!(spec(&across).gang_group, ["data/a", "other/b"]);
    assert_ne!(across.application.as_deref(), Some(application));
    let larger = of("a", r#"["data/a", "data/b", "data/c"]"#);
    assert_ne!(larger.application.as_deref(), Some(application));
    let alone = of("a", r#"["data/a"]"#);
    assert_eq!((alone.application.as_deref(), spec(&alone).gang_group.len(), alone.warnings.len()), (Some("a"), 0, 0));
    let both = annotated(&json!({"groups": r#"["data/a", "data/b"]"#, "gang-groups": r#"["data/a", "data/c"]"#}));
    assert_eq!((both.application.as_deref(), both.warnings.len()), (Some(application), 1));
    let entry = |number: usize| format!("\"data/{number:0>63}\"");
    let most: Vec<_> = (0..MAX_GANG - 1).map(entry).chain(["\"data/a\"".to_owned()]).collect();
    assert_eq!(
        spec(&of("a", &format!("[{}]", most.join(",")))).gang_group.len(),
        MAX_GANG,
        "the most with the longest names"
    );
    let others: Vec<_> = (0..MAX_GANG).map(entry).collect();
    let others = of("a", &format!("[{}]", others.join(",")));
    assert_eq!((fields(&others.problems), others.declares.len()), (vec![GROUPS], 0), "with itself it is one too many");
    let many: Vec<_> = (0..1_000).map(|number| format!("\"data/{number}\"")).collect();
    let many = of("a", &format!("[{}]", many.join(",")));
    assert_eq!((fields(&many.problems), many.application.as_deref()), (vec![GROUPS], Some("a")));
}

/// peers 1.1: "`0` is legal": nobody waits for anybody.
#[test]
fn a_gang_of_nobody_is_left_out() {
    let spoken = annotated(&json!({"min-available": "0"}));
    assert_eq!((spoken.problems.len(), spoken.declares.len(), spoken.warnings.len()), (0, 0, 1));
    assert_eq!((&*spoken.left_out, spoken.application.as_deref()), (&["a".into()][..], Some("a")));
    assert!(spoken.is_declaration());
}

#[test]
fn the_queue_is_named_in_our_words() {
    let spoken = said(&json!({NAME_LABEL: "a", MIN_LABEL: "3", (names::QUEUE): "root.q"}), &json!({}));
    assert_eq!((spoken.queue.as_deref(), spec(&spoken).queue.as_deref()), (Some("root.q"), Some("root.q")));
}

#[test]
fn a_task_group_goes_with_the_controller_of_its_pods() {
    let mut pod = pod(&json!({NAME_LABEL: "a", MIN_LABEL: "3"}), &json!({}));
    let owner = |pod: &Pod| read(pod, 600).expect("it speaks").declares[0].owner.clone();
    assert_eq!((&*owner(&pod).kind, &*owner(&pod).uid), ("Pod", "u"));
    let controller = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": true}]);
    pod.metadata.owner_references = serde_json::from_value(controller).expect("an owner");
    assert_eq!((&*owner(&pod).kind, owner(&pod).controller), ("Job", None));
}

/// Design 03, 3.4: Koordinator comes before YuniKorn, and its PodGroup label before all else.
#[test]
fn of_several_systems_one_counts_and_that_is_told() {
    let yunikorn = json!({"yunikorn.apache.org/app-id": "y"});
    let both = json!({"yunikorn.apache.org/app-id": "y", NAME_LABEL: "a", MIN_LABEL: "3"});
    let first = |labels: &Value, dialects: &[Dialect]| {
        super::super::read(&pod(labels, &json!({})), dialects.iter().copied(), 600)
    };
    let spoken = first(&both, &Dialect::ALL).expect("it speaks");
    assert_eq!((spoken.system, spoken.warnings.len()), (SYSTEM, 1));
    assert!(spoken.warnings[0].contains("Koordinator") && spoken.warnings[0].contains("YuniKorn"), "{spoken:?}");
    let alone = first(&both, &[Dialect::YuniKorn]).expect("it speaks");
    assert_eq!((alone.system, alone.warnings.len()), ("YuniKorn", 0));
    assert_eq!(first(&yunikorn, &Dialect::ALL).map(|spoken| spoken.system), Some("YuniKorn"));
    let pod_group = json!({"yunikorn.apache.org/app-id": "y", POD_GROUP: "pg"});
    let named = first(&pod_group, &Dialect::ALL).expect("it speaks");
    assert_eq!((named.system, named.warnings.len(), named.group.as_deref()), (SYSTEM, 1, Some("pg")));
    assert!(Dialect::Koordinator < Dialect::YuniKorn, "in the order in which they count");
}

/// Two members of different size say the same of their gang, as far as they can.
#[test]
fn members_may_differ_in_size_and_in_nothing_else() {
    let declared = |min: &str, cpu: &str| {
        let mut pod = pod(&json!({NAME_LABEL: "a", MIN_LABEL: min}), &json!({}));
        let container = json!([{"name": "main", "resources": {"requests": {"cpu": cpu}}}]);
        pod.spec.as_mut().expect("a spec").containers = serde_json::from_value(container).expect("containers");
        Arc::clone(&read(&pod, 600).expect("it speaks").declares[0])
    };
    assert!(declared("3", "1").agrees_with(&declared("3", "2")));
    assert!(!declared("3", "1").agrees_with(&declared("4", "1")));
}

/// Everything at once, as much as there may be of it: bounded, and soon done.
#[test]
fn nothing_that_can_be_written_makes_it_long() {
    let keys = (0..9_000).map(|number| (format!("{PREFIX}{number}"), json!("x")));
    let mut annotations: serde_json::Map<_, _> = keys.collect();
    for key in ANNOTATIONS {
        annotations.insert(key.to_owned(), json!("\u{202e}".repeat(1 << 16)));
    }
    let spoken = said(&json!({NAME_LABEL: "ä".repeat(1 << 16), MIN_LABEL: "\n".repeat(1 << 16)}), &annotations.into());
    assert!(spoken.problems.len() <= 32 && spoken.warnings.len() <= 16);
    let long = |text: &Text| text.chars().count() > 600 || text.contains(['\u{202e}', '\n']);
    assert!(
        !spoken.warnings.iter().any(long) && !spoken.problems.iter().any(|one| long(&one.problem) || long(&one.field))
    );
    assert_eq!((spoken.group, spoken.application, spoken.declares.len()), (None, None, 0));
}
