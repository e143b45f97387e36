//! What a Namespace says of its own queue in YuniKorn's annotations (design 03, 3.4 "namespace quota annotations").

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::core::base::ids::Text;
use crate::core::base::resources::Limit;
use crate::core::event::OwnQueue;
use crate::shim::queue::read_amounts;
use crate::shim::spec_errors::Errors;
use crate::shim::syntax;

/// What the queue may use, as a JSON object of quantities.
const QUOTA: &str = "yunikorn.apache.org/namespace.quota";
/// What it is promised, likewise.
const GUARANTEED: &str = "yunikorn.apache.org/namespace.guaranteed";
/// How many applications may run in it.
const MAX_APPS: &str = "yunikorn.apache.org/namespace.maxApps";
/// The path of the queue above it.
const PARENT: &str = "yunikorn.apache.org/parentqueue";
/// Older than [`QUOTA`], which counts in its place: what it may use of two resources.
const OLD_QUOTA: [(&str, &str); 2] =
    [("yunikorn.apache.org/namespace.max.cpu", "cpu"), ("yunikorn.apache.org/namespace.max.memory", "memory")];
/// Longest JSON that is read: sixteen resources with the longest names are half of it.
const MAX_JSON: usize = 8_192;
/// Most applications, as in a Queue.
const MOST_APPS: u32 = 1_000_000;

/// What a Namespace says of its queue, as far as it is right.
pub fn says(namespace: &Namespace, errors: &mut Errors) -> OwnQueue {
    let annotations = namespace.metadata.annotations.as_ref();
    // To YuniKorn an empty text is none.
    let said = |key: &str| annotations?.get(key).map(String::as_str).filter(|text| !text.is_empty());
    OwnQueue {
        above: said(PARENT).and_then(|text| parent(text, errors)),
        max: match said(QUOTA) {
            Some(text) => amounts(QUOTA, text, errors),
            None => old_quota(said, errors),
        },
        guaranteed: said(GUARANTEED).and_then(|text| amounts(GUARANTEED, text, errors)),
        max_applications: said(MAX_APPS).and_then(|text| applications(text, errors)),
    }
}

/// What does not begin with the root is below it.
fn parent(text: &str, errors: &mut Errors) -> Option<Text> {
    let path = if text == "root" || text.starts_with("root.") { text.to_owned() } else { format!("root.{text}") };
    let is_path = syntax::is_queue_path(&path);
    errors.unless(is_path, PARENT, "must be a queue path of at most 63 characters: DNS labels joined by dots");
    is_path.then(|| path.into())
}

fn amounts(annotation: &str, text: &str, errors: &mut Errors) -> Option<Limit> {
    if text.len() > MAX_JSON {
        errors.add(annotation, format!("must have at most {MAX_JSON} characters"));
        return None;
    }
    match serde_json::from_str::<BTreeMap<String, String>>(text) {
        Ok(amounts) => {
            let amounts = amounts.into_iter().map(|(name, amount)| (name, Quantity(amount))).collect();
            Some(read_amounts(annotation, &amounts, errors))
        }
        Err(problem) => {
            let form = r#"must be a JSON object of texts, such as {"cpu": "64", "memory": "100Gi"}"#;
            errors.add(annotation, format!("{form}: {problem}"));
            None
        }
    }
}

fn old_quota<'a>(said: impl Fn(&str) -> Option<&'a str>, errors: &mut Errors) -> Option<Limit> {
    let mut limits = Vec::new();
    for (annotation, resource) in OLD_QUOTA {
        let Some(amount) = said(annotation) else { continue };
        let amount = BTreeMap::from([(resource.to_owned(), Quantity(amount.to_owned()))]);
        let limit = read_amounts(annotation, &amount, errors);
        limits.extend(limit.iter().map(|(name, amount)| (Text::from(name), amount)));
    }
    (!limits.is_empty()).then(|| Limit::new(limits))
}

fn applications(text: &str, errors: &mut Errors) -> Option<u32> {
    let number = text.parse().ok().filter(|number| (1..=MOST_APPS).contains(number));
    errors.unless(number.is_some(), MAX_APPS, format!("must be a number from 1 to {MOST_APPS}"));
    number
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn namespace(annotations: &Value) -> Namespace {
        let metadata = json!({"name": "ns", "annotations": annotations});
        serde_json::from_value(json!({"metadata": metadata})).expect("a namespace")
    }

    fn said(annotations: &Value) -> (OwnQueue, Vec<String>) {
        let mut errors = Errors::default();
        let says = says(&namespace(annotations), &mut errors);
        (says, errors.into_sorted().iter().map(ToString::to_string).collect())
    }

    fn limit(amounts: &[(&str, i128)]) -> Option<Limit> {
        Some(Limit::new(amounts.iter().map(|(name, amount)| ((*name).into(), *amount))))
    }

    /// YuniKorn's documentation of namespace quotas; `yunikorn.apache.org/parentqueue` as its placement rule has it.
    #[test]
    fn a_namespace_says_what_its_queue_may_use() {
        let all = json!({
            QUOTA: r#"{"cpu": "64", "memory": "100G", "nvidia.com/gpu": "1"}"#, GUARANTEED: r#"{"cpu": "500m"}"#,
            MAX_APPS: "7", PARENT: "sandbox", OLD_QUOTA[0].0: "1",
        });
        let (says, errors) = said(&all);
        assert_eq!(errors, [""; 0]);
        assert_eq!(says.max, limit(&[("cpu", 64_000), ("memory", 100_000_000_000), ("nvidia.com/gpu", 1)]));
        assert_eq!((says.guaranteed, says.max_applications), (limit(&[("cpu", 500)]), Some(7)));
        assert_eq!(says.above.as_deref(), Some("root.sandbox"));
        let old = json!({OLD_QUOTA[0].0: "4", OLD_QUOTA[1].0: "1Gi", PARENT: "root.a.b", MAX_APPS: ""});
        let OwnQueue { above, max, guaranteed, max_applications } = said(&old).0;
        assert_eq!((above.as_deref(), max), (Some("root.a.b"), limit(&[("cpu", 4_000), ("memory", 1 << 30)])));
        assert_eq!((guaranteed, max_applications), (None, None));
        assert_eq!(said(&json!({"other": "x"})), (OwnQueue::default(), Vec::new()));
    }

    #[test]
    fn each_wrong_annotation_is_named() {
        let huge = format!("{{\"cpu\": \"{}\"}}", "1".repeat(9_000));
        for (annotation, text, expected) in [
            (QUOTA, "{", "must be a JSON object of texts"),
            (QUOTA, r#"{"cpu": 4}"#, "must be a JSON object of texts"),
            (QUOTA, "[]", "must be a JSON object of texts"),
            (QUOTA, &*huge, "must have at most 8192 characters"),
            (QUOTA, r#"{"vcore": "4"}"#, "must be cpu, memory, ephemeral-storage, pods"),
            (GUARANTEED, r#"{"cpu": "-1"}"#, "must not be negative"),
            (GUARANTEED, r#"{"cpu": "four"}"#, "\"four\""),
            (OLD_QUOTA[1].0, "1GB", "\"1GB\""),
            (MAX_APPS, "0", "must be a number from 1 to 1000000"),
            (MAX_APPS, "-1", "must be a number"),
            (MAX_APPS, "1000001", "must be a number"),
            (PARENT, "root..a", "must be a queue path"),
            (PARENT, "A", "must be a queue path"),
        ] {
            let found = said(&json!({annotation: text})).1;
            assert!(found.len() == 1 && found[0].contains(expected) && found[0].contains(annotation), "{found:?}");
        }
        let many: BTreeMap<String, String> = (0..17).map(|number| (format!("x.y/{number}"), "1".into())).collect();
        let many = serde_json::to_string(&many).expect("plain data");
        assert_eq!(said(&json!({QUOTA: many, MAX_APPS: "x"})).1.len(), 2, "all at once");
    }
}
