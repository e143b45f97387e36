//! `--nodes 20x32cpu,256Gi`: nodes that are alike.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, NodeStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::read::InputError;
use crate::core::base::ids::Key;
use crate::shim::observation::Body;
use crate::shim::quantity::Quantity;
use crate::sim::play::{Arrival, Thing};

/// Most nodes of one flag.
const NODES_MAX: u32 = 100_000;
/// Pods that a kubelet takes.
const PODS: &str = "110";
/// What a kubelet writes on its node, beside the name.
const LABELS: [(&str, &str); 2] = [("kubernetes.io/arch", "amd64"), ("kubernetes.io/os", "linux")];
/// What a quantity of bytes ends in.
const BYTES: [&str; 10] = ["Ki", "Mi", "Gi", "Ti", "Pi", "k", "M", "G", "T", "P"];

/// The nodes that the n-th flag means.
pub(super) fn of(text: &str, flag: usize) -> Result<Vec<Arrival>, InputError> {
    let wrong = |what: &str| InputError::Flag(format!("--nodes {text}: {what}; write for example 20x32cpu,256Gi"));
    let (count, resources) = text.split_once('x').ok_or_else(|| wrong("no x between number and resources"))?;
    let count: u32 = count
        .parse()
        .ok()
        .filter(|count| (1..=NODES_MAX).contains(count))
        .ok_or_else(|| wrong(&format!("{count:?} is no number of nodes from 1 to {NODES_MAX}")))?;
    let mut allocatable = BTreeMap::from([("pods".to_owned(), Text(PODS.to_owned()))]);
    let mut given = BTreeSet::new();
    for part in resources.split(',') {
        let (name, amount) = resource(part).ok_or_else(|| wrong(&format!("{part:?} is no amount of a resource")))?;
        if !given.insert(name) {
            return Err(wrong(&format!("{name} is given twice")));
        }
        allocatable.insert(name.to_owned(), Text(amount.to_owned()));
    }
    let node = |number| {
        let status = NodeStatus { allocatable: Some(allocatable.clone()), ..NodeStatus::default() };
        let name = format!("node{}-{number}", if flag == 0 { String::new() } else { flag.to_string() });
        let labels = LABELS.into_iter().chain([("kubernetes.io/hostname", &*name)]);
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let metadata = ObjectMeta { labels: Some(labels), ..ObjectMeta::default() };
        let node = Node { metadata, status: Some(status), ..Node::default() };
        let key = Key::cluster(name);
        Arrival { at: 0, key, what: Thing::Object(Body::Node(Arc::new(node))), lasts: None }
    };
    Ok((0..count).map(node).collect())
}

/// Name and amount: `32cpu`, `256Gi` (of memory), `8nvidia.com/gpu`.
fn resource(part: &str) -> Option<(&str, &str)> {
    let digits = part.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, rest) = part.split_at(digits);
    let (name, amount) = match rest {
        "cpu" | "pods" => (rest, number),
        _ if BYTES.contains(&rest) => ("memory", part),
        _ if rest.contains('/') => (rest, number),
        _ => return None,
    };
    amount.parse::<Quantity>().is_ok().then_some((name, amount))
}
