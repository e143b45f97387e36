//! Amounts that an API server does not take: played, they would mean something else than on a cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;

use crate::shim::quantity::Quantity;

type Amounts = BTreeMap<String, Written>;

/// What is wrong with what a pod asks for; `at` is the field that holds its spec.
pub(super) fn of_pod(at: &str, spec: &PodSpec) -> Result<(), String> {
    let containers = spec.containers.iter().map(|one| ("containers", one));
    let containers = containers.chain(spec.init_containers.iter().flatten().map(|one| ("initContainers", one)));
    let containers = containers.map(|(list, one)| (format!("{at}.{list}[{}].resources", one.name), &one.resources));
    let mut all = containers.chain([(format!("{at}.resources"), &spec.resources)]);
    all.try_for_each(|(at, resources)| resources.as_ref().map_or(Ok(()), |resources| of_resources(&at, resources)))?;
    of_list(&format!("{at}.overhead"), spec.overhead.as_ref()).map(drop)
}

/// What is wrong with what a node has.
pub(super) fn of_node(node: &Node) -> Result<(), String> {
    let status = node.status.as_ref();
    of_list("status.allocatable", status.and_then(|status| status.allocatable.as_ref())).map(drop)
}

fn of_resources(at: &str, resources: &ResourceRequirements) -> Result<(), String> {
    let requests = of_list(&format!("{at}.requests"), resources.requests.as_ref())?;
    let limits = of_list(&format!("{at}.limits"), resources.limits.as_ref())?;
    let beyond = requests.iter().find(|(name, request)| limits.get(*name).is_some_and(|limit| limit < *request));
    beyond.map_or(Ok(()), |(name, _)| Err(format!("{at}.requests[{name}]: more than the limit")))
}

fn of_list<'a>(at: &str, amounts: Option<&'a Amounts>) -> Result<BTreeMap<&'a str, Quantity>, String> {
    let read = |(name, written): (&'a String, &Written)| {
        let said = || format!("{at}[{name}]: {:?}", written.0);
        let amount: Quantity =
            written.0.parse().map_err(|_| format!("{} is no amount, such as 500m or 2Gi", said()))?;
        if amount.is_negative() { Err(format!("{} is below 0", said())) } else { Ok((&**name, amount)) }
    };
    amounts.into_iter().flatten().map(read).collect()
}
