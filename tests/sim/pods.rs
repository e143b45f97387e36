//! What people and machines do to pods: they make, delete, end, edit and resize them.

use std::collections::BTreeMap;

use gangline::core::base::ids::Key;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;
use gangline::sim::api::has_ended;
use gangline::sim::kubelet;
use gangline::sim::resize::resize;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};

use super::acts::{Act, JobAct, PodAct, SetAct};
use super::amount::GPU;
use super::limits::stamp;
use super::marks::MARK;
use super::oracle::application_of;
use super::people::{ABROAD, APPLICATION, FOREIGN, NS, TASK_GROUP, label, node_of};
use super::place::Place;
use super::world::World;
use super::{spoken, words};

/// How long another scheduler takes for a pod.
const FOREIGN_MS: u64 = 200;

impl World {
    /// A pod that Gangline schedules.
    pub(crate) fn pod(&mut self, name: &str, labels: &Value, cpu: &str) {
        self.make_pod(&json!({"name": name, "namespace": NS, "labels": labels}), &json!({"cpu": cpu}), &json!({}));
    }

    fn make_pod(&mut self, metadata: &Value, requests: &Value, more: &Value) {
        let mut spec = json!({"schedulerName": "gangline", "containers": [container(requests)], "priority": 0});
        more.as_object().into_iter().flatten().for_each(|(field, value)| spec[field] = value.clone());
        self.apply(Kind::Pod, &json!({"metadata": metadata, "spec": spec}));
    }

    pub(super) fn set_pod(&mut self, pod: &PodAct) {
        let PodAct { name, milli, mib, gpu, group, app, queue, priority, place, .. } = pod;
        let namespace = if pod.abroad { ABROAD } else { NS };
        if self.api.store.get(Kind::Pod, &Key::new(namespace, name.as_str())).is_some() {
            return;
        }
        let mut labels = json!({});
        let mut say = |key: &str, value: &Option<String>| {
            value.iter().for_each(|value| labels[format!("gangline.dev/{key}")] = json!(value));
        };
        say(if pod.mistyped { "taskgroup" } else { "task-group" }, group);
        say("application-id", app);
        if pod.spoken.is_none() {
            say("queue", queue);
        }
        if pod.forged {
            say("placeholder", &Some("true".to_owned()));
            say("seat", &Some("0".to_owned()));
            say("incarnation", &Some("uid-0.1".to_owned()));
            say("attempt", &Some("0".to_owned()));
        }
        if pod.foreign {
            labels[FOREIGN] = json!("their-gang");
        }
        let finalizers: &[&str] = if pod.held { &["example.com/hold"] } else { &[] };
        let mut metadata = json!({"name": name, "namespace": namespace, "labels": labels, "finalizers": finalizers});
        metadata["annotations"] = stamp(pod.by.as_ref());
        if let Some(spoken) = &pod.spoken {
            say_beside(&mut metadata, spoken::words(spoken, queue.as_ref()));
        }
        pod.words.iter().for_each(|said| say_beside(&mut metadata, words::words(said)));
        let mut more = place.map_or_else(|| json!({}), Place::fields);
        more["priority"] = json!(priority);
        pod.words.iter().for_each(|said| words::fields(said, &mut more));
        if pod.gated {
            more["schedulingGates"] = json!([{"name": "example.com/gate"}]);
        }
        self.make_pod(&metadata, &json!(requests(*milli, *mib, *gpu)), &more);
    }

    /// A Job comes.
    pub(super) fn set_job(&mut self, job: &JobAct) {
        let JobAct { name, group, milli, mib, gpu, parallelism, completions, by } = job;
        let labels = group.as_ref().map_or_else(|| json!({}), |group| json!({TASK_GROUP: group}));
        let container = container(&json!(requests(*milli, *mib, *gpu)));
        let pod = json!({"schedulerName": "gangline", "containers": [container], "priority": 0});
        let template = json!({"metadata": {"labels": labels, "annotations": stamp(by.as_ref())}, "spec": pod});
        let spec = json!({"parallelism": parallelism, "completions": completions, "template": template});
        let job = serde_json::from_value(json!({"spec": spec})).expect("a Job");
        self.jobs.add(&Key::new(NS, name.as_str()), job, 0);
        self.jobs_act();
    }

    /// A StatefulSet comes.
    pub(super) fn set_set(&mut self, set: &SetAct) {
        let SetAct { group, milli, mib, gpu, replicas, by } = set;
        let container = container(&json!(requests(*milli, *mib, *gpu)));
        let pod = json!({"schedulerName": "gangline", "containers": [container], "priority": 0});
        let metadata = json!({"labels": {TASK_GROUP: group}, "annotations": stamp(by.as_ref())});
        let template = json!({"metadata": metadata, "spec": pod});
        let spec = json!({"replicas": replicas, "serviceName": "", "selector": {}, "template": template});
        let set = serde_json::from_value(json!({"spec": spec})).expect("a StatefulSet");
        self.sets.add(&set_of(group), set);
        self.jobs_act();
    }

    /// A pod ends well.
    pub(crate) fn succeed(&mut self, pod: &str) {
        assert!(self.end(pod, true), "{pod} is there and runs");
    }

    pub(super) fn end(&mut self, pod: &str, well: bool) -> bool {
        let key = Key::new(NS, pod);
        let Some(body) = self.api.store.get(Kind::Pod, &key).filter(|body| node_of(body).is_some()).cloned() else {
            return false;
        };
        // How a pod ended stays so.
        if matches!(&body, Body::Pod(pod) if has_ended(pod)) {
            return false;
        }
        self.disturb_group_of(&body);
        kubelet::set_phase(&mut self.api, &key, if well { "Succeeded" } else { "Failed" })
    }

    /// Somebody deletes a pod.
    pub(crate) fn delete_pod(&mut self, pod: &str) {
        assert!(self.drop_pod(pod), "{pod} is there");
    }

    pub(super) fn drop_pod(&mut self, pod: &str) -> bool {
        let key = Key::new(NS, pod);
        let Some(body) = self.api.store.get(Kind::Pod, &key).cloned() else { return false };
        self.disturb_group_of(&body);
        let now = self.now().wall;
        self.api.delete_pod(&key, None, now).is_ok()
    }

    /// Somebody edits what a pod says that it belongs to.
    pub(super) fn relabel(&mut self, pod: &str, group: Option<&str>, app: Option<&str>) {
        let key = Key::new(NS, pod);
        let Some(old) = self.api.store.get(Kind::Pod, &key).cloned() else { return };
        // It is there: somebody has just looked.
        drop(self.api.change_pod(&key, |pod| {
            let labels = pod.metadata.labels.get_or_insert_default();
            for (name, value) in [(TASK_GROUP, group), (APPLICATION, app)] {
                match value {
                    Some(value) => _ = labels.insert(name.to_owned(), value.to_owned()),
                    None => _ = labels.remove(name),
                }
            }
            Ok(())
        }));
        let groups = [label(&old, TASK_GROUP), group].into_iter().flatten();
        let of_applications = self.groups_of_applications(&[label(&old, APPLICATION), app]);
        let all: Vec<String> = groups.map(str::to_owned).chain(of_applications).collect();
        all.iter().for_each(|group| self.disturb(group));
        all.iter().for_each(|group| self.excuse_rounds(group));
    }

    pub(super) fn groups_of_applications(&self, applications: &[Option<&str>]) -> Vec<String> {
        let mut groups = self.groups();
        groups.retain(|(name, group)| applications.contains(&Some(&*application_of(name, group))));
        groups.into_iter().map(|(name, _)| name).collect()
    }

    /// Whoever held a pod back lifts its gates.
    pub(super) fn ungate(&mut self, pod: &str) {
        // Nothing where there is none.
        drop(self.api.ungate(&Key::new(NS, pod)));
    }

    /// The controller of a pod that is gone makes it anew.
    pub(crate) fn make_again(&mut self, key: &Key) {
        if let Some(pod) = self.come_again.remove(key) {
            let now = self.now().wall;
            // Admission may refuse it.
            drop(self.api.create(key, Body::Pod(pod.into()), now));
        }
    }

    /// A pod that runs asks for another amount, if its node has as much at all; its kubelet gives it where there is room, and
    /// goes on as before where not.
    pub(super) fn resize(&mut self, name: &str, wanted: u32) {
        let key = Key::new(NS, name);
        let Some(body) = self.api.store.get(Kind::Pod, &key).cloned() else { return };
        let (Body::Pod(pod), Some(node)) = (&body, node_of(&body)) else { return };
        if has_ended(pod) {
            return;
        }
        let actual = pod.spec.as_ref().and_then(|spec| spec.containers.first()?.resources.as_ref()?.requests.clone());
        let wanted = Quantity(format!("{wanted}m"));
        if resize(&mut self.api, &key, &wanted.0).is_err() {
            return;
        }
        self.disturb_group_of(&body);
        self.room_taken(node);
        let changed = || actual.clone().unwrap_or_default().into_iter().chain([("cpu".to_owned(), wanted)]).collect();
        let given = if self.is_overdrawn(node) { actual.clone() } else { Some(changed()) };
        self.change_running(&key, |pod| {
            let resources = ResourceRequirements { requests: given.clone(), ..ResourceRequirements::default() };
            let told = pod.status.get_or_insert_default().container_statuses.get_or_insert_default();
            if told.is_empty() {
                told.push(ContainerStatus { name: "main".to_owned(), ..ContainerStatus::default() });
            }
            let main = told.iter_mut().find(|container| container.name == "main");
            main.into_iter().for_each(|main| {
                (main.resources, main.allocated_resources) = (Some(resources.clone()), given.clone());
            });
        });
    }

    fn change_running(&mut self, key: &Key, change: impl FnOnce(&mut Pod)) {
        let answer = self.api.change_pod(key, |pod| {
            change(pod);
            Ok(())
        });
        assert!(answer.is_ok(), "{key} is there");
    }

    /// The node of a pod does not take it, or takes it off again.
    pub(crate) fn put_off(&mut self, key: &Key, reason: &str) {
        self.disturb_group_at(key);
        kubelet::fail(&mut self.api, key, reason);
    }

    pub(super) fn runs(&self, key: &Key) -> bool {
        let found = self.api.store.get(Kind::Pod, key);
        found.is_some_and(|body| matches!(body, Body::Pod(pod) if node_of(body).is_some() && !has_ended(pod)))
    }

    /// Another scheduler's pod comes, and a moment later that one binds it to a node, whatever else is there.
    pub(super) fn foreign(&mut self, name: &str, node: &str, cpu: u32) {
        let key = Key::new(ABROAD, name);
        let is_there = self.api.store.get(Kind::Node, &Key::cluster(node)).is_some();
        match self.api.store.get(Kind::Pod, &key).map(|body| node_of(body).is_some()) {
            None if is_there => {
                let container = json!({"name": "main", "resources": {"requests": {"cpu": cpu.to_string()}}});
                let spec = json!({"schedulerName": "other", "containers": [container]});
                self.apply(Kind::Pod, &json!({"metadata": {"name": name, "namespace": ABROAD}, "spec": spec}));
                let again = Act::Foreign { name: name.to_owned(), node: node.to_owned(), cpu };
                self.plan(&[(FOREIGN_MS, again)]);
            }
            Some(false) if is_there => {
                let bound = self.api.change_pod(&key, |pod| {
                    pod.spec.get_or_insert_default().node_name = Some(node.to_owned());
                    Ok(())
                });
                bound.is_ok().then(|| self.room_taken(node));
            }
            None | Some(_) => {}
        }
    }
}

/// Adds these labels and annotations.
fn say_beside(metadata: &mut Value, (labels, annotations): (Value, Value)) {
    for (field, more) in [("labels", labels), ("annotations", annotations)] {
        more.as_object().into_iter().flatten().for_each(|(key, text)| metadata[field][key] = text.clone());
    }
}

/// The StatefulSet that makes the members of a group, if one does.
pub(crate) fn set_of(group: &str) -> Key {
    Key::new(NS, format!("{group}-set"))
}

/// What a controller makes when a pod of it is gone: as that was asked for, without what became of it.
pub(super) fn born_again(pod: &Pod) -> Pod {
    let mut anew = Pod { spec: pod.spec.clone(), ..Pod::default() };
    anew.spec.iter_mut().for_each(|spec| spec.node_name = None);
    anew.metadata.labels.clone_from(&pod.metadata.labels);
    anew.metadata.annotations.clone_from(&pod.metadata.annotations);
    anew.metadata.annotations.iter_mut().for_each(|all| _ = all.remove(MARK));
    anew
}

/// Requests of cpu, and of memory and GPUs where there are any.
pub(super) fn requests(milli: u32, mib: u32, gpu: u32) -> BTreeMap<String, Quantity> {
    let memory = (mib > 0).then(|| ("memory".to_owned(), Quantity(format!("{mib}Mi"))));
    let gpus = (gpu > 0).then(|| (GPU.to_owned(), Quantity(gpu.to_string())));
    [("cpu".to_owned(), Quantity(format!("{milli}m")))].into_iter().chain(memory).chain(gpus).collect()
}

/// A container of these requests. The API server wants GPUs to be limited to what is requested.
fn container(requests: &Value) -> Value {
    let mut resources = json!({"requests": requests});
    if let Some(gpus) = requests.get(GPU) {
        resources["limits"] = json!({GPU: gpus});
    }
    json!({"name": "main", "resources": resources})
}
