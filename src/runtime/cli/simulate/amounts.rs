//! Amounts that an API server does not take: played, they would mean something else than on a cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;

use crate::shim::quantity::Quantity;

type Amounts = BTreeMap<String, Written>;

/// Everything that is wrong with what a pod asks for; `at` is the field that holds its spec.
pub(super) fn of_pod(at: &str, spec: &PodSpec) -> Vec<String> {
    let mut wrong = Vec::new();
    let containers = spec.containers.iter().map(|one| ("containers", one));
    let containers = containers.chain(spec.init_containers.iter().flatten().map(|one| ("initContainers", one)));
    let containers = containers.map(|(list, one)| (format!("{at}.{list}[{}].resources", one.name), &one.resources));
    for (at, resources) in containers.chain([(format!("{at}.resources"), &spec.resources)]) {
        resources.iter().for_each(|resources| of_resources(&at, resources, &mut wrong));
    }
    of_list(&format!("{at}.overhead"), spec.overhead.as_ref(), &mut wrong);
    wrong
}

/// Everything that is wrong with what a node has.
pub(super) fn of_node(node: &Node) -> Vec<String> {
    let mut wrong = Vec::new();
    let status = node.status.as_ref();
    of_list("status.allocatable", status.and_then(|status| status.allocatable.as_ref()), &mut wrong);
    wrong
}

fn of_resources(at: &str, resources: &ResourceRequirements, wrong: &mut Vec<String>) {
    let requests = of_list(&format!("{at}.requests"), resources.requests.as_ref(), wrong);
    let limits = of_list(&format!("{at}.limits"), resources.limits.as_ref(), wrong);
    let beyond = requests.iter().filter(|(name, request)| limits.get(*name).is_some_and(|limit| limit < *request));
    wrong.extend(beyond.map(|(name, _)| format!("{at}.requests[{name}]: more than the limit")));
}

/// The amounts that are right.
fn of_list<'a>(at: &str, amounts: Option<&'a Amounts>, wrong: &mut Vec<String>) -> BTreeMap<&'a str, Quantity> {
    let mut right = BTreeMap::new();
    for (name, written) in amounts.into_iter().flatten() {
        let said = format!("{at}[{name}]: {:?}", written.0);
        match written.0.parse::<Quantity>() {
            Err(_) => wrong.push(format!("{said} is no amount, such as 500m or 2Gi")),
            Ok(amount) if amount.is_negative() => wrong.push(format!("{said} is below 0")),
            Ok(amount) => drop(right.insert(&**name, amount)),
        }
    }
    right
}
