//! Kubelets of all nodes and pod garbage collection: what is bound to a node runs, what terminates there goes.

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStatus, Pod,
};

use super::api::{Api, condition, has_ended, is_held, set_condition};
use crate::core::base::ids::{Key, Text};
use crate::core::base::resources::Resources;
use crate::core::time::Wall;
use crate::shim::observation::Body;
use crate::shim::op::Kind;
use crate::shim::requests::{of_offer, of_pod};

/// What a node has to do for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Start it.
    Start,
    /// It is being deleted: its containers are stopped, and it says so.
    Stop,
    /// Its containers have stopped: it goes.
    End,
    /// Its node is gone, and so are its containers, or it is being deleted and has no node: somebody says so.
    Fail,
    /// Its node is gone, and its containers: it goes.
    Collect,
}

/// What is to be done for a pod, if anything.
pub fn task(api: &Api, key: &Key) -> Option<Task> {
    let Some(Body::Pod(pod)) = api.store.get(Kind::Pod, key) else { return None };
    let (leaves, ended) = (pod.metadata.deletion_timestamp.is_some(), has_ended(pod));
    if leaves && is_held(pod) && ended {
        return None;
    }
    let Some(node) = pod.spec.as_ref()?.node_name.as_deref() else { return (leaves && !ended).then_some(Task::Fail) };
    let there = api.store.get(Kind::Node, &Key::cluster(node)).is_some();
    match (there, leaves) {
        (false, _) => Some(if ended { Task::Collect } else { Task::Fail }),
        (true, true) => Some(if ended { Task::End } else { Task::Stop }),
        (true, false) => (!ended && !runs(pod)).then_some(Task::Start),
    }
}

/// Whether a pod was admitted by its node.
fn runs(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
}

/// What a pod asks for and its node has too little of, beside those that run there (`OutOfcpu`): whoever bound it knew of less.
/// It looks at all pods.
pub fn lacks(api: &Api, key: &Key) -> Option<Text> {
    let Some(Body::Pod(pod)) = api.store.get(Kind::Pod, key) else { return None };
    let node = pod.spec.as_ref()?.node_name.as_deref()?;
    let Some(Body::Node(found)) = api.store.get(Kind::Node, &Key::cluster(node)) else { return None };
    let allocatable = found.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let has = allocatable.map(of_offer).unwrap_or_default();
    let running = api.store.of_kind(Kind::Pod).filter_map(|(_, body)| match body {
        Body::Pod(other) if runs(other) && other.spec.as_ref()?.node_name.as_deref() == Some(node) => {
            Some(of_pod(other))
        }
        Body::Pod(_)
        | Body::Node(_)
        | Body::TaskGroup(_)
        | Body::Queue(_)
        | Body::ResourceQuota(_)
        | Body::Namespace(_)
        | Body::KoordinatorPodGroup(_)
        | Body::CoschedulingPodGroup(_)
        | Body::VolcanoPodGroup(_)
        | Body::KubernetesPodGroup(_) => None,
    });
    let all: Resources = running.fold(of_pod(pod), |all, one| all.plus(&one));
    of_pod(pod).iter().find(|(name, asked)| *asked > 0 && all.get(name) > has.get(name)).map(|(name, _)| name.into())
}

/// A pod has ended before its time: its node does not take it, or takes it off again. False: there is none.
pub fn fail(api: &mut Api, key: &Key, reason: &str) -> bool {
    let answer = api.change_pod(key, |pod| {
        let status = pod.status.get_or_insert_default();
        (status.phase, status.reason) = (Some("Failed".to_owned()), Some(reason.to_owned()));
        Ok(())
    });
    answer.is_ok()
}

/// Does what is to be done for a pod; false: nothing was.
pub fn act(api: &mut Api, key: &Key, now: Wall) -> bool {
    match task(api, key) {
        None => false,
        Some(Task::Collect | Task::End) => api.end_pod(key, now).is_ok(),
        Some(Task::Stop | Task::Fail) => set_phase(api, key, "Failed"),
        Some(Task::Start) => api
            .change_pod(key, |pod| {
                pod.status.get_or_insert_default().phase = Some("Running".to_owned());
                start_containers(pod);
                set_condition(pod, &condition("Ready", "True"));
                Ok(())
            })
            .is_ok(),
    }
}

/// A pod has done its work, if it is there.
pub fn succeed(api: &mut Api, key: &Key) {
    set_phase(api, key, "Succeeded");
}

/// A pod is in another phase; false: there is none.
pub fn set_phase(api: &mut Api, key: &Key, phase: &str) -> bool {
    let answer = api.change_pod(key, |pod| {
        pod.status.get_or_insert_default().phase = Some(phase.to_owned());
        if has_ended(pod) {
            end_containers(pod, i32::from(phase == "Failed"));
        }
        Ok(())
    });
    answer.is_ok()
}

/// The kubelet tells of every container that it starts: a pod of which it never told of one was refused by its node.
fn start_containers(pod: &mut Pod) {
    let names: Vec<String> = pod.spec.iter().flat_map(|spec| &spec.containers).map(|one| one.name.clone()).collect();
    let running = ContainerState { running: Some(ContainerStateRunning::default()), ..ContainerState::default() };
    let told = pod.status.get_or_insert_default().container_statuses.get_or_insert_default();
    for name in names {
        match told.iter_mut().find(|container| container.name == name) {
            Some(container) => container.state = Some(running.clone()),
            None => {
                told.push(ContainerStatus { name, state: Some(running.clone()), ..ContainerStatus::default() });
            }
        }
    }
}

/// Those that were started have ended.
fn end_containers(pod: &mut Pod, exit_code: i32) {
    let terminated = Some(ContainerStateTerminated { exit_code, ..ContainerStateTerminated::default() });
    let ended = ContainerState { terminated, ..ContainerState::default() };
    let started = pod.status.iter_mut().flat_map(|status| status.container_statuses.iter_mut().flatten());
    started.filter_map(|container| container.state.as_mut()).for_each(|state| *state = ended.clone());
}
