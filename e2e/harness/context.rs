//! What one test has: a client, a namespace, nodes of its own, and ways to make objects and to wait for them.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, ServiceAccount};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::cluster::{Cluster, binary};
use super::operators::Operator;
use super::report::our_kinds;
use crate::support::control_plane::ControlPlane;
use crate::support::error::{During, Error, Result};
use crate::support::manifests;
use crate::support::nodes::{NodeSet, is_ready, is_tainted, is_tainted_for_now};
use crate::support::objects::{Kind, Objects};
use crate::support::process::Process;
use crate::support::real::RealNodes;
use crate::support::scheduler::Scheduler;

/// Label and taint of everything that belongs to one test.
pub(crate) const TEST: &str = "e2e.gangline.dev/test";

/// What tests fill nodes with that run containers, so that they are exactly full whatever else runs there.
pub(crate) const SLOT: &str = "e2e.gangline.dev/slot";

/// How long a namespace with its pods may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(120);

/// What one test has.
pub(crate) struct Context {
    // They end before the control plane does.
    operators: Vec<Process>,
    pub(crate) client: Client,
    /// Name of the test as part of objects' names; differs from run to run.
    pub(crate) id: String,
    /// Its own namespace.
    pub(crate) namespace: String,
    pub(crate) cluster: Arc<Cluster>,
    namespaces: BTreeSet<String>,
    own_nodes: bool,
    taken: Vec<String>,
}

impl Context {
    /// A context on a cluster, with a namespace.
    pub(crate) async fn new(cluster: Arc<Cluster>, test: &str) -> Result<Self> {
        let id = identify(test);
        let (client, namespace) = (cluster.client.clone(), format!("e2e-{id}"));
        let (namespaces, own_nodes, taken, operators) = (BTreeSet::new(), false, Vec::new(), Vec::new());
        let mut context = Self { operators, client, id, namespace, cluster, namespaces, own_nodes, taken };
        context.make_namespace(&context.namespace.clone(), json!({})).await?;
        Ok(context)
    }

    /// The control plane, for tests that have one of their own.
    pub(crate) fn plane(&mut self) -> Result<&mut ControlPlane> {
        let cluster = Arc::get_mut(&mut self.cluster).ok_or_else(|| Error::new("the control plane is shared"))?;
        cluster.plane.as_mut().ok_or_else(|| Error::new("this test has no control plane of its own"))
    }

    /// Its nodes that run containers.
    pub(crate) fn real_nodes(&self) -> Result<&RealNodes> {
        let plane = self.cluster.plane.as_ref();
        plane.ok_or_else(|| Error::new("this test has no control plane of its own"))?.real_nodes()
    }

    /// Starts a scheduler of this test's own. `name` tells it from others in logs.
    pub(crate) async fn start_scheduler(&self, name: &str, args: &[&str]) -> Result<Scheduler> {
        let name = format!("{name}-{}", self.id);
        Scheduler::start(&self.cluster.launch(&name, args).await?).await
    }

    /// Starts an operator for the test's namespace alone, which makes gangs there as it does for this scheduler or system. It ends
    /// with the test.
    pub(crate) async fn operate(&mut self, operator: Operator, gangs_of: &str) -> Result<()> {
        let process = self.cluster.operator(operator, gangs_of, (&self.id, &self.namespace)).await?;
        self.operators.push(process);
        Ok(())
    }

    /// One more namespace, named after the test; `patch` is merged into the object (labels, annotations).
    pub(crate) async fn add_namespace(&mut self, suffix: &str, patch: Value) -> Result<String> {
        let name = format!("{}-{suffix}", self.namespace);
        self.make_namespace(&name, patch).await?;
        Ok(name)
    }

    /// Nodes of the test's own: its pods select and tolerate them, others' keep off. `change` sets their size, labels
    /// and so on. Returns their names.
    pub(crate) async fn add_nodes(
        &mut self,
        suffix: &str,
        count: u32,
        change: impl FnOnce(&mut NodeSet),
    ) -> Result<Vec<String>> {
        let mut nodes = NodeSet::new(format!("{}-{suffix}", self.id), count);
        nodes.labels.insert(TEST.to_owned(), self.id.clone());
        nodes.taints.push((TEST.to_owned(), self.id.clone(), "NoSchedule".to_owned()));
        change(&mut nodes);
        self.own_nodes = true;
        nodes.ready = self.cluster.plane.as_ref().is_some_and(|plane| !plane.plays_nodes());
        nodes.create(&self.client).await?;
        nodes.wait_ready(&self.client).await?;
        Ok(nodes.names())
    }

    /// Makes all nodes that pods can go to the test's own. For a cluster on which no other test runs; it may have begun a
    /// moment ago.
    pub(crate) async fn take_nodes(&mut self) -> Result<()> {
        let nodes = self.everywhere::<Node>();
        let has_begun = |all: &[&Node]| all.iter().all(|node| is_ready(node) && !is_tainted_for_now(node));
        let all = nodes.wait_all("", "all nodes are Ready", has_begun).await?;
        for node in all.iter().filter(|node| !is_tainted(node)) {
            nodes.patch(&node.name_any(), json!({"metadata": {"labels": {TEST: self.id}}})).await?;
            self.taken.push(node.name_any());
        }
        self.own_nodes = true;
        Ok(())
    }

    /// The nodes that it has taken.
    pub(crate) fn taken(&self) -> &[String] {
        &self.taken
    }

    /// A pod of this test for Gangline, on this test's nodes if it has some; `patch` is merged into it (JSON merge patch).
    pub(crate) fn pod(&self, name: &str, cpu: &str, patch: Value) -> Value {
        let container =
            json!({"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": cpu}}});
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"schedulerName": "gangline", "terminationGracePeriodSeconds": 1, "containers": [container]},
        });
        if self.own_nodes {
            merge(&mut pod, json!({"spec": self.placement()}));
        }
        merge(&mut pod, patch);
        pod
    }

    /// The part of a pod's spec that puts it on this test's nodes; also for pod templates and `placeholderTemplate`.
    pub(crate) fn placement(&self) -> Value {
        json!({
            "nodeSelector": {TEST: self.id},
            "tolerations": [{"key": TEST, "operator": "Equal", "value": self.id, "effect": "NoSchedule"}],
        })
    }

    /// Objects of a kind in the test's namespace.
    pub(crate) fn objects<K: Kind>(&self) -> Objects<K> {
        Objects::of(&self.client, &self.namespace)
    }

    /// Objects of a kind without namespace, or in all namespaces.
    pub(crate) fn everywhere<K: Kind>(&self) -> Objects<K> {
        Objects::all(&self.client)
    }

    /// The pods of the test's namespace.
    pub(crate) fn pods(&self) -> Objects<Pod> {
        self.objects()
    }

    /// Applies YAML of any kinds (server side); objects without a namespace go to the test's.
    pub(crate) async fn apply(&self, yaml: &str) -> Result<Vec<DynamicObject>> {
        manifests::apply(&self.client, yaml, &self.namespace, &[]).await
    }

    /// What a command of the program says about the test's namespace: exit code and output.
    pub(crate) fn gangline(&self, words: &[&str]) -> Result<(Option<i32>, String)> {
        let mut command = Command::new(binary());
        // Queues have no namespace.
        let inside: &[&str] = if words.first() == Some(&"queue") { &[] } else { &["-n", &self.namespace] };
        command.args(words).args(inside).arg("--kubeconfig").arg(&self.cluster.kubeconfig);
        let output = command.output().during("running gangline")?;
        Ok((output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()))
    }

    /// Binds a pod by hand, as a scheduler would.
    pub(crate) async fn bind(&self, pod: &str, node: &str) -> Result<()> {
        let binding = json!({"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}});
        let (pods, params) = (self.pods(), PostParams::default());
        let answer = pods.untyped().create_subresource::<Value, Value>("binding", pod, &params, &binding);
        answer.await.during(format!("binding {pod} to {node}")).map(drop)
    }

    /// All namespaces of the test.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.namespaces.iter().map(String::as_str)
    }

    /// Asks for the removal of everything of the test; does not wait for it.
    pub(crate) async fn clean_up(&self) -> Result<()> {
        // They are not the test's to delete.
        let (nodes, slots) = (self.everywhere::<Node>(), json!({SLOT: null}));
        for node in &self.taken {
            nodes.patch(node, json!({"metadata": {"labels": {TEST: null}}})).await?;
            nodes.patch_status(node, json!({"capacity": slots, "allocatable": slots})).await?;
        }
        let namespaces = self.everywhere::<Namespace>();
        for name in &self.namespaces {
            // Some tests delete one themselves.
            if namespaces.get(name).await?.is_some() {
                namespaces.delete(name).await?;
            }
        }
        let mut kinds = our_kinds(&self.client, false).await;
        kinds.extend([ApiResource::erase::<Node>(&()), ApiResource::erase::<ValidatingWebhookConfiguration>(&())]);
        let ours = ListParams::default().labels(&format!("{TEST}={}", self.id));
        for kind in kinds {
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
            let step = format!("deleting the test's {}", kind.plural);
            api.delete_collection(&DeleteParams::default(), &ours).await.during(step)?;
        }
        Ok(())
    }

    /// Waits until nothing of it is left in namespaces of its own.
    pub(crate) async fn wait_clean(&self) -> Result<()> {
        let namespaces = self.everywhere::<Namespace>().within(GONE_WITHIN);
        for name in &self.namespaces {
            namespaces.wait_gone(name).await?;
        }
        Ok(())
    }

    /// A namespace in which pods can be created: its ServiceAccount is there where one is asked for.
    async fn make_namespace(&mut self, name: &str, patch: Value) -> Result<()> {
        let mut object = json!({"metadata": {"name": name, "labels": {TEST: self.id}}});
        merge(&mut object, patch);
        self.everywhere::<Namespace>().create(object).await?;
        self.namespaces.insert(name.to_owned());
        if self.cluster.plane.as_ref().is_some_and(|plane| !plane.makes_accounts()) {
            return Ok(());
        }
        Objects::<ServiceAccount>::of(&self.client, name).wait("default", "is made", |_| true).await.map(drop)
    }
}

/// Phase of a pod, empty if it has none.
pub(crate) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// Node of a pod, empty if it has none.
pub(crate) fn node(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default()
}

/// JSON merge patch (RFC 7396).
pub(crate) fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().map(|target| target.remove(&key));
        } else {
            merge(&mut target[key], value);
        }
    }
}

/// The words of a test's name as part of objects' names, with something that differs from run to run.
fn identify(test: &str) -> String {
    let letters = test.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let letters: String = letters.collect();
    let words: Vec<&str> = letters.split('-').filter(|word| !word.is_empty()).collect();
    let mut name = words.join("-");
    name.truncate(30);
    let nanos =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
    format!("{}-{:04x}", name.trim_end_matches('-'), ((nanos / 100) ^ std::process::id()) & 0xffff)
}
