//! Reads the required node affinity of a pod.

use k8s_openapi::api::core::v1::{NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm};

use super::constraints::unsupported;
use crate::core::base::ids::Text;
use crate::core::reason::Unsupported;
use crate::core::shape::{Operator, Requirement, Term};

/// Most values that one pod's node affinity may list: matching costs (pods' shapes × nodes × values). A term that names
/// every node of a large cluster still fits.
pub const MAX_VALUES: usize = 10_000;

/// The required part of a node affinity: one of these terms must hold; `None` = nothing is required.
pub fn required(affinity: &NodeAffinity) -> Result<Option<Vec<Term>>, Unsupported> {
    let Some(required) = &affinity.required_during_scheduling_ignored_during_execution else { return Ok(None) };
    let mut terms: Vec<_> = required.node_selector_terms.iter().map(term).collect::<Result<_, _>>()?;
    terms.sort_unstable();
    terms.dedup();
    let all = terms.iter().flat_map(|term| term.labels.iter().chain(&term.name));
    let values: usize = all.map(|requirement| 1 + requirement.values.len()).sum();
    if values > MAX_VALUES {
        return Err(unsupported(format!("spec.affinity.nodeAffinity with more than {MAX_VALUES} values")));
    }
    Ok(Some(terms))
}

fn term(term: &NodeSelectorTerm) -> Result<Term, Unsupported> {
    let labels = term.match_expressions.iter().flatten().map(requirement).collect::<Result<_, _>>()?;
    let name = term.match_fields.iter().flatten().map(name_requirement).collect::<Result<_, _>>()?;
    let sorted = |mut list: Vec<Requirement>| {
        list.sort_unstable();
        list.dedup();
        list
    };
    Ok(Term { labels: sorted(labels), name: sorted(name) })
}

fn requirement(requirement: &NodeSelectorRequirement) -> Result<Requirement, Unsupported> {
    let operator = match requirement.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::Gt,
        "Lt" => Operator::Lt,
        _ => return Err(unsupported("spec.affinity.nodeAffinity operator")),
    };
    let mut values: Vec<Text> = requirement.values.iter().flatten().map(|value| value.as_str().into()).collect();
    values.sort_unstable();
    values.dedup();
    Ok(Requirement { key: requirement.key.as_str().into(), operator, values })
}

/// Kubernetes knows one field, `metadata.name`, with `In` or `NotIn` and one value.
fn name_requirement(field: &NodeSelectorRequirement) -> Result<Requirement, Unsupported> {
    let requirement = requirement(field)?;
    match requirement.operator {
        Operator::In | Operator::NotIn if field.key == "metadata.name" => {
            Ok(Requirement { key: "".into(), ..requirement })
        }
        Operator::In | Operator::NotIn | Operator::Exists | Operator::DoesNotExist | Operator::Gt | Operator::Lt => {
            Err(unsupported("spec.affinity.nodeAffinity matchFields"))
        }
    }
}
