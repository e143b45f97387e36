//! What the scheduler would say of the queues of the files, and of those that only pods name.

use super::Site;
use super::finding::{Finding, Severity};
use super::pods::Pods;
use crate::core::model::namespaces::own_path;
use crate::runtime::cli::simulate::input::Input;
use crate::shim::observation::Body;
use crate::shim::queue::{IMPLICIT, QueueTree, parent};
use crate::sim::play::{Arrival, Thing};

/// Everything about queues.
pub(super) fn findings(input: &Input, pods: &[Pods]) -> Vec<Finding> {
    let mut tree = QueueTree::knowing_submitters(true);
    for arrival in &input.arrivals {
        if let Thing::Object(Body::Queue(queue)) = &arrival.what {
            tree.upsert(&arrival.key.name, queue);
        }
    }
    let wrong = input.arrivals.iter().flat_map(|arrival| of_queue(input, &tree, arrival));
    wrong.chain(pods.iter().filter_map(|pods| of_pods(&tree, pods))).collect()
}

fn of_queue(input: &Input, tree: &QueueTree, arrival: &Arrival) -> Vec<Finding> {
    let is_queue = matches!(&arrival.what, Thing::Object(Body::Queue(_)));
    let Some(site) = Site::of(input, arrival).filter(|_| is_queue) else { return Vec::new() };
    let errors = tree.problem(&arrival.key.name).unwrap_or_default().iter();
    errors
        .map(|error| {
            // The queue above may be in the cluster.
            let severity = if &*error.field == "spec.parent" { Severity::Warning } else { Severity::Error };
            site.finding(severity, &error.field, error.problem.to_string())
        })
        .collect()
}

/// Pods outside task groups that name a queue; of others the gang is told.
fn of_pods(tree: &QueueTree, pods: &Pods) -> Option<Finding> {
    let queue = pods.ask.queue.as_ref().filter(|_| pods.are_to_be_placed() && pods.group().is_none())?;
    let message = if tree.in_force(queue).is_none() && !IMPLICIT.contains(&&**queue) && !is_own(tree, pods, queue) {
        format!("queue {queue} is not in the files, or has no valid place in the tree")
    } else if tree.below(queue).next().is_some() {
        format!("queue {queue} has queues below it; name one of those")
    } else {
        return None;
    };
    Some(pods.finding(Severity::Warning, "", message))
}

/// Whether this may be the queue that their namespace has of its own, of which there is no Queue object.
fn is_own(tree: &QueueTree, pods: &Pods, queue: &str) -> bool {
    let above = parent(queue).filter(|above| *own_path(above, &pods.ask.key.namespace) == *queue);
    above.and_then(|above| tree.in_force(above)).is_some_and(|above| above.template.is_some())
}
