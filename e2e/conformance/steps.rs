//! What a sequence asks for, drawn by chance: requests of the scheduler, and what others do between them.

use std::collections::BTreeMap;

use gangline::api::names::{BINDING, GROUP, VERSION};
use gangline::api::queue::QueueStatus;
use gangline::api::task_group::{Counts, TaskGroupStatus};
use gangline::core::base::ids::Key;
use gangline::core::codes::Code;
use gangline::shim::dialect::pod_group::System;
use gangline::shim::op::{Kind, Op};
use gangline::sim::api::condition;
use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::view::Lives;
use crate::support::error::{Error, Result};

/// Requests of a sequence.
pub(super) const LENGTH: usize = 24;
/// What keeps an object.
const FINALIZER: &str = "e2e.gangline.dev/keep";
/// Label of pods that admission does something about.
pub(super) const ADMISSION: &str = "e2e.gangline.dev/admission";

/// Something that happens to one of two objects of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) kind: Kind,
    pub(super) second: bool,
    pub(super) deed: Deed,
}

/// What happens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deed {
    /// It is made: a pod by the scheduler, others by people.
    Create(Form),
    Bind(Whose),
    Delete(Whose),
    Get,
    Condition(Whose, bool),
    /// It fails if it is still in its latest version, or in the one before.
    Fail {
        whose: Whose,
        is_latest: bool,
    },
    Status(Whose, u32),
    /// An event about it, or into a namespace that does not exist.
    Event {
        nowhere: bool,
    },
    /// Somebody writes another number into its spec; 0 is none that a TaskGroup or a Queue may have.
    Edit(u32),
    /// Somebody labels it.
    Label(u32),
    /// Somebody deletes it.
    Drop,
    /// Its node ends it.
    End,
    /// It is said to have ended by itself.
    Finish(bool),
    /// Whoever held it lets it go.
    LetGo,
    /// Whoever held a pod back lifts its gates.
    Ungate,
    /// A pod's first container asks for another amount, in place: less than a limit, as much, or more.
    Resize(u32),
}

/// Whose UID a request names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose {
    /// That of the object that is there, or was last.
    Own,
    /// Another one's.
    Other,
}

/// What a new object is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    gated: bool,
    held: bool,
    /// Its container has a limit, and no request.
    limited: bool,
    /// Seconds, where it says.
    grace: Option<i64>,
    /// What admission is to do.
    admission: Option<&'static str>,
    /// Of a TaskGroup or a Queue: what its definition refuses.
    wrong: Option<Wrong>,
}

/// What the definition of an object refuses: a bound, a rule about an entry, about a field, and about the whole.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    Number,
    Amount,
    Resource,
    Relation,
}

impl Form {
    /// Nothing special.
    pub(super) const PLAIN: Self =
        Self { gated: false, held: false, limited: false, grace: None, admission: None, wrong: None };
}

/// Sequences that are the same in each run.
pub(super) fn fixed(count: usize) -> Result<Vec<Vec<Step>>> {
    drawn([7; 32], count)
}

/// The sequence of a number.
pub(super) fn of_seed(seed: u64) -> Result<Vec<Step>> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    drawn(bytes, 1).map(|all| all.into_iter().flatten().collect())
}

fn drawn(seed: [u8; 32], count: usize) -> Result<Vec<Vec<Step>>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let one = prop::collection::vec(step(), LENGTH);
    let draw =
        |_| one.new_tree(&mut runner).map(|tree| tree.current()).map_err(|problem| Error::new(problem.to_string()));
    (0..count).map(draw).collect()
}

fn step() -> impl Strategy<Value = Step> {
    let of = |kind| (Just(kind), prop::bool::weighted(0.25));
    prop_oneof![
        18 => (of(Kind::Pod), pod_deed()),
        8 => (of(Kind::TaskGroup), deed(true)),
        6 => (of(Kind::Queue), deed(true)),
        2 => (of(Kind::Node), deed(false)),
        1 => (of(Kind::ResourceQuota), deed(false)),
    ]
    .prop_map(|((kind, second), deed)| Step { kind, second, deed })
}

fn whose() -> impl Strategy<Value = Whose> {
    prop_oneof![4 => Just(Whose::Own), 1 => Just(Whose::Other)]
}

fn pod_deed() -> impl Strategy<Value = Deed> {
    let grace = prop_oneof![4 => Just(None), 1 => Just(Some(0)), 1 => Just(Some(7))];
    let admission = prop_oneof![8 => Just(None), 1 => Just(Some("deny")), 1 => Just(Some("sidecar"))];
    let form = (prop::bool::weighted(0.25), prop::bool::weighted(0.2), prop::bool::weighted(0.2), grace, admission);
    let form = form.prop_map(|(gated, held, limited, grace, admission)| {
        let wrong = None;
        Form { gated, held, limited, grace, admission, wrong }
    });
    prop_oneof![
        8 => form.prop_map(Deed::Create),
        8 => whose().prop_map(Deed::Bind),
        6 => whose().prop_map(Deed::Delete),
        2 => Just(Deed::Get),
        4 => (whose(), any::<bool>()).prop_map(|(whose, is)| Deed::Condition(whose, is)),
        3 => (whose(), prop::bool::weighted(0.7)).prop_map(|(whose, is_latest)| Deed::Fail { whose, is_latest }),
        1 => any::<bool>().prop_map(|nowhere| Deed::Event { nowhere }),
        1 => (0_u32..2).prop_map(Deed::Label),
        2 => Just(Deed::Drop),
        4 => Just(Deed::End),
        4 => any::<bool>().prop_map(Deed::Finish),
        2 => Just(Deed::LetGo),
        4 => Just(Deed::Ungate),
        3 => (0_u32..4).prop_map(Deed::Resize),
    ]
}

/// Of kinds that are not pods.
fn deed(with_status: bool) -> impl Strategy<Value = Deed> {
    let wrong = prop::sample::select(vec![Wrong::Number, Wrong::Amount, Wrong::Resource, Wrong::Relation]);
    let wrong = prop_oneof![6 => Just(None), 1 => wrong.prop_map(Some)];
    let form = (prop::bool::weighted(0.3), wrong).prop_map(|(held, wrong)| Form { held, wrong, ..Form::PLAIN });
    prop_oneof![
        4 => form.prop_map(Deed::Create),
        if with_status { 6 } else { 0 } => (whose(), 0_u32..3).prop_map(|(whose, number)| Deed::Status(whose, number)),
        3 => (0_u32..3).prop_map(Deed::Edit),
        1 => (0_u32..2).prop_map(Deed::Label),
        3 => Just(Deed::Drop),
        2 => Just(Deed::LetGo),
    ]
}

/// What the scheduler would send for a step; `None` for what others do.
pub(super) fn op(key: &Key, lives: &Lives, step: Step) -> Option<Op> {
    let (object, uid) = (key.clone(), |whose| lives.uid(step.kind, key, whose));
    match step.deed {
        Deed::Create(form) if step.kind == Kind::Pod => Some(Op::CreatePod(Box::new(pod(key, form)))),
        Deed::Bind(whose) => {
            let annotations = BTreeMap::from([(BINDING.to_owned(), "queue=root.q".to_owned())]);
            Some(Op::Bind { pod: object, uid: uid(whose), node: "nowhere".into(), annotations })
        }
        Deed::Delete(whose) => Some(Op::DeletePod { pod: object, uid: uid(whose) }),
        Deed::Get => Some(Op::GetPod { pod: object }),
        Deed::Condition(whose, is) => {
            let condition = condition("PodScheduled", if is { "True" } else { "False" });
            let condition = Box::new(PodCondition { reason: Some("Why".to_owned()), ..condition });
            Some(Op::PatchPodCondition { pod: object, uid: uid(whose), condition })
        }
        Deed::Fail { whose, is_latest } => Some(Op::FailPod {
            pod: object,
            uid: uid(whose),
            resource_version: lives.version(step.kind, key, is_latest),
            reason: Code::ReservationLost,
            message: "why".into(),
        }),
        Deed::Status(whose, number) if step.kind == Kind::TaskGroup => {
            let status = Box::new(group_status(number));
            Some(Op::PatchTaskGroupStatus { group: object, uid: uid(whose), status })
        }
        Deed::Status(whose, number) => {
            let status = Box::new(queue_status(number));
            Some(Op::PatchQueueStatus { queue: object.name, uid: uid(whose), status })
        }
        Deed::Event { nowhere } => Some(Op::CreateEvent(Box::new(event(key, nowhere)))),
        Deed::Create(_)
        | Deed::Edit(_)
        | Deed::Label(_)
        | Deed::Drop
        | Deed::End
        | Deed::Finish(_)
        | Deed::LetGo
        | Deed::Ungate
        | Deed::Resize(_) => None,
    }
}

fn pod(key: &Key, form: Form) -> Pod {
    serde_json::from_value(object(Kind::Pod, key, form)).expect("a pod")
}

/// A new object as people write it.
pub(super) fn object(kind: Kind, key: &Key, form: Form) -> Value {
    let mut metadata = json!({"name": &*key.name});
    if form.held {
        metadata["finalizers"] = json!([FINALIZER]);
    }
    if !key.namespace.is_empty() {
        metadata["namespace"] = json!(&*key.namespace);
    }
    form.admission.iter().for_each(|word| metadata["labels"] = json!({ADMISSION: word}));
    let (version, name) = match kind {
        Kind::Pod => ("v1".to_owned(), "Pod"),
        Kind::Node => ("v1".to_owned(), "Node"),
        Kind::ResourceQuota => ("v1".to_owned(), "ResourceQuota"),
        Kind::Namespace => ("v1".to_owned(), "Namespace"),
        Kind::TaskGroup => (format!("{GROUP}/{VERSION}"), "TaskGroup"),
        Kind::Queue => (format!("{GROUP}/{VERSION}"), "Queue"),
        Kind::KoordinatorPodGroup => (System::Koordinator.api_version(), "PodGroup"),
        Kind::CoschedulingPodGroup => (System::Coscheduling.api_version(), "PodGroup"),
        Kind::VolcanoPodGroup => (System::Volcano.api_version(), "PodGroup"),
        Kind::KubernetesPodGroup => (System::Kubernetes.api_version(), "PodGroup"),
    };
    let mut object = json!({"apiVersion": version, "kind": name, "metadata": metadata, "spec": spec(kind, form)});
    match kind {
        Kind::Node => object["status"] = json!({"allocatable": {"cpu": "4", "pods": "110"}}),
        // The server does not listen to what people say here.
        Kind::TaskGroup => object["status"] = json!({"applicationState": "Running"}),
        Kind::Queue => object["status"] = json!({"observedGeneration": 7}),
        Kind::Pod => object["status"] = json!({"phase": "Running"}),
        Kind::ResourceQuota
        | Kind::Namespace
        | Kind::KoordinatorPodGroup
        | Kind::CoschedulingPodGroup
        | Kind::VolcanoPodGroup
        | Kind::KubernetesPodGroup => {}
    }
    object
}

fn spec(kind: Kind, form: Form) -> Value {
    match kind {
        Kind::Pod => {
            let mut spec = json!({"schedulerName": "nobody", "containers": [{"name": "main", "image": "i"}]});
            if form.gated {
                spec["schedulingGates"] = json!([{"name": "e2e.gangline.dev/gate"}]);
            }
            if form.limited {
                spec["containers"][0]["resources"] = json!({"limits": {"cpu": "200m"}});
            }
            form.grace.iter().for_each(|grace| spec["terminationGracePeriodSeconds"] = json!(grace));
            spec
        }
        Kind::Node => json!({}),
        Kind::TaskGroup => match form.wrong {
            None => json!({"minMember": 1, "minResource": {"cpu": "1"}}),
            Some(Wrong::Number) => json!({"minMember": 0, "minResource": {"cpu": "1"}}),
            Some(Wrong::Amount) => json!({"minMember": 1, "minResource": {"cpu": "0"}}),
            Some(Wrong::Resource) => json!({"minMember": 1, "minResource": {"mem": "1"}}),
            Some(Wrong::Relation) => {
                json!({"minMember": 1, "minResource": {"cpu": "1"}, "gangGroup": ["a/other"]})
            }
        },
        Kind::Queue => match form.wrong {
            None => json!({"parent": "root", "max": {"cpu": "10"}}),
            Some(Wrong::Number) => json!({"parent": "", "max": {"cpu": "10"}}),
            Some(Wrong::Amount) => json!({"parent": "root", "max": {"cpu": "-1"}}),
            Some(Wrong::Resource) => json!({"parent": "root", "max": {"mem": "1"}}),
            Some(Wrong::Relation) => json!({"parent": "root.other", "max": {"cpu": "10"}}),
        },
        Kind::ResourceQuota => json!({"hard": {"services": "1"}}),
        Kind::Namespace => json!({}),
        Kind::KoordinatorPodGroup | Kind::CoschedulingPodGroup | Kind::VolcanoPodGroup => json!({"minMember": 1}),
        Kind::KubernetesPodGroup => json!({"schedulingPolicy": {"gang": {"minCount": 1}}}),
    }
}

/// A merge patch for what somebody does to an object, if it is one.
pub(super) fn patch(step: Step) -> Option<Value> {
    match step.deed {
        Deed::Label(number) => Some(json!({"metadata": {"labels": {"number": number.to_string()}}})),
        Deed::Edit(number) => Some(match step.kind {
            Kind::TaskGroup => json!({"spec": {"minMember": number, "completionTimeoutSeconds": 60}}),
            Kind::Queue if number == 0 => json!({"spec": {"max": {"cpu": "-1"}}}),
            Kind::Queue => json!({"spec": {"maxApplications": number}}),
            Kind::Node => json!({"spec": {"unschedulable": (number == 1).then_some(true)}}),
            Kind::ResourceQuota => json!({"spec": {"hard": {"services": number.to_string()}}}),
            // Of a pod's spec nearly nothing can be changed.
            Kind::Pod
            | Kind::Namespace
            | Kind::KoordinatorPodGroup
            | Kind::CoschedulingPodGroup
            | Kind::VolcanoPodGroup
            | Kind::KubernetesPodGroup => json!({}),
        }),
        Deed::LetGo => Some(json!({"metadata": {"finalizers": null}})),
        Deed::Ungate => Some(json!({"spec": {"schedulingGates": null}})),
        Deed::Resize(number) => {
            let resources = json!({"requests": {"cpu": cpu(number)}});
            Some(json!({"spec": {"containers": [{"name": "main", "resources": resources}]}}))
        }
        Deed::Create(_)
        | Deed::Bind(_)
        | Deed::Delete(_)
        | Deed::Get
        | Deed::Condition(..)
        | Deed::Fail { .. }
        | Deed::Status(..)
        | Deed::Event { .. }
        | Deed::Drop
        | Deed::End
        | Deed::Finish(_) => None,
    }
}

/// What a pod asks for when it is resized.
pub(super) const fn cpu(number: u32) -> &'static str {
    match number {
        0 => "0",
        1 => "100m",
        2 => "200m",
        _ => "300m",
    }
}

/// How a pod ends.
pub(super) const fn phase(well: bool) -> &'static str {
    if well { "Succeeded" } else { "Failed" }
}

/// The spec of an application that lives cannot be edited.
fn group_status(number: u32) -> TaskGroupStatus {
    TaskGroupStatus {
        observed_generation: i64::from(number),
        application_state: if number == 2 { "Running" } else { "Rejected" }.to_owned(),
        message: "\"quoted\"\n\u{1b}[31m ü".to_owned(),
        counts: Counts { required: number, ..Counts::default() },
        placeholder_ask: BTreeMap::from([("cpu".to_owned(), Quantity(format!("{number}500m")))]),
        conditions: conditions(),
        ..TaskGroupStatus::default()
    }
}

fn queue_status(number: u32) -> QueueStatus {
    QueueStatus {
        allocated: BTreeMap::from([("cpu".to_owned(), Quantity(number.to_string()))]),
        applications: BTreeMap::from([("Running".to_owned(), number)]),
        conditions: conditions(),
        ..QueueStatus::default()
    }
}

fn conditions() -> Vec<Condition> {
    vec![Condition {
        type_: "Active".to_owned(),
        status: "True".to_owned(),
        reason: "Why".to_owned(),
        message: String::new(),
        last_transition_time: Time(jiff::Timestamp::UNIX_EPOCH),
        observed_generation: None,
    }]
}

fn event(key: &Key, nowhere: bool) -> k8s_openapi::api::events::v1::Event {
    let namespace = if nowhere { format!("{}-nowhere", key.namespace) } else { key.namespace.to_string() };
    let regarding = json!({"apiVersion": "v1", "kind": "Pod", "name": &*key.name, "namespace": namespace});
    let event = json!({
        "metadata": {"name": "about", "namespace": namespace},
        "regarding": regarding, "type": "Normal", "reason": "Why", "action": "Waiting", "note": "why",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "gangline.dev/scheduler", "reportingInstance": "e2e",
    });
    serde_json::from_value(event).expect("an event")
}
