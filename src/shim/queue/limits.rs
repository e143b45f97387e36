//! What a Queue says of users and groups (design 01, 1.2.3).

use std::collections::BTreeSet;

use super::{LIMITS, read_amounts};
use crate::api::queue::SubmitterLimit as Said;
use crate::core::base::ids::Text;
use crate::core::event::SubmitterLimit;
use crate::shim::spec_errors::Errors;
use crate::shim::submitter;

/// Most limits of one queue.
const MOST: usize = 32;
/// Most users, or groups, of one limit.
const NAMES_MOST: usize = 64;

pub(super) fn read(said: &[Said], errors: &mut Errors) -> Vec<SubmitterLimit> {
    errors.unless(said.len() <= MOST, LIMITS, format!("must be at most {MOST}, are {}", said.len()));
    let (mut users, mut groups) = (BTreeSet::new(), BTreeSet::new());
    let limits = said.iter().take(MOST).enumerate().map(|(number, limit)| {
        let at = format!("{LIMITS}[{number}]");
        errors.unless(!limit.users.is_empty() || !limit.groups.is_empty(), &at, "names neither users nor groups");
        let limits_something = !limit.max.is_empty() || limit.max_applications.is_some();
        errors.unless(limits_something, &at, "limits nothing: it has neither max nor maxApplications");
        SubmitterLimit {
            users: names(&format!("{at}.users"), &limit.users, &mut users, errors),
            groups: names(&format!("{at}.groups"), &limit.groups, &mut groups, errors),
            max: read_amounts(&format!("{at}.max"), &limit.max, errors),
            max_applications: limit.max_applications,
        }
    });
    limits.collect()
}

/// Names of users or groups, each once in a queue: which of two limits counts would be hard to tell.
fn names(field: &str, said: &[String], known: &mut BTreeSet<Text>, errors: &mut Errors) -> Vec<Text> {
    errors.unless(said.len() <= NAMES_MOST, field, format!("must be at most {NAMES_MOST}, are {}", said.len()));
    let mut names = Vec::new();
    for name in said.iter().take(NAMES_MOST).map(|name| submitter::name(name)) {
        errors.unless(!name.is_empty(), field, "has an empty name");
        errors.unless(known.insert(name.clone()), field, format!("names {name}, whom this queue names already"));
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::QueueTree;
    use crate::api::queue::Queue;

    /// What is wrong with a Queue of 8 cpu that says this of users and groups, and how many limits are in force.
    fn judged(knows_submitters: bool, limits: &Value) -> (Vec<String>, Option<usize>) {
        let spec = json!({"parent": "root", "max": {"cpu": "8"}, "limits": limits});
        let object = json!({"apiVersion": "gangline.dev/v1alpha1", "kind": "Queue", "metadata": {}, "spec": spec});
        let queue: Queue = serde_json::from_value(object).expect("a queue");
        let mut tree = QueueTree::knowing_submitters(knows_submitters);
        tree.upsert("root.a", &queue);
        let problems = tree.problem("root.a").into_iter().flatten().map(ToString::to_string).collect();
        (problems, tree.in_force("root.a").map(|spec| spec.limits.len()))
    }

    #[test]
    fn what_is_wrong_with_a_limit_is_named_and_not_in_force() {
        let many: Vec<Value> =
            (0..33).map(|number| json!({"users": [format!("u{number}")], "maxApplications": 1})).collect();
        let names: Vec<String> = (0..65).map(|number| format!("u{number}")).collect();
        for (limits, said) in [
            (json!([{"maxApplications": 1}]), "spec.limits[0]: names neither users nor groups"),
            (json!([{"users": ["a"]}]), "spec.limits[0]: limits nothing: it has neither max nor maxApplications"),
            (
                json!([{"users": ["a"], "maxApplications": 1}, {"users": ["b", "a"], "maxApplications": 2}]),
                "spec.limits[1].users: names a, whom this queue names already",
            ),
            (
                json!([{"groups": ["*", "*"], "maxApplications": 1}]),
                "spec.limits[0].groups: names *, whom this queue names already",
            ),
            (json!([{"groups": [""], "maxApplications": 1}]), "spec.limits[0].groups: has an empty name"),
            (json!([{"users": ["a"], "max": {"cpu": "-1"}}]), "spec.limits[0].max[cpu]: must not be negative"),
            (json!(many), "spec.limits: must be at most 32, are 33"),
            (json!([{"users": names, "maxApplications": 1}]), "spec.limits[0].users: must be at most 64, are 65"),
        ] {
            let (problems, in_force) = judged(true, &limits);
            assert!(problems.iter().any(|problem| problem == said) && in_force.is_none(), "{said}: {problems:?}");
        }
    }

    /// The smallest limit counts, and who is not known has none: both are said, and the rest of the queue is in force.
    #[test]
    fn what_has_no_effect_is_said() {
        let beyond = json!([{"users": ["a"], "max": {"cpu": "9"}}]);
        let larger = "spec.limits[0].max[cpu]: 9 is more than the 8 of root.a, which counts";
        assert_eq!(judged(true, &beyond), (vec![larger.to_owned()], Some(1)));
        let (problems, in_force) = judged(false, &beyond);
        assert_eq!((problems.len(), in_force), (1, Some(0)));
        assert!(problems[0].starts_with("spec.limits: have no effect"), "{problems:?}");
        assert_eq!(judged(false, &json!([])), (Vec::new(), Some(0)));
    }
}
