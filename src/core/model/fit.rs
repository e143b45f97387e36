//! Which nodes a pod may use whatever else runs there: selector, required affinity, taints, unschedulable.

use std::collections::BTreeMap;

use crate::core::base::ids::Text;
use crate::core::place::misfit::Misfit;
use crate::core::shape::{Effect, NodeSpec, Operator, Requirement, Shape, Taint, Term, Toleration};

/// The taint that a pod must tolerate to be placed on a node with `spec.unschedulable`.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The part of a [`Shape`] that depends on nothing but the node object. Normalised: what cannot matter is dropped and
/// the order of what is a set is fixed, so that pods that mean the same share one set of eligible nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Constraints {
    selector: BTreeMap<Text, Text>,
    affinity: Option<Vec<Term>>,
    tolerations: Vec<Toleration>,
}

impl Constraints {
    /// The static part of a shape.
    pub fn of(shape: &Shape) -> Self {
        let terms = |terms: &Vec<Term>| sorted(terms.iter().filter(|term| can_match(term)).cloned().collect());
        Self {
            selector: shape.selector.clone(),
            affinity: shape.affinity.as_ref().map(terms),
            tolerations: sorted(shape.tolerations.clone()),
        }
    }

    /// Whether a node is eligible, with the first reason why not, in the order of kube-scheduler's filters.
    pub fn check(&self, name: &str, node: &NodeSpec) -> Result<(), Misfit> {
        if node.unschedulable && !self.tolerates(UNSCHEDULABLE, "", Effect::NoSchedule) {
            return Err(Misfit::Unschedulable);
        }
        if node.taints.iter().any(|taint| self.repelled_by(taint)) {
            return Err(Misfit::Taint);
        }
        let selected = self.selector.iter().all(|(key, value)| node.labels.get(key) == Some(value));
        let matches = |term: &Term| term_matches(term, name, &node.labels);
        if !selected || self.affinity.as_ref().is_some_and(|terms| !terms.iter().any(matches)) {
            return Err(Misfit::Affinity);
        }
        Ok(())
    }

    fn repelled_by(&self, taint: &Taint) -> bool {
        match taint.effect {
            Effect::NoSchedule | Effect::NoExecute => !self.tolerates(&taint.key, &taint.value, taint.effect),
            Effect::PreferNoSchedule => false,
        }
    }

    fn tolerates(&self, key: &str, value: &str, effect: Effect) -> bool {
        self.tolerations.iter().any(|toleration| {
            toleration.effect.is_none_or(|own| own == effect)
                && toleration.key.as_deref().is_none_or(|own| own == key)
                && (toleration.exists || *toleration.value == *value)
        })
    }
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items.dedup();
    items
}

/// A term that is empty, or that kube-scheduler could not parse, matches no node; the other terms still count.
fn can_match(term: &Term) -> bool {
    !(term.labels.is_empty() && term.name.is_empty())
        && term.labels.iter().all(is_label_requirement)
        && term.name.iter().all(is_name_requirement)
}

/// What `labels.NewRequirement` accepts. Objects from before the API server checked values may hold anything.
fn is_label_requirement(requirement: &Requirement) -> bool {
    let values = &requirement.values;
    let count_and_kind = match requirement.operator {
        Operator::In | Operator::NotIn => !values.is_empty(),
        Operator::Exists | Operator::DoesNotExist => values.is_empty(),
        Operator::Gt | Operator::Lt => values.len() == 1 && integer(&values[0]).is_some(),
    };
    count_and_kind && values.iter().all(|value| is_label_value(value))
}

/// `matchFields` knows only equal and not equal to one name.
fn is_name_requirement(requirement: &Requirement) -> bool {
    matches!(requirement.operator, Operator::In | Operator::NotIn) && requirement.values.len() == 1
}

/// `validation.IsValidLabelValue`: at most 63 of `[A-Za-z0-9._-]`, a letter or digit at both ends; or empty.
fn is_label_value(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.len() <= 63
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
        && [bytes.first(), bytes.last()].into_iter().flatten().all(u8::is_ascii_alphanumeric)
}

fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

fn term_matches(term: &Term, name: &str, labels: &BTreeMap<Text, Text>) -> bool {
    term.labels.iter().all(|requirement| holds(requirement, labels.get(&requirement.key).map(|value| &**value)))
        && term.name.iter().all(|requirement| holds(requirement, Some(name)))
}

/// Whether a label that has this value, or is not there, is as it is required.
pub(super) fn holds(requirement: &Requirement, value: Option<&str>) -> bool {
    let listed = || value.is_some_and(|value| requirement.values.iter().any(|one| **one == *value));
    let compared = |holds: fn(&i64, &i64) -> bool| {
        let bound = requirement.values.first().and_then(|bound| integer(bound));
        value.and_then(integer).zip(bound).is_some_and(|(value, bound)| holds(&value, &bound))
    };
    match requirement.operator {
        Operator::In => listed(),
        Operator::NotIn => !listed(),
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::Gt => compared(i64::gt),
        Operator::Lt => compared(i64::lt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> BTreeMap<Text, Text> {
        let pairs = text.split_whitespace().map(|pair| pair.split_once('=').expect("key=value"));
        pairs.map(|(key, value)| (key.into(), value.into())).collect()
    }

    /// `key operator value|value`
    fn requirement(text: &str) -> Requirement {
        let mut words = text.splitn(3, ' ');
        let (key, operator) = (words.next().unwrap(), words.next().unwrap());
        let operator = match operator {
            "in" => Operator::In,
            "notin" => Operator::NotIn,
            "exists" => Operator::Exists,
            "absent" => Operator::DoesNotExist,
            "gt" => Operator::Gt,
            "lt" => Operator::Lt,
            other => panic!("{other}"),
        };
        let values = words.next().map(|values| values.split('|').map(Text::from).collect()).unwrap_or_default();
        Requirement { key: key.into(), operator, values }
    }

    /// `requirement, requirement` with `@name operator value` over the node's name.
    fn term(text: &str) -> Term {
        let parts = text.split(", ").filter(|part| !part.is_empty());
        let (name, labels) = parts.map(requirement).partition(|requirement: &Requirement| &*requirement.key == "@name");
        Term { labels, name }
    }

    fn effect(text: &str) -> Option<Effect> {
        match text {
            "" => None,
            "NoSchedule" => Some(Effect::NoSchedule),
            "PreferNoSchedule" => Some(Effect::PreferNoSchedule),
            "NoExecute" => Some(Effect::NoExecute),
            other => panic!("{other}"),
        }
    }

    /// `key=value:effect`; `key:effect` is Exists, `*:effect` Exists of any key.
    fn toleration(text: &str) -> Toleration {
        let (what, when) = text.split_once(':').unwrap();
        let (key, value) = what.split_once('=').unwrap_or((what, ""));
        let exists = !what.contains('=');
        let key = (!["*", ""].contains(&key)).then(|| key.into());
        Toleration { key, exists, value: value.into(), effect: effect(when) }
    }

    fn taint(text: &str) -> Taint {
        let (what, when) = text.split_once(':').unwrap();
        let (key, value) = what.split_once('=').unwrap_or((what, ""));
        Taint { key: key.into(), value: value.into(), effect: effect(when).unwrap() }
    }

    fn check(shape: &Shape, node: &NodeSpec, expected: Result<(), Misfit>) {
        assert_eq!(Constraints::of(shape).check("node-1", node), expected, "{shape:?} on {node:?}");
    }

    fn verdict(fits: bool, why: Misfit) -> Result<(), Misfit> {
        if fits { Ok(()) } else { Err(why) }
    }

    #[test]
    fn node_selector_is_equality_of_every_label() {
        for (selector, on, fits) in [
            ("", "", true),
            ("foo=bar", "", false),
            ("foo=bar", "foo=bar", true),
            ("foo=bar", "foo=bar baz=blah", true),
            ("foo=bar baz=blah", "foo=bar", false),
            ("foo=", "foo=", true),
            ("foo=", "", false),
        ] {
            let shape = Shape { selector: labels(selector), ..Shape::default() };
            let node = NodeSpec { labels: labels(on), ..NodeSpec::default() };
            check(&shape, &node, verdict(fits, Misfit::Affinity));
        }
    }

    #[test]
    fn affinity_terms_are_ored_and_their_requirements_anded() {
        let cases: &[(&[&str], &str, bool)] = &[
            (&[], "foo=bar", false),
            (&[""], "foo=bar", false),
            (&["", "foo in bar"], "foo=bar", true),
            (&["foo in bar|value2"], "foo=bar", true),
            (&["foo in value1|value2"], "foo=bar", false),
            (&["foo in value1"], "", false),
            (&["foo in"], "foo=bar", false),
            (&["foo notin a|b"], "foo=bar", true),
            (&["foo notin a|b"], "foo=b", false),
            (&["foo notin a|b"], "", true),
            (&["foo notin"], "foo=bar", false),
            (&["foo notin invalid value: ___@#$%^"], "foo=bar", false),
            (&["foo in bar|-bad"], "foo=bar", false),
            (&["foo exists"], "foo=", true),
            (&["foo exists"], "bar=", false),
            (&["foo exists x"], "foo=x", false),
            (&["foo absent"], "bar=", true),
            (&["foo absent"], "foo=", false),
            (&["kernel gt 0204"], "kernel=0206", true),
            (&["kernel gt 0206"], "kernel=0206", false),
            (&["kernel lt 0206"], "kernel=0204", true),
            (&["kernel lt 0206"], "kernel=x", false),
            (&["kernel lt 0206"], "", false),
            (&["kernel gt x"], "kernel=7", false),
            (&["kernel gt 1|2"], "kernel=7", false),
            (&["kernel gt 9223372036854775808"], "kernel=7", false),
            (&["kernel lt 9223372036854775807"], "kernel=9223372036854775808", false),
            (&["gpu exists, gpu notin amd|inter"], "gpu=nvidia", true),
            (&["gpu exists, gpu in amd|inter"], "gpu=nvidia", false),
            (&["foo in bar|value2", "diffkey in wrong|value2"], "foo=bar", true),
            (&["foo in wrong", "diffkey exists"], "foo=bar", false),
            (&["@name in node-1"], "", true),
            (&["@name in node-2"], "", false),
            (&["@name notin node-2"], "", true),
            (&["@name notin node-1"], "", false),
            (&["@name in node-1|node-2"], "", false),
            (&["@name exists"], "", false),
            (&["@name in node-2", "foo in bar"], "foo=bar", true),
            (&["@name in node-2, foo in bar"], "foo=bar", false),
            (&["@name in node-1, foo in bar"], "foo=bar", true),
        ];
        for (terms, on, fits) in cases {
            let affinity = Some(terms.iter().map(|text| term(text)).collect());
            let shape = Shape { affinity, ..Shape::default() };
            let node = NodeSpec { labels: labels(on), ..NodeSpec::default() };
            check(&shape, &node, verdict(*fits, Misfit::Affinity));
        }
    }

    #[test]
    fn selector_and_affinity_must_both_hold() {
        for (on, fits) in [("foo=bar", true), ("foo=barrrrrr", false)] {
            let affinity = Some(vec![term("foo exists")]);
            let shape = Shape { selector: labels("foo=bar"), affinity, ..Shape::default() };
            let node = NodeSpec { labels: labels(on), ..NodeSpec::default() };
            check(&shape, &node, verdict(fits, Misfit::Affinity));
        }
    }

    #[test]
    fn every_hard_taint_needs_a_toleration() {
        let cases: &[(&[&str], &[&str], bool)] = &[
            (&[], &[], true),
            (&[], &["dedicated=user1:NoSchedule"], false),
            (&["dedicated=user1:NoSchedule"], &["dedicated=user1:NoSchedule"], true),
            (&["dedicated=user2:NoSchedule"], &["dedicated=user1:NoSchedule"], false),
            (&["foo:NoSchedule"], &["foo=bar:NoSchedule"], true),
            (
                &["foo=bar:NoSchedule", "dedicated=user2:NoSchedule"],
                &["dedicated=user2:NoSchedule", "foo=bar:NoSchedule"],
                true,
            ),
            (&["foo=bar:PreferNoSchedule"], &["foo=bar:NoSchedule"], false),
            (&["foo=bar:"], &["foo=bar:NoSchedule"], true),
            (&["foo=bar:"], &["foo=bar:NoExecute"], true),
            (&["foo=bar:NoSchedule"], &["foo=bar:NoExecute"], false),
            (&[], &["dedicated=user1:PreferNoSchedule"], true),
            (&["*:"], &["any=thing:NoExecute", "other:NoSchedule"], true),
            (&["*:NoExecute"], &["any=thing:NoSchedule"], false),
            (&["=:"], &["any:NoSchedule"], true),
            (&["=:"], &["any=thing:NoSchedule"], false),
        ];
        for (tolerations, taints, fits) in cases {
            let tolerations = tolerations.iter().map(|text| toleration(text)).collect();
            let shape = Shape { tolerations, ..Shape::default() };
            let taints = taints.iter().map(|text| taint(text)).collect();
            check(&shape, &NodeSpec { taints, ..NodeSpec::default() }, verdict(*fits, Misfit::Taint));
        }
    }

    #[test]
    fn an_unschedulable_node_takes_only_what_tolerates_it() {
        for (tolerations, fits) in [
            (&[][..], false),
            (&["node.kubernetes.io/unschedulable:NoSchedule"], true),
            (&["node.kubernetes.io/unschedulable=:"], true),
            (&["node.kubernetes.io/unschedulable=x:"], false),
            (&["node.kubernetes.io/unschedulable:NoExecute"], false),
            (&["*:"], true),
        ] {
            let tolerations = tolerations.iter().map(|text| toleration(text)).collect();
            let shape = Shape { tolerations, ..Shape::default() };
            check(
                &shape,
                &NodeSpec { unschedulable: true, ..NodeSpec::default() },
                verdict(fits, Misfit::Unschedulable),
            );
        }
    }

    #[test]
    fn what_means_the_same_is_equal() {
        let shape = |terms: &[&str]| {
            Constraints::of(&Shape {
                affinity: Some(terms.iter().map(|text| term(text)).collect()),
                ..Shape::default()
            })
        };
        assert_eq!(shape(&["a exists", "", "b exists"]), shape(&["b exists", "a exists", "c in", "a exists"]));
        assert_ne!(shape(&[]), Constraints::default());
    }
}
