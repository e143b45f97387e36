//! What pods ask for, and nodes and queues have. Read by itself, not as the scheduler reads it.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::Add;

use gangline::api::queue::Queue;
use k8s_openapi::api::core::v1::{Container, Node, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// What GPUs are called.
pub(crate) const GPU: &str = "nvidia.com/gpu";

/// So much of three resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    /// Thousandths of a core.
    pub(crate) milli: u64,
    /// Memory.
    pub(crate) mib: u64,
    /// Graphics processors.
    pub(crate) gpu: u64,
}

impl Amount {
    /// What no limit is.
    pub(crate) const ENDLESS: Self = Self { milli: u64::MAX, mib: u64::MAX, gpu: u64::MAX };

    /// As a list says; of what it does not name, as much as of the other.
    pub(crate) fn of(list: Option<&BTreeMap<String, Quantity>>, lacking: Self) -> Self {
        let amount = |name: &str| list.and_then(|list| list.get(name)).map(|amount| amount.0.as_str());
        Self {
            milli: amount("cpu").map_or(lacking.milli, milli),
            mib: amount("memory").map_or(lacking.mib, mib),
            gpu: amount(GPU).map_or(lacking.gpu, number),
        }
    }

    /// What the containers of a pod request or have.
    pub(crate) fn of_pod(pod: &Pod) -> Self {
        let of = |resources: Option<&ResourceRequirements>| {
            Self::of(resources.and_then(|resources| resources.requests.as_ref()), Self::default())
        };
        let statuses = || pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
        let of_container = |container: &Container| {
            let has = statuses().find(|status| status.name == container.name);
            of(container.resources.as_ref()).larger(of(has.and_then(|status| status.resources.as_ref())))
        };
        pod.spec.iter().flat_map(|spec| &spec.containers).map(of_container).sum()
    }

    /// What a node has for pods.
    pub(crate) fn of_node(node: &Node) -> Self {
        Self::of(node.status.as_ref().and_then(|status| status.allocatable.as_ref()), Self::default())
    }

    /// What a queue may use.
    pub(crate) fn of_queue(queue: &Queue) -> Self {
        Self::of(Some(&queue.spec.max), Self::ENDLESS)
    }

    /// Whether it is no more than another, of each.
    pub(crate) const fn is_within(self, most: Self) -> bool {
        self.milli <= most.milli && self.mib <= most.mib && self.gpu <= most.gpu
    }

    /// The same of what is asked for: who asks for none of it does not care how much of it there is.
    pub(crate) const fn lets_in(self, asked: Self, used: Self) -> bool {
        (asked.milli == 0 || used.milli <= self.milli)
            && (asked.mib == 0 || used.mib <= self.mib)
            && (asked.gpu == 0 || used.gpu <= self.gpu)
    }

    /// The smaller of each.
    pub(crate) fn smaller(self, other: Self) -> Self {
        self.with(other, Ord::min)
    }

    /// What is left of it; what is endless stays so.
    pub(crate) fn less(self, used: Self) -> Self {
        self.with(used, |most, used| if most == u64::MAX { most } else { most.saturating_sub(used) })
    }

    /// So many of it.
    pub(crate) fn times(self, count: u32) -> Self {
        self.with(self, |amount, _| amount.saturating_mul(count.into()))
    }

    fn larger(self, other: Self) -> Self {
        self.with(other, Ord::max)
    }

    /// Of each resource what becomes of both amounts of it.
    fn with(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self { milli: of(self.milli, other.milli), mib: of(self.mib, other.mib), gpu: of(self.gpu, other.gpu) }
    }
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.with(other, |one, other| one + other)
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}

/// How many pods a node takes.
pub(crate) fn pods_of_node(node: &Node) -> u64 {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    allocatable.and_then(|all| all.get("pods")).map_or(0, |pods| pods.0.parse().expect("a number"))
}

/// `2`, `500m`.
pub(crate) fn milli(text: &str) -> u64 {
    text.strip_suffix('m').map_or_else(|| number(text) * 1_000, number)
}

/// `2Gi`, `512Mi`, or bytes.
fn mib(text: &str) -> u64 {
    match (text.strip_suffix("Gi"), text.strip_suffix("Mi")) {
        (Some(gib), _) => number(gib) << 10,
        (None, Some(mib)) => number(mib),
        (None, None) => number(text) >> 20,
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}
