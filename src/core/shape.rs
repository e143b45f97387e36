//! What a pod needs of a node and what a node offers, in the core's words (design 03, 3.6).

use std::collections::BTreeMap;

use crate::core::base::ids::Text;
use crate::core::base::resources::Resources;

/// Everything about a pod that decides which nodes it fits: pods with equal shapes are placed alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// Request as kube-scheduler counts it, one pod included.
    pub request: Resources,
    /// `spec.nodeSelector`: all must hold.
    pub selector: BTreeMap<Text, Text>,
    /// Required node affinity: one of these must hold. `None` = no requirement; an empty list fits nowhere.
    pub affinity: Option<Vec<Term>>,
    /// Tolerations of taints.
    pub tolerations: Vec<Toleration>,
    /// Host ports: at most one pod per port on a node.
    pub ports: Vec<HostPort>,
}

/// Tolerations that the API server gives to every pod (admission plugin DefaultTolerationSeconds).
const GIVEN_TO_ALL: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

impl Shape {
    /// Whether a placeholder of this shape can hold the place of a member: it asks for no less, stands on no node that
    /// the member cannot use, and can stand wherever the member can (01, 1.3).
    pub fn stands_in_for(&self, member: &Self) -> bool {
        member.request.first_beyond(&self.request).is_none() && self.lacks_fields_of(member).next().is_none()
    }

    /// The fields of a member's spec that keep a placeholder of this shape from standing in for it, by their names in
    /// the template.
    pub fn lacks_fields_of(&self, member: &Self) -> impl Iterator<Item = &'static str> {
        let selects = |(key, value)| self.selector.get(key) == Some(value);
        let fields = [
            ("nodeSelector", !member.selector.iter().all(selects)),
            ("affinity", member.affinity.is_some() && member.affinity != self.affinity),
            ("tolerations", !self.chosen_tolerations().eq(member.chosen_tolerations())),
            ("host ports", !member.ports.iter().all(|port| self.ports.contains(port))),
        ];
        fields.into_iter().filter(|(_, lacks)| *lacks).map(|(field, _)| field)
    }

    /// The tolerations that somebody chose, in no order that means anything.
    fn chosen_tolerations(&self) -> impl Iterator<Item = &Toleration> {
        let is_given = |toleration: &&Toleration| {
            toleration.effect == Some(Effect::NoExecute)
                && toleration.key.as_deref().is_some_and(|key| GIVEN_TO_ALL.contains(&key))
        };
        let chosen = self.tolerations.iter().filter(move |toleration| !is_given(toleration));
        chosen.collect::<std::collections::BTreeSet<_>>().into_iter()
    }
}

/// A node selector term: all requirements must hold. A term without requirements matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// Over the node's labels.
    pub labels: Vec<Requirement>,
    /// Over the node's name (`matchFields` with `metadata.name`).
    pub name: Vec<Requirement>,
}

/// One requirement of a term. Kubernetes validates the number of values at creation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    /// Label key; empty over the name.
    pub key: Text,
    /// How the values are compared.
    pub operator: Operator,
    /// Values.
    pub values: Vec<Text>,
}

/// Operators of node affinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// The label exists and is one of the values.
    In,
    /// The label does not exist or is none of the values.
    NotIn,
    /// The label exists.
    Exists,
    /// The label does not exist.
    DoesNotExist,
    /// The label, as an integer, is greater than the one value.
    Gt,
    /// The label, as an integer, is less than the one value.
    Lt,
}

/// A toleration of taints.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Toleration {
    /// Taint key; `None` with `exists` tolerates every taint.
    pub key: Option<Text>,
    /// `Exists` tolerates any value; otherwise the value must be equal.
    pub exists: bool,
    /// Value for `Equal`.
    pub value: Text,
    /// Effect; `None` = all effects.
    pub effect: Option<Effect>,
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// Key.
    pub key: Text,
    /// Value, or empty.
    pub value: Text,
    /// Effect.
    pub effect: Effect,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Not placed here.
    NoSchedule,
    /// Placed here only if nothing else is left: a preference, no constraint.
    PreferNoSchedule,
    /// Neither placed nor kept here.
    NoExecute,
}

/// A port of the node itself. Two conflict if protocol and port are equal and the addresses are equal or one of them
/// is the wildcard (empty).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// Host address; empty for `0.0.0.0` and for none.
    pub address: Text,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Text,
    /// Port number.
    pub port: u16,
}

/// A node as far as placement is concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSpec {
    /// `status.allocatable`.
    pub allocatable: Resources,
    /// Labels.
    pub labels: BTreeMap<Text, Text>,
    /// Taints, `spec.unschedulable` not included.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`: fits only pods that tolerate `node.kubernetes.io/unschedulable:NoSchedule`.
    pub unschedulable: bool,
}

/// Taints that the node controller puts on a node whose kubelet is not heard of, or says that it is not ready.
const NOT_READY: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

impl NodeSpec {
    /// Whether the node is marked as one whose kubelet is not ready or not heard of.
    pub fn is_not_ready(&self) -> bool {
        self.taints.iter().any(|taint| NOT_READY.contains(&&*taint.key))
    }
}
