//! Reads a selector of labels.

use super::spec_errors::Errors;
use super::syntax;
use crate::api::queue::{LabelOperator, LabelRequirement, NamespaceSelector};
use crate::core::base::ids::Text;
use crate::core::event::Selector;
use crate::core::shape::{Operator, Requirement};

/// Most labels, and most expressions, of a selector; as many as the definition of the kind lets through.
const MAX_LABELS: usize = 32;
/// Most expressions.
const MAX_EXPRESSIONS: usize = 16;
/// Most values of an expression.
const MAX_VALUES: usize = 64;

/// A selector in the core's words; those that say the same are equal.
pub(super) fn read(field: &str, said: &NamespaceSelector, errors: &mut Errors) -> Selector {
    let (labels, expressions) = (said.match_labels.len(), said.match_expressions.len());
    let at_most = |most: usize, has: usize| format!("must have at most {most}, has {has}");
    errors.unless(labels <= MAX_LABELS, format!("{field}.matchLabels"), at_most(MAX_LABELS, labels));
    errors.unless(
        expressions <= MAX_EXPRESSIONS,
        format!("{field}.matchExpressions"),
        at_most(MAX_EXPRESSIONS, expressions),
    );
    let mut requirements = Vec::new();
    for (key, value) in said.match_labels.iter().take(MAX_LABELS) {
        let field = format!("{field}.matchLabels[{key}]");
        check_key(&field, key, errors);
        check_value(&field, value, errors);
        let values = vec![Text::from(value.as_str())];
        requirements.push(Requirement { key: key.as_str().into(), operator: Operator::In, values });
    }
    for (number, said) in said.match_expressions.iter().take(MAX_EXPRESSIONS).enumerate() {
        requirements.push(requirement(&format!("{field}.matchExpressions[{number}]"), said, errors));
    }
    requirements.sort_unstable();
    requirements.dedup();
    Selector(requirements)
}

fn requirement(field: &str, said: &LabelRequirement, errors: &mut Errors) -> Requirement {
    check_key(&format!("{field}.key"), &said.key, errors);
    let (operator, compares) = match said.operator {
        LabelOperator::In => (Operator::In, true),
        LabelOperator::NotIn => (Operator::NotIn, true),
        LabelOperator::Exists => (Operator::Exists, false),
        LabelOperator::DoesNotExist => (Operator::DoesNotExist, false),
    };
    let count = said.values.len();
    let field = format!("{field}.values");
    errors.unless(compares || count == 0, &field, "must be empty: Exists and DoesNotExist compare no value");
    errors.unless(!compares || count > 0, &field, "must not be empty");
    errors.unless(count <= MAX_VALUES, &field, format!("must have at most {MAX_VALUES}, has {count}"));
    said.values.iter().take(MAX_VALUES).for_each(|value| check_value(&field, value, errors));
    let mut values: Vec<Text> = said.values.iter().take(MAX_VALUES).map(|value| value.as_str().into()).collect();
    values.sort_unstable();
    values.dedup();
    Requirement { key: said.key.as_str().into(), operator, values }
}

fn check_key(field: &str, key: &str, errors: &mut Errors) {
    errors.unless(syntax::is_qualified_name(key), field, format!("{key:?} is no key of a label"));
}

fn check_value(field: &str, value: &str, errors: &mut Errors) {
    errors.unless(syntax::is_label_value(value), field, format!("{value:?} is no value of a label"));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;

    fn selector(said: &Value) -> (Selector, Vec<String>) {
        let mut errors = Errors::default();
        let said = serde_json::from_value(said.clone()).expect("a selector");
        let selector = read("spec.namespaceSelector", &said, &mut errors);
        (selector, errors.into_sorted().iter().map(ToString::to_string).collect())
    }

    fn chooses(said: &Value, labels: &[(&str, &str)]) -> bool {
        let (selector, errors) = selector(said);
        assert_eq!(errors, [""; 0]);
        let labels: BTreeMap<Text, Text> = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        selector.chooses(&labels)
    }

    /// As apimachinery's `LabelSelectorAsSelector` does.
    #[test]
    fn a_selector_chooses_as_those_of_kubernetes_do() {
        let expression = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        let a: &[(&str, &str)] = &[("team", "a"), ("x/y", "")];
        let none = &[];
        assert!(chooses(&json!({}), a) && chooses(&json!({}), none), "an empty one chooses all");
        let both = json!({"matchLabels": {"team": "a", "x/y": ""}});
        assert!(chooses(&both, a) && !chooses(&both, &[("team", "a")]) && !chooses(&both, none));
        let cases = [
            (expression("team", "In", &["b", "a"]), true, false),
            (expression("team", "In", &["b"]), false, false),
            (expression("team", "NotIn", &["a"]), false, true),
            (expression("team", "NotIn", &["b"]), true, true),
            (expression("x/y", "Exists", &[]), true, false),
            (expression("team", "DoesNotExist", &[]), false, true),
        ];
        for (said, of_a, of_none) in cases {
            assert_eq!((chooses(&said, a), chooses(&said, none)), (of_a, of_none), "{said}");
        }
        let mixed = json!({"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "z", "operator": "Exists"}]});
        assert!(!chooses(&mixed, a) && chooses(&mixed, &[("team", "a"), ("z", "")]), "all of it must hold");
    }

    #[test]
    fn what_says_the_same_is_equal() {
        let of = |values: &[&str]| {
            selector(&json!({"matchExpressions": [
                {"key": "b", "operator": "In", "values": values}, {"key": "a", "operator": "Exists"},
            ]}))
        };
        assert_eq!(of(&["x", "y"]), of(&["y", "x", "y"]));
    }

    #[test]
    fn every_error_is_named_at_once() {
        let many: Vec<_> = (0..65).map(|number| format!("v{number}")).collect();
        let said = json!({"matchLabels": {"a b": "c", "d": "-"}, "matchExpressions": [
            {"key": "", "operator": "In", "values": []},
            {"key": "e", "operator": "Exists", "values": ["f"]},
            {"key": "g", "operator": "NotIn", "values": many},
            {"key": "h", "operator": "In", "values": ["\u{1b}"]},
        ]});
        let expected = [
            "spec.namespaceSelector.matchExpressions[0].key: \"\" is no key of a label",
            "spec.namespaceSelector.matchExpressions[0].values: must not be empty",
            "spec.namespaceSelector.matchExpressions[1].values: must be empty: Exists and DoesNotExist compare no value",
            "spec.namespaceSelector.matchExpressions[2].values: must have at most 64, has 65",
            "spec.namespaceSelector.matchExpressions[3].values: \"\\u{1b}\" is no value of a label",
            "spec.namespaceSelector.matchLabels[a b]: \"a b\" is no key of a label",
            "spec.namespaceSelector.matchLabels[d]: \"-\" is no value of a label",
        ];
        assert_eq!(selector(&said).1, expected);
        let labels: BTreeMap<String, String> = (0..33).map(|number| (format!("l{number}"), String::new())).collect();
        assert_eq!(
            selector(&json!({"matchLabels": labels})).1,
            ["spec.namespaceSelector.matchLabels: must have at most 32, has 33"]
        );
    }
}
