//! The tree of queues as objects come, change and go, and what is wrong with each.

use serde_json::{Value, json};

use super::*;

fn queue(spec: &Value) -> Queue {
    let object = json!({"apiVersion": "gangline.dev/v1alpha1", "kind": "Queue", "metadata": {}, "spec": spec});
    serde_json::from_value(object).unwrap()
}

/// `+root.a cpu=5`, `~root.a cpu=5` where it has no place, or `-root.a`.
fn words(events: &[Event]) -> Vec<String> {
    let limits =
        |spec: &QueueSpec| -> String { spec.max.iter().map(|(name, amount)| format!(" {name}={amount}")).collect() };
    let word = |event: &Event| {
        if let Event::Queue(name, spec) = event {
            return format!("+{name}{}", limits(spec));
        }
        if let Event::QueueDisplaced(name, spec) = event {
            return format!("~{name}{}", limits(spec));
        }
        let Event::QueueGone(name) = event else { panic!("{event:?}") };
        format!("-{name}")
    };
    events.iter().map(word).collect()
}

fn put(tree: &mut QueueTree, name: &str, max: &Value) -> Vec<String> {
    words(&tree.upsert(name, &queue(&json!({"parent": parent(name), "max": max}))))
}

fn problems(tree: &QueueTree, name: &str) -> Vec<String> {
    tree.problem(name).into_iter().flatten().map(ToString::to_string).collect()
}

#[test]
fn the_tree_is_the_same_whatever_the_order_of_the_objects() {
    let mut tree = QueueTree::default();
    assert_eq!(put(&mut tree, "root.a.b.c", &json!({})), ["~root.a.b.c"]);
    assert_eq!(put(&mut tree, "root.a.b", &json!({"pods": "3"})), ["~root.a.b pods=3"]);
    assert_eq!(put(&mut tree, "root.a.b", &json!({"pods": "-3"})), ["-root.a.b"], "nothing of it counts");
    assert_eq!(put(&mut tree, "root.a.b", &json!({"pods": "3"})), ["~root.a.b pods=3"]);
    assert_eq!(problems(&tree, "root.a.b"), ["spec.parent: queue root.a does not exist or has no valid place"]);
    assert_eq!(put(&mut tree, "root.ab", &json!({})), ["+root.ab"]);
    assert_eq!(put(&mut tree, "root.default.x", &json!({})), ["+root.default.x"]);
    assert_eq!(put(&mut tree, "root.a", &json!({"cpu": "2"})), ["+root.a cpu=2000", "+root.a.b pods=3", "+root.a.b.c"]);
    assert_eq!(tree.problem("root.a.b"), None);
    assert_eq!(words(&tree.gone("root.a")), ["~root.a.b.c", "~root.a.b pods=3", "-root.a"]);
    assert_eq!(words(&tree.gone("root.a")), [""; 0]);
    assert_eq!(words(&tree.gone("root.a.b")), ["-root.a.b"]);
}

#[test]
fn the_first_in_line_is_bounded_in_one_way_or_in_none() {
    let mut tree = QueueTree::default();
    for (said, read) in [
        (json!({}), Some(HeadOfLine::Unbounded)),
        (json!({"maxOvertakes": 0}), Some(HeadOfLine::MaxOvertakes(0))),
        (json!({"afterSeconds": 7}), Some(HeadOfLine::After(7_000))),
        (json!(null), None),
    ] {
        tree.upsert("root.a", &queue(&json!({"parent": "root", "headOfLine": said})));
        assert_eq!(tree.in_force("root.a").map(|spec| spec.head_of_line), Some(read), "{said}");
    }
    tree.upsert("root.a", &queue(&json!({"parent": "root", "headOfLine": {"maxOvertakes": 2}})));
    let both = json!({"parent": "root", "headOfLine": {"maxOvertakes": 1, "afterSeconds": 1}});
    tree.upsert("root.a", &queue(&both));
    assert_eq!(problems(&tree, "root.a"), ["spec.headOfLine: must have maxOvertakes or afterSeconds, not both"]);
    let kept = tree.in_force("root.a").and_then(|spec| spec.head_of_line);
    assert_eq!(kept, Some(HeadOfLine::MaxOvertakes(2)), "the last that was right");
}

#[test]
fn what_is_wrong_leaves_the_last_good_spec_in_force() {
    let mut tree = QueueTree::default();
    assert_eq!(put(&mut tree, "root.a", &json!({"cpu": "2"})), ["+root.a cpu=2000"]);
    assert_eq!(put(&mut tree, "root.a", &json!({"cpu": "2"})), [""; 0], "nothing new");
    assert_eq!(put(&mut tree, "root.a", &json!({"cpu": "-1", "memory": "x", "gpu": "1"})), [""; 0]);
    assert_eq!(problems(&tree, "root.a").len(), 3);
    assert!(tree.keeps_earlier("root.a"));
    assert_eq!(tree.in_force("root.a").and_then(|spec| spec.max.get("cpu")), Some(2000));
    assert_eq!(words(&tree.unreadable("root.a", "spec: not\na map")), [""; 0]);
    assert_eq!(problems(&tree, "root.a"), ["spec: spec: not\\na map"]);
    assert_eq!(put(&mut tree, "root.a", &json!({"cpu": "3"})), ["+root.a cpu=3000"]);
}

#[test]
fn a_child_is_told_that_the_nearest_limit_above_counts() {
    let mut tree = QueueTree::default();
    put(&mut tree, "root", &json!({"cpu": "10", "memory": "1Gi"}));
    put(&mut tree, "root.a", &json!({"cpu": "4"}));
    let in_force = "+root.a.b cpu=5000 memory=2147483648";
    assert_eq!(put(&mut tree, "root.a.b", &json!({"cpu": "5", "memory": "2Gi"})), [in_force]);
    let expected = [
        "spec.max[cpu]: 5 is more than the 4 of root.a, which counts",
        "spec.max[memory]: 2Gi is more than the 1Gi of root, which counts",
    ];
    assert_eq!(problems(&tree, "root.a.b"), expected);
    assert_eq!(put(&mut tree, "root.a", &json!({"cpu": "6"})), ["+root.a cpu=6000"]);
    let changed = put(&mut tree, "root", &json!({"cpu": "10", "memory": "2Gi"}));
    assert_eq!(changed, ["+root cpu=10000 memory=2147483648"]);
    assert_eq!(problems(&tree, "root.a.b"), [""; 0]);
    assert_eq!(put(&mut tree, "root.a", &json!({"cpu": "3"})), ["+root.a cpu=3000"]);
    assert_eq!(problems(&tree, "root.a.b"), ["spec.max[cpu]: 5 is more than the 3 of root.a, which counts"]);
    assert!(!tree.keeps_earlier("root.a.b"));
}

/// A template that gives more than there is counts as far as it can; one for nobody does not count.
#[test]
fn a_template_is_judged_with_the_queue() {
    let mut tree = QueueTree::default();
    let mut put = |selector: &Value, template: &Value| {
        let max = json!({"cpu": "4"});
        let mut spec = json!({"parent": "root", "max": max, "childTemplate": template});
        if !selector.is_null() {
            spec["namespaceSelector"] = selector.clone();
        }
        let events = tree.upsert("root.a", &queue(&spec));
        (events.len(), problems(&tree, "root.a").join("; "))
    };
    let all = json!({});
    assert_eq!(put(&all, &json!({"max": {"cpu": "4"}, "guaranteed": {"cpu": "1"}})), (1, String::new()));
    let needs = "spec.childTemplate: needs a namespaceSelector, which says for which namespaces it is";
    assert_eq!(put(&json!(null), &all), (0, needs.to_owned()));
    let (_, much) = put(&all, &json!({"max": {"cpu": "5"}, "guaranteed": {"memory": "1", "cpu": "9"}}));
    let expected = "spec.childTemplate.guaranteed[cpu]: 9 is more than the 4 of root.a; \
                    spec.childTemplate.max[cpu]: 5 is more than the 4 of root.a";
    assert_eq!(much, expected);
    let (_, little) = put(&all, &json!({"max": {"memory": "1"}, "guaranteed": {"memory": "2"}}));
    assert_eq!(little, "spec.childTemplate.guaranteed[memory]: 2 is more than the 1 of the same template");
    let (count, wrong) = put(&all, &json!({"max": {"cpu": "x", "mem": "1"}}));
    assert!(count == 0 && wrong.contains("spec.childTemplate.max[cpu]") && wrong.contains("max[mem]"), "{wrong}");
    let (count, wrong) = put(&json!({"matchLabels": {"a b": "c"}}), &all);
    assert!(count == 0 && wrong.contains("spec.namespaceSelector.matchLabels[a b]"), "{wrong}");
}

#[test]
fn promises_that_cannot_be_kept_are_told_where_they_are_made() {
    let mut tree = QueueTree::default();
    let mut put = |name: &str, max: &Value, guaranteed: &Value| {
        let spec = json!({"parent": parent(name), "max": max, "guaranteed": guaranteed});
        tree.upsert(name, &queue(&spec));
        ["root", "root.a", "root.a.b"].map(|name| problems(&tree, name).join("; "))
    };
    let fine = ["", "", ""].map(str::to_owned);
    assert_eq!(put("root.a", &json!({"cpu": "8"}), &json!({"cpu": "4", "memory": "1Gi"})), fine);
    assert_eq!(put("root.a.b", &json!({}), &json!({"cpu": "3"})), fine);
    let many = "spec.guaranteed[cpu]: the queues below are promised 5 together, more than this 4";
    assert_eq!(put("root.a.c", &json!({}), &json!({"cpu": "2"}))[1], many);
    assert_eq!(put("root.a.c", &json!({}), &json!({"cpu": "x"}))[1], many, "the last that was right counts");
    assert_eq!(put("root.a.c", &json!({}), &json!({"cpu": "1"})), fine);
    let much = "spec.guaranteed[cpu]: 9 is more than the 8 that root.a may use";
    assert!(put("root.a.b", &json!({"cpu": "9"}), &json!({"cpu": "9"}))[2].contains(much));
    assert!(tree.in_force("root.a.b").is_some_and(|spec| spec.guaranteed.get("cpu") == Some(9_000)), "it counts");
    tree.gone("root.a.b");
    assert_eq!(problems(&tree, "root.a"), [""; 0]);
    tree.upsert("root", &queue(&json!({"guaranteed": {"cpu": "1"}})));
    let below = "spec.guaranteed[cpu]: the queues below are promised 4 together, more than this 1";
    assert_eq!(problems(&tree, "root"), [below]);
}

#[test]
fn root_and_its_default_are_always_there() {
    let mut tree = QueueTree::default();
    put(&mut tree, "root.default", &json!({"cpu": "1"}));
    put(&mut tree, "root.default.x", &json!({"memory": "1"}));
    assert_eq!(words(&tree.gone("root.default")), ["+root.default"]);
    assert!(tree.in_force("root.default.x").is_some());
}

#[test]
fn names_and_parents_agree() {
    for (name, spec, problem) in [
        ("root.a", json!({}), "spec.parent: must be root, the name without its last part"),
        ("root.a.b", json!({"parent": "root"}), "spec.parent: must be root.a, the name without its last part"),
        ("root", json!({"parent": "root"}), "spec.parent: must not be set: this queue has none"),
        (
            "other",
            json!({}),
            "metadata.name: must be a queue path of at most 63 characters: root, or root. and DNS labels joined by dots",
        ),
    ] {
        let mut tree = QueueTree::default();
        tree.upsert("root.a", &queue(&json!({"parent": "root"})));
        assert_eq!(words(&tree.upsert(name, &queue(&spec))), [""; 0]);
        assert_eq!(problems(&tree, name), [problem]);
    }
}

/// The API server takes such names, since they are names of objects; no pod could name such a queue by a label.
#[test]
fn names_that_are_no_paths_are_refused() {
    let deep = format!("root{}", ".a".repeat(300));
    for name in ["other", "", "root.", "root..a", "root.a b", &deep] {
        let mut tree = QueueTree::default();
        assert_eq!(words(&tree.upsert(name, &queue(&json!({})))), [""; 0]);
        let problems = problems(&tree, name);
        assert!(problems.iter().any(|problem| problem.starts_with("metadata.name: must be a queue path")), "{name:?}");
        assert!(!tree.is_in_force(name), "{name:?}");
    }
}
