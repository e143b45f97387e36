//! Reads a Pod: what it needs, what it belongs to and where it stands.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ContainerState, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::dialect::{self, Dialect, Spoken, koordinator};
use super::escape::bounded;
use super::{constraints, foreign, mark, placeholder, requests, submitter, syntax};
use crate::api::names;
use crate::core::base::ids::{Key, Text, Uid};
use crate::core::event::{AskSpec, Declares, Mark, Place, Role, Submitter};
use crate::core::reason::{Objection, Unsupported};
use crate::core::shape::Shape;

/// Longest UID that is believed; the API server's have 36 characters.
const MAX_UID: usize = 128;
/// Longest `status.reason` that is kept: kubelets have single words there.
const REASON_MAX: usize = 64;

/// Which pods are ours, and which of them are no gang's: those with another `spec.schedulerName` are not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    names: Vec<Text>,
    /// A pod with a marker of another system's gang is an ordinary pod.
    ignores_foreign_markers: bool,
    /// Other systems whose words are understood.
    dialects: BTreeSet<Dialect>,
    /// Seconds that a gang waits whose system has a default for that, and whose pods do not say it.
    wait_timeout_seconds: u32,
    /// What objects say of who submitted them is believed.
    knows_submitters: bool,
}

impl Served {
    /// Pods with these scheduler names. Those that another system's marker makes a gang's are not placed.
    pub fn new(names: impl IntoIterator<Item = impl Into<Text>>) -> Self {
        let mut names: Vec<Text> = names.into_iter().map(Into::into).collect();
        names.sort_unstable();
        Self {
            names,
            ignores_foreign_markers: false,
            dialects: BTreeSet::new(),
            wait_timeout_seconds: dialect::WAIT_TIMEOUT_SECONDS,
            knows_submitters: false,
        }
    }

    /// The same, where such a marker makes no difference if it `is` to be ignored.
    pub fn ignoring_foreign_markers(self, is: bool) -> Self {
        Self { ignores_foreign_markers: is, ..self }
    }

    /// The same, where the words of these systems are understood.
    pub fn speaking(self, dialects: impl IntoIterator<Item = Dialect>) -> Self {
        Self { dialects: dialects.into_iter().collect(), ..self }
    }

    /// The same, where gangs wait for so many seconds if their pods do not say how long, in words that have a default for that.
    pub fn waiting_for(self, wait_timeout_seconds: u32) -> Self {
        Self { wait_timeout_seconds, ..self }
    }

    /// The same, where admission writes who submitted an object if it `does`, and nobody else can.
    pub fn knowing_submitters(self, does: bool) -> Self {
        Self { knows_submitters: does, ..self }
    }

    /// Whether what objects say of who submitted them is believed.
    pub const fn knows_submitters(&self) -> bool {
        self.knows_submitters
    }

    /// Whether the words of a system are understood.
    pub fn speaks(&self, dialect: Dialect) -> bool {
        self.dialects.contains(&dialect)
    }

    /// What a pod of ours says in the words of another system ([`in_other_words`]).
    pub fn spoken(&self, pod: &Pod) -> Option<Spoken> {
        if self.owns(pod) {
            in_other_words(pod, self.dialects.iter().copied(), self.wait_timeout_seconds)
        } else {
            None
        }
    }

    /// Whose words of a gang a pod says though it is not ours, so that nothing comes of them; for people.
    pub fn unheard(&self, pod: &Pod) -> Option<&'static str> {
        let says = || in_other_words(pod, self.dialects.iter().copied(), self.wait_timeout_seconds);
        if self.owns(pod) { None } else { says().filter(Spoken::names_gang).map(|spoken| spoken.system) }
    }

    /// Whether a pod is ours.
    pub fn owns(&self, pod: &Pod) -> bool {
        // The API server sets the name of the default scheduler where there is none.
        let name = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()).unwrap_or("default-scheduler");
        self.names.binary_search_by(|served| (**served).cmp(name)).is_ok()
    }
}

impl Default for Served {
    fn default() -> Self {
        Self::new([names::SCHEDULER])
    }
}

/// A pod in the core's words. `spoken` is what it says in another system's ([`Served::spoken`]).
pub fn ask_spec(pod: &Pod, served: &Served, spoken: Option<&Spoken>) -> AskSpec {
    let (shape, supported) = shape(pod);
    let mark = binding(pod);
    let role = role(pod, served, mark.as_ref(), spoken);
    let place = place(pod, &role, served, supported, spoken);
    let mark = mark.filter(|_| role != Role::Foreign);
    let terminating = pod.metadata.deletion_timestamp.is_some();
    let has_ended = matches!(place, Place::Succeeded | Place::Failed { .. });
    let held_up = held_up(pod).filter(|_| role != Role::Foreign && matches!(place, Place::On { running: false, .. }));
    AskSpec {
        held_up,
        key: key(&pod.metadata),
        created: created(&pod.metadata),
        priority: pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0),
        shape: Arc::new(shape),
        queue: queue(pod, &role, mark.as_ref().filter(|_| !has_ended), spoken),
        submitter: submitter(pod, &role, served),
        application: spoken
            .filter(|_| mark.is_none() && is_member(&role))
            .and_then(|spoken| spoken.application.clone()),
        role,
        declares: declares(&place, spoken.filter(|_| !terminating)),
        declared_by: spoken
            .filter(|_| place == Place::Pending)
            .and_then(|spoken| Some(spoken.refers.as_ref()?.words())),
        controller: controller(&pod.metadata),
        place,
        mark,
        terminating,
    }
}

fn submitter(pod: &Pod, role: &Role, served: &Served) -> Option<Arc<Submitter>> {
    let is_asked = served.knows_submitters && *role != Role::Foreign;
    if is_asked { submitter::read(pod.metadata.annotations.as_ref()) } else { None }
}

const fn is_member(role: &Role) -> bool {
    matches!(role, Role::Member { .. })
}

/// The task groups that a pod declares while it waits for a node or has one. A gang whose pods are gated, or cannot be placed,
/// is not to hold seats, and of one that has ended there is nothing to say.
fn declares(place: &Place, spoken: Option<&Spoken>) -> Option<Box<Declares>> {
    let is_there = matches!(place, Place::Pending | Place::On { .. });
    let spoken = spoken.filter(|spoken| is_there && spoken.is_declaration())?;
    let groups = spoken.declares.iter().map(|declared| declared.name.clone()).collect();
    Some(Box::new(Declares { application: spoken.application.clone()?, groups }))
}

/// Everything about a pod that decides which nodes it fits, and the first demand that we do not honour.
pub fn shape(pod: &Pod) -> (Shape, Result<(), Unsupported>) {
    let mut shape = Shape { request: requests::of_pod(pod), ..Shape::default() };
    let supported = pod.spec.as_ref().map_or(Ok(()), |spec| constraints::fill(&mut shape, spec));
    (shape, supported)
}

/// Namespace and name of an object.
pub fn key(metadata: &ObjectMeta) -> Key {
    Key::new(metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

/// Seconds since the epoch of `metadata.creationTimestamp`; 0 if there is none.
pub fn created(metadata: &ObjectMeta) -> i64 {
    metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second())
}

/// The owner that makes others in place of a pod that ends.
fn controller(metadata: &ObjectMeta) -> Option<Uid> {
    let mut owners = metadata.owner_references.iter().flatten();
    let controller = owners.find(|owner| owner.controller == Some(true) && owner.uid.len() <= MAX_UID)?;
    Some(Uid::new(controller.uid.as_str()))
}

/// A label of a pod.
pub fn label<'a>(pod: &'a Pod, name: &str) -> Option<&'a str> {
    pod.metadata.labels.as_ref()?.get(name).map(String::as_str)
}

/// What a pod says in the words of one of these systems, unless it says in ours what it belongs to. (What our Binding says
/// counts before either.) For `wait_timeout_seconds` see [`dialect::read`].
pub fn in_other_words(
    pod: &Pod,
    dialects: impl IntoIterator<Item = Dialect>,
    wait_timeout_seconds: u32,
) -> Option<Spoken> {
    let in_ours = [names::TASK_GROUP, names::APPLICATION, names::PLACEHOLDER].map(|name| label(pod, name).is_some());
    if in_ours.contains(&true) {
        return None;
    }
    dialect::read(pod, dialects, wait_timeout_seconds)
}

fn annotation<'a>(pod: &'a Pod, name: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

fn role(pod: &Pod, served: &Served, mark: Option<&Mark>, spoken: Option<&Spoken>) -> Role {
    if !served.owns(pod) {
        return Role::Foreign;
    }
    if let Some(name) = placeholder::recognise(pod, served) {
        return Role::Placeholder(name);
    }
    match belongs_to(pod, mark, spoken) {
        (Some(group), _) => Role::Member { group },
        (None, Some(application)) => Role::Originator { application },
        (None, None) => Role::Singleton,
    }
}

/// Task group and application of a pod that is no placeholder: by our Binding, since labels can change later, else by
/// its labels. A pod that was bound as a placeholder and whose labels do not make it one any more belongs to nothing.
pub fn belongs_to(pod: &Pod, mark: Option<&Mark>, spoken: Option<&Spoken>) -> (Option<Text>, Option<Text>) {
    let labelled = |name: &str| label(pod, name).map(Text::from);
    match (mark, spoken) {
        (Some(mark), _) => (mark.task_group.clone(), mark.application.clone()),
        (None, Some(spoken)) => (spoken.group.clone(), spoken.application.clone()),
        (None, None) => (labelled(names::TASK_GROUP), labelled(names::APPLICATION)),
    }
}

fn place(
    pod: &Pod,
    role: &Role,
    served: &Served,
    supported: Result<(), Unsupported>,
    spoken: Option<&Spoken>,
) -> Place {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
    if phase == "Succeeded" {
        return Place::Succeeded;
    }
    if phase == "Failed" {
        let reason =
            pod.status.as_ref().and_then(|status| status.reason.as_deref()).filter(|reason| !reason.is_empty());
        let reason = reason.map_or_else(|| containers_failed(pod), |reason| bounded(reason, REASON_MAX));
        return Place::Failed { reason, refused: containers(pod).next().is_none() };
    }
    let spec = pod.spec.as_ref();
    if let Some(node) = spec.and_then(|spec| spec.node_name.as_deref()).filter(|node| !node.is_empty()) {
        return Place::On { node: node.into(), running: phase == "Running" };
    }
    if spec.is_some_and(is_gated) {
        return Place::Gated;
    }
    let objection = objection(pod, role, served, supported, spoken);
    objection.map_or(Place::Pending, |objection| Place::Refused(Box::new(objection)))
}

/// Why a pod that waits for a node is not to get one. Its own labels come first, since they say what it belongs to: one
/// that belongs to a gang or an application of ours does so whatever else is on it.
fn objection(
    pod: &Pod,
    role: &Role,
    served: &Served,
    supported: Result<(), Unsupported>,
    spoken: Option<&Spoken>,
) -> Option<Objection> {
    let foreign = || foreign::marker(pod, role, spoken).filter(|_| !served.ignores_foreign_markers);
    if let Some(unsupported) = labels_problem(pod, role) {
        return Some(Objection::Unsupported(unsupported));
    }
    if let Some(Spoken { system, problems, .. }) = spoken.filter(|spoken| !spoken.problems.is_empty()) {
        return Some(Objection::Misdeclared { system, problems: problems.clone() });
    }
    if spoken.is_some_and(Spoken::has_timed_out) {
        return Some(Objection::GivenUp(koordinator::TIMEOUT));
    }
    if let Some(marker) = foreign() {
        return Some(Objection::OtherDialect(marker));
    }
    // Which constraints another scheduler honours does not concern us.
    supported.err().filter(|_| *role != Role::Foreign).map(Objection::Unsupported)
}

/// The states of a pod's containers, those first that run before the others.
fn containers(pod: &Pod) -> impl Iterator<Item = &ContainerState> {
    let status = pod.status.as_ref();
    let before = status.and_then(|status| status.init_container_statuses.as_ref());
    let all = before.into_iter().chain(status.and_then(|status| status.container_statuses.as_ref()));
    all.flatten().filter_map(|container| container.state.as_ref())
}

/// How the first container ended that failed: `OOMKilled`, or `exit code 1`.
fn containers_failed(pod: &Pod) -> Text {
    let mut failed = containers(pod).filter_map(|state| state.terminated.as_ref()).filter(|ended| ended.exit_code != 0);
    failed.next().map_or_else(Text::default, |ended| match ended.reason.as_deref() {
        // The kubelet says no more than that of a container that ended by itself.
        None | Some("" | "Error") => format!("exit code {}", ended.exit_code).into(),
        Some(reason) => bounded(reason, REASON_MAX),
    })
}

/// Why the first container waits that does.
fn held_up(pod: &Pod) -> Option<Text> {
    let mut waits = containers(pod).filter_map(|state| state.waiting.as_ref()?.reason.as_deref());
    waits.find(|reason| !reason.is_empty() && *reason != "PodInitializing").map(|reason| bounded(reason, REASON_MAX))
}

fn is_gated(spec: &PodSpec) -> bool {
    spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty())
}

/// Our labels that a pod may have. Some mean something on placeholders only, and are on other pods when somebody copied
/// a placeholder.
const LABELS: [&str; 7] = [
    names::TASK_GROUP,
    names::APPLICATION,
    names::QUEUE,
    names::PLACEHOLDER,
    names::SEAT,
    names::INCARNATION,
    names::ATTEMPT,
];

/// A placeholder's label on a pod that is no placeholder of ours, an empty name, or a label of our own that we do not
/// know: a member whose label is misspelt would start alone.
fn labels_problem(pod: &Pod, role: &Role) -> Option<Unsupported> {
    let unknown = pod.metadata.labels.iter().flatten().map(|(key, _)| &**key);
    let unknown = || unknown.clone().find(|key| key.starts_with(names::PREFIX) && !LABELS.contains(key));
    let name = match role {
        Role::Foreign | Role::Placeholder(_) => return None,
        Role::Singleton | Role::Originator { .. } | Role::Member { .. } if label(pod, names::PLACEHOLDER).is_some() => {
            names::PLACEHOLDER
        }
        Role::Member { group } if group.is_empty() => names::TASK_GROUP,
        Role::Originator { application } if application.is_empty() => names::APPLICATION,
        Role::Singleton | Role::Originator { .. } | Role::Member { .. } => unknown()?,
    };
    Some(Unsupported { field: format!("metadata.labels[{name}]").into() })
}

/// What our Binding wrote. Only on a pod with a node, since it is written together with the node (a finished pod keeps
/// it: its gang did start); a malformed mark counts as none.
pub fn binding(pod: &Pod) -> Option<Mark> {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
    if node.is_empty() { None } else { annotation(pod, names::BINDING).and_then(mark::read) }
}

/// `UID.counter`, with a counter from 1.
pub fn parse_incarnation(text: &str) -> Option<(Uid, u32)> {
    let (uid, counter) = text.rsplit_once('.')?;
    let counter = counter.parse().ok().filter(|counter| *counter > 0)?;
    (!uid.is_empty() && uid.len() <= MAX_UID && syntax::is_label_value(text)).then(|| (Uid::new(uid), counter))
}

/// Inverse of [`parse_incarnation`].
pub fn incarnation(uid: &Uid, counter: u32) -> String {
    format!("{uid}.{counter}")
}

/// The queue in which a pod was bound, until it has ended; else the one that it names itself. A member's queue is its TaskGroup's,
/// whatever its labels say; in another system's words it may turn out to be an ordinary pod.
fn queue(pod: &Pod, role: &Role, mark: Option<&Mark>, spoken: Option<&Spoken>) -> Option<Text> {
    let labelled = match role {
        Role::Foreign | Role::Member { .. } => None,
        Role::Singleton | Role::Originator { .. } | Role::Placeholder(_) => label(pod, names::QUEUE).map(Text::from),
    };
    let labelled = labelled.or_else(|| spoken.and_then(|spoken| spoken.queue.clone()));
    mark.map(|mark| mark.queue.clone()).or(labelled)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::core::event::PlaceholderName;

    fn read(pod: &Value) -> AskSpec {
        ask_spec(&serde_json::from_value(pod.clone()).unwrap(), &Served::default(), None)
    }

    fn ours(labels: &Value) -> Value {
        json!({
            "metadata": {"namespace": "data", "name": "p", "labels": labels, "creationTimestamp": "1970-01-01T00:01:00Z"},
            "spec": {"schedulerName": "gangline", "containers": [{"name": "a"}], "priority": 7},
        })
    }

    fn with(mut pod: Value, path: &str, value: Value) -> Value {
        let (parent, field) = path.rsplit_once('/').unwrap();
        if pod.pointer(parent).is_none() {
            pod = with(pod, parent, json!({}));
        }
        pod.pointer_mut(parent).unwrap()[field] = value;
        pod
    }

    fn refused(field: &str) -> Place {
        Place::Refused(Box::new(Objection::Unsupported(Unsupported { field: field.into() })))
    }

    #[test]
    fn a_pod_belongs_to_what_its_labels_name() {
        let member = Role::Member { group: "executors".into() };
        let originator = Role::Originator { application: "spark".into() };
        for (labels, role) in [
            (json!({}), Role::Singleton),
            (json!({"gangline.dev/application-id": "spark"}), originator),
            (json!({"gangline.dev/application-id": "spark", "gangline.dev/task-group": "executors"}), member),
        ] {
            let ask = read(&ours(&labels));
            assert_eq!((&ask.role, &ask.place), (&role, &Place::Pending), "{labels}");
            let foreign = read(&with(ours(&labels), "/spec/schedulerName", json!("other")));
            assert_eq!((foreign.role, foreign.queue), (Role::Foreign, None));
        }
        let ask = read(&ours(&json!({"gangline.dev/queue": "root.a"})));
        assert_eq!((ask.key, ask.created, ask.priority), (Key::new("data", "p"), 60, 7));
        assert_eq!(ask.queue.as_deref(), Some("root.a"));
        assert_eq!(read(&ours(&json!({"gangline.dev/queue": "root.a", "gangline.dev/task-group": "g"}))).queue, None);
    }

    #[test]
    fn a_pod_stands_where_its_phase_node_and_gates_say() {
        let pod = ours(&json!({}));
        let claim = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
        let bound = with(pod.clone(), "/spec/nodeName", json!("n"));
        let failed = json!({"phase": "Failed", "reason": "OutOfcpu"});
        let on = |running| Place::On { node: "n".into(), running };
        for (pod, place) in [
            (pod.clone(), Place::Pending),
            (with(pod.clone(), "/spec/nodeName", json!("")), Place::Pending),
            (with(pod.clone(), "/spec/schedulingGates", json!([{"name": "g"}])), Place::Gated),
            (with(pod.clone(), "/spec/schedulingGates", json!([])), Place::Pending),
            (with(pod.clone(), "/spec/volumes", claim.clone()), refused("spec.volumes[v].persistentVolumeClaim")),
            (with(bound.clone(), "/spec/volumes", claim.clone()), on(false)),
            (with(bound.clone(), "/status/phase", json!("Running")), on(true)),
            (with(bound, "/status/phase", json!("Succeeded")), Place::Succeeded),
            (with(pod.clone(), "/status/phase", json!("Failed")), Place::Failed { reason: "".into(), refused: true }),
            (with(pod.clone(), "/status", failed), Place::Failed { reason: "OutOfcpu".into(), refused: true }),
            (
                with(pod.clone(), "/status", exited(137, "OOMKilled")),
                Place::Failed { reason: "OOMKilled".into(), refused: false },
            ),
            (
                with(pod.clone(), "/status", exited(3, "Error")),
                Place::Failed { reason: "exit code 3".into(), refused: false },
            ),
            (ours(&json!({"gangline.dev/task-group": ""})), refused("metadata.labels[gangline.dev/task-group]")),
            (
                ours(&json!({"gangline.dev/application-id": ""})),
                refused("metadata.labels[gangline.dev/application-id]"),
            ),
            (ours(&json!({"gangline.dev/placeholder": "true"})), refused("metadata.labels[gangline.dev/placeholder]")),
            (ours(&json!({"gangline.dev/taskgroup": "g"})), refused("metadata.labels[gangline.dev/taskgroup]")),
            (ours(&json!({"gangline.dev/task-group": "g", "other.dev/x": "y"})), Place::Pending),
        ] {
            assert_eq!(read(&pod).place, place, "{pod}");
        }
        let foreign = with(with(pod, "/spec/volumes", claim), "/spec/schedulerName", json!("other"));
        assert_eq!(read(&foreign).place, Place::Pending);
    }

    /// One container is done, the other failed.
    fn exited(code: i32, reason: &str) -> Value {
        let ended = |code: i32, reason: &str| {
            json!({"name": "a", "image": "", "imageID": "", "ready": false,
            "restartCount": 0, "state": {"terminated": {"exitCode": code, "reason": reason}}})
        };
        json!({"phase": "Failed", "containerStatuses": [ended(0, "Completed"), ended(code, reason)]})
    }

    #[test]
    fn what_holds_up_containers_is_read_of_a_pod_with_a_node() {
        let waiting = json!([{"name": "a", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": "ImagePullBackOff"}}}]);
        let pod = with(ours(&json!({})), "/status/containerStatuses", waiting);
        let bound = with(pod.clone(), "/spec/nodeName", json!("n"));
        let runs = with(bound.clone(), "/status/phase", json!("Running"));
        let of = |pod: &Value| read(pod).held_up;
        assert_eq!((of(&bound).as_deref(), of(&pod), of(&runs)), (Some("ImagePullBackOff"), None, None));
        assert_eq!(of(&with(bound, "/spec/schedulerName", json!("other"))), None);
    }

    /// 03, 3.4: "not run one by one", but what is ours comes first.
    #[test]
    fn a_pod_of_another_systems_gang_is_not_placed_alone_but_ours_is() {
        let marked =
            |labels: Value| with(ours(&labels), "/metadata/annotations", json!({"scheduling.k8s.io/group-name": "pg"}));
        let ignoring = |pod: &Value| {
            ask_spec(
                &serde_json::from_value(pod.clone()).unwrap(),
                &Served::default().ignoring_foreign_markers(true),
                None,
            )
        };
        let marker = |pod: &Value| {
            let Place::Refused(objection) = read(pod).place else { return None };
            if let Objection::OtherDialect(marker) = *objection { Some(marker) } else { None }
        };
        let is_foreign = |pod: &Value| marker(pod).is_some();
        let pod = marked(json!({}));
        let found = marker(&pod).unwrap_or_else(|| panic!("{:?}", read(&pod)));
        assert_eq!((found.system, &*found.marker), ("Volcano", "the annotation scheduling.k8s.io/group-name"));
        assert_eq!(ignoring(&pod).place, Place::Pending);
        for labels in [json!({"gangline.dev/task-group": "g"}), json!({"gangline.dev/application-id": "a"})] {
            assert_eq!(read(&marked(labels)).place, Place::Pending, "our label comes first");
        }
        let slip = marked(json!({"gangline.dev/taskgroup": "g"}));
        assert_eq!(read(&slip).place, refused("metadata.labels[gangline.dev/taskgroup]"), "and so does a slip in one");
        let claim = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
        let claiming = with(pod.clone(), "/spec/volumes", claim);
        assert!(is_foreign(&claiming), "what it belongs to comes before what it needs");
        assert_eq!(ignoring(&claiming).place, refused("spec.volumes[v].persistentVolumeClaim"));
        for (path, value) in [
            ("/spec/nodeName", json!("n")),
            ("/spec/schedulingGates", json!([{"name": "kueue.x-k8s.io/admission"}])),
            ("/spec/schedulerName", json!("other")),
            ("/status/phase", json!("Succeeded")),
        ] {
            assert!(!is_foreign(&with(pod.clone(), path, value)), "{path} comes first");
        }
        assert!(is_foreign(&with(ours(&json!({})), "/spec/schedulingGroup", json!({"podGroupName": "pg"}))));
    }

    #[test]
    fn a_placeholder_may_say_what_its_members_say() {
        let key = Key::new("data", "g");
        let name = PlaceholderName { group: key, uid: Uid::new("u"), incarnation: 1, seat: 0, attempt: 0 };
        let scheduler_name = names::SCHEDULER.into();
        let config = placeholder::PlaceholderConfig {
            scheduler_name,
            image: "i".into(),
            queue: "root.q".into(),
            submitter: None,
        };
        let mut pod = placeholder::pod(&name, &placeholder::Blueprint::default(), &config);
        let labels = pod.metadata.labels.get_or_insert_default();
        labels.insert("scheduling.x-k8s.io/pod-group".to_owned(), "pg".to_owned());
        let ask = ask_spec(&pod, &Served::default(), None);
        assert_eq!((ask.role, ask.place), (Role::Placeholder(name), Place::Pending));
    }

    #[test]
    fn a_pod_with_a_node_has_the_mark_of_its_binding() {
        let marked = |text: &str| {
            let pod = ours(&json!({"gangline.dev/queue": "root.b"}));
            let pod = with(pod, "/metadata/annotations", json!({"gangline.dev/binding": text}));
            with(pod, "/spec/nodeName", json!("n"))
        };
        let good = marked("queue=root.a task-group=g incarnation=6f1b.2 seat=3 started=true");
        let ask = read(&good);
        let mark = Mark {
            task_group: Some("g".into()),
            application: None,
            group: Some(Uid::new("6f1b")),
            incarnation: 2,
            seat: Some(3),
            started: true,
            queue: "root.a".into(),
        };
        assert_eq!((ask.mark, ask.queue.as_deref()), (Some(mark), Some("root.a")));
        let ask = read(&marked("queue=elsewhere"));
        assert_eq!((ask.mark, ask.queue.as_deref()), (None, Some("root.b")), "a malformed mark is none");
        let finished = with(good.clone(), "/status/phase", json!("Succeeded"));
        let finished = read(&finished);
        assert!(finished.mark.is_some_and(|mark| mark.started), "its gang did start");
        assert_eq!(finished.queue, None, "where it was says nothing any more of where others go");
        let unbound = with(good, "/spec/nodeName", json!(null));
        assert_eq!(read(&unbound).mark, None, "it is written together with the node");
    }

    #[test]
    fn what_a_pod_was_bound_as_it_is_whatever_its_labels_say_later() {
        let labels = json!({"gangline.dev/task-group": "other", "gangline.dev/application-id": "b"});
        let marked = |text: &str| {
            let pod = with(ours(&labels), "/metadata/annotations", json!({"gangline.dev/binding": text}));
            with(pod, "/spec/nodeName", json!("n"))
        };
        let member = |group: &str| Role::Member { group: group.into() };
        for (text, role) in [
            ("queue=root.a task-group=g incarnation=6f1b.2 seat=3", member("g")),
            ("queue=root.a application=a incarnation=6f1b.2", Role::Originator { application: "a".into() }),
            ("queue=root.a", Role::Singleton),
            ("queue=root.a incarnation=6f1b.2 seat=3", Role::Singleton),
            ("queue=nowhere", member("other")),
        ] {
            assert_eq!(read(&marked(text)).role, role, "{text}");
        }
        let waiting = with(marked("queue=root.a task-group=g"), "/spec/nodeName", json!(null));
        assert_eq!(read(&waiting).role, member("other"), "nobody bound it yet");
    }
}
