//! Finds the gang that a pod belongs to.

use k8s_openapi::api::core::v1::Pod;

use super::super::fetch::{Cluster, FetchError, Found};
use super::Got;
use super::pod::belonging;
use crate::api::task_group::TaskGroup;

/// The gang that a pod names, as far as it can be read.
#[derive(Debug)]
pub(super) enum Gang {
    /// It names none.
    None,
    /// It names one that does not exist.
    Missing(String),
    /// It cannot be read, for this reason.
    Unreadable(String, String),
    /// Here it is.
    Found(Box<TaskGroup>),
}

impl Gang {
    /// The gang of a pod: its task group, or for an originator one of its application.
    pub(super) async fn of(cluster: &Cluster, pod: &Pod) -> Self {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        match belonging(pod) {
            (Some(name), _) => Self::from_get(&name, cluster.get(namespace, &name).await),
            (None, Some(application)) => Self::from_list(&application, cluster.list(Some(namespace), None).await),
            (None, None) => Self::None,
        }
    }

    fn from_get(name: &str, got: Got<TaskGroup>) -> Self {
        match got {
            Ok(None) => Self::Missing(name.to_owned()),
            Ok(Some(Found { object: Ok(group), .. })) => Self::Found(group),
            Ok(Some(Found { object: Err(problem), .. })) => Self::Unreadable(name.to_owned(), problem),
            Err(error) => Self::Unreadable(name.to_owned(), error.to_string()),
        }
    }

    /// Of an originator's application: the group that holds it up, which is one that does not run, if there is one.
    pub(super) fn from_list(application: &str, listed: Result<Vec<Found<TaskGroup>>, FetchError>) -> Self {
        let groups = match listed {
            Ok(groups) => groups,
            Err(error) => return Self::Unreadable(application.to_owned(), error.to_string()),
        };
        let of_application = |group: &TaskGroup| {
            let name = group.spec.application_id.as_ref().or(group.metadata.name.as_ref());
            name.is_some_and(|name| name == application)
        };
        let groups = groups.into_iter().filter_map(|found| found.object.ok()).filter(|group| of_application(group));
        let rank = |group: &TaskGroup| (super::super::list::state(group) == "Running", group.metadata.name.clone());
        groups.min_by_key(|group| rank(group)).map_or(Self::None, Self::Found)
    }
}
