//! Markers by which other systems make pods a gang: the one table of them.
//!
//! A pod of ours with such a marker was to start together with others, under a system whose ways are not built in here.
//! Placed like any pod it would start alone, and hold what the rest of its gang needs: so it is not placed, and says what
//! to do (design 03, 3.4). What a marker says is not read: a value that makes no sense to its own system refuses the pod
//! all the same. An empty one declares nothing there, and counts as none.
//!
//! Not seen: `spec.workloadRef`, which pods have in Kubernetes 1.35 alone (alpha, off by default), and gangs that are
//! told from the kind of a pod's owner, such as an MPIJob under Volcano or KAI.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;

use super::dialect::Spoken;
use super::dialect::pod_group::System;
use super::escape::message;
use crate::core::event::Role;
use crate::core::reason::ForeignMarker;

/// Where a marker is on a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// A label.
    Label(&'static str),
    /// Every label whose key begins so.
    Labels(&'static str),
    /// An annotation.
    Annotation(&'static str),
    /// Every annotation whose key begins so.
    Annotations(&'static str),
    /// An owner of this kind, whatever its API group.
    Owner(&'static str),
    /// `spec.schedulingGroup`, from Kubernetes 1.36 on.
    SchedulingGroup,
}

/// One marker.
#[derive(Debug)]
struct Row {
    /// Whose it is.
    system: &'static str,
    at: At,
    /// What to make of the gang, as an order.
    remedy: &'static str,
}

const fn row(system: &'static str, at: At, remedy: &'static str) -> Row {
    Row { system, at, remedy }
}

const KUEUE: &str = "Kueue";
const OF_POD_GROUP: &str = "make a TaskGroup with the minMember of its PodGroup";
const OF_VOLCANO_JOB: &str = "make a TaskGroup with the minAvailable of its Job";
const OF_TASK_GROUPS: &str = "make a TaskGroup of each of its task groups";

/// All of them; of several on one pod the first is named. Not in it is what orders or limits pods without making them a
/// gang: YuniKorn's applications and queues, priorities, queues of Volcano, KAI and Kueue.
const MARKERS: [Row; 18] = [
    row("Kubernetes", At::SchedulingGroup, OF_POD_GROUP),
    row("Koordinator", At::Label("pod-group.scheduling.sigs.k8s.io"), OF_POD_GROUP),
    row(
        "Koordinator",
        At::Labels("pod-group.scheduling.sigs.k8s.io/"),
        "make a TaskGroup whose minMember is its min-available",
    ),
    row(
        "Koordinator",
        At::Annotations("gang.scheduling.koordinator.sh/"),
        "make a TaskGroup whose minMember is its min-available",
    ),
    row("scheduler-plugins", At::Label("scheduling.x-k8s.io/pod-group"), OF_POD_GROUP),
    row("Volcano", At::Annotation("scheduling.k8s.io/group-name"), OF_POD_GROUP),
    row("Volcano", At::Annotation("scheduling.volcano.sh/group-name"), OF_POD_GROUP),
    row(
        "Volcano",
        At::Annotation("scheduling.volcano.sh/group-min-member"),
        "make a TaskGroup whose minMember is its group-min-member",
    ),
    row("Volcano", At::Annotation("volcano.sh/job-name"), OF_VOLCANO_JOB),
    row("Volcano", At::Label("volcano.sh/job-name"), OF_VOLCANO_JOB),
    row("Volcano", At::Annotation("volcano.sh/task-spec"), OF_VOLCANO_JOB),
    row("Volcano", At::Label("volcano.sh/task-spec"), OF_VOLCANO_JOB),
    row("YuniKorn", At::Annotation("yunikorn.apache.org/task-group-name"), OF_TASK_GROUPS),
    row("YuniKorn", At::Annotation("yunikorn.apache.org/task-groups"), OF_TASK_GROUPS),
    row("KAI", At::Annotation("pod-group-name"), OF_POD_GROUP),
    row("KAI", At::Label("kai.scheduler/subgroup-name"), OF_POD_GROUP),
    // Kueue admits the group as one, and leaves it to the scheduler to find the nodes: one by one some would not.
    row(
        KUEUE,
        At::Label("kueue.x-k8s.io/pod-group-name"),
        "make a TaskGroup whose minMember is its pod-group-total-count",
    ),
    row("another scheduler", At::Owner("PodGroup"), OF_POD_GROUP),
];

/// What makes a pod a member of another system's gang, where that counts for one with this role, which says this in words that are
/// understood. Words that name no gang, such as the application that Spark writes on every pod, do not unmake the gang of another
/// system. Nor does a PodGroup of Kubernetes', whose controller of Jobs makes one for each Job.
pub(super) fn marker(pod: &Pod, role: &Role, spoken: Option<&Spoken>) -> Option<ForeignMarker> {
    let names_no_gang = || spoken.is_some_and(|spoken| !spoken.names_gang());
    let object = || spoken.and_then(|spoken| spoken.refers.as_deref());
    match role {
        Role::Singleton if spoken.is_none() => first(pod, |_| true),
        Role::Singleton | Role::Originator { .. } if names_no_gang() => first(pod, |_| true),
        Role::Member { .. } if object().is_some_and(|object| object.system == System::Kubernetes) => {
            first(pod, Row::is_beside_kubernetes)
        }
        Role::Singleton | Role::Originator { .. } | Role::Member { .. } | Role::Foreign | Role::Placeholder(_) => None,
    }
}

/// The first of these rows whose marker a pod has.
fn first(pod: &Pod, counts: impl Fn(&Row) -> bool) -> Option<ForeignMarker> {
    MARKERS.iter().filter(|row| counts(row)).find_map(|row| {
        let marker = message(&row.at.find(pod)?);
        Some(ForeignMarker { system: row.system, marker, remedy: row.remedy })
    })
}

impl Row {
    /// Whether a pod that names a PodGroup of Kubernetes' is of another gang by this marker. A PodGroup that owns it may be that
    /// one, and Kueue only lets a group in: who starts together is left to what else stands on the pods.
    fn is_beside_kubernetes(&self) -> bool {
        match self.at {
            At::SchedulingGroup | At::Owner(_) => false,
            At::Label(_) | At::Labels(_) | At::Annotation(_) | At::Annotations(_) => self.system != KUEUE,
        }
    }
}

impl At {
    /// The marker as a user would look for it, if it is there.
    fn find(self, pod: &Pod) -> Option<String> {
        let metadata = &pod.metadata;
        match self {
            Self::Label(key) => said(metadata.labels.as_ref(), "label", |other| other == key),
            Self::Labels(prefix) => said(metadata.labels.as_ref(), "label", |key| key.starts_with(prefix)),
            Self::Annotation(key) => said(metadata.annotations.as_ref(), "annotation", |other| other == key),
            Self::Annotations(prefix) => {
                said(metadata.annotations.as_ref(), "annotation", |key| key.starts_with(prefix))
            }
            Self::Owner(kind) => {
                let owner = metadata.owner_references.iter().flatten().find(|owner| owner.kind == kind)?;
                Some(format!("the owner {} {}", owner.kind, owner.name))
            }
            Self::SchedulingGroup => {
                pod.spec.as_ref()?.scheduling_group.as_ref()?;
                Some("spec.schedulingGroup".to_owned())
            }
        }
    }
}

/// The first key that is one of these and says something.
fn said(map: Option<&BTreeMap<String, String>>, what: &str, is: impl Fn(&str) -> bool) -> Option<String> {
    let (key, _) = map?.iter().find(|(key, value)| is(key) && !value.is_empty())?;
    Some(format!("the {what} {key}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::shim::dialect::kubernetes;

    fn pod(metadata: &Value, spec: &Value) -> Pod {
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a pod")
    }

    fn read(metadata: &Value, spec: &Value) -> Option<ForeignMarker> {
        marker(&pod(metadata, spec), &Role::Singleton, None)
    }

    fn labelled(key: &str) -> Value {
        json!({"labels": {key: "x"}})
    }

    fn annotated(key: &str) -> Value {
        json!({"annotations": {key: "x"}})
    }

    fn owned(api: &str, kind: &str) -> Value {
        json!({"ownerReferences": [{"apiVersion": api, "kind": kind, "name": "o", "uid": "u"}]})
    }

    /// What users of each system write, from its own documents.
    #[test]
    fn every_marker_is_found_by_itself_and_named() {
        let owner = "the owner PodGroup o";
        let cases = [
            (labelled("pod-group.scheduling.sigs.k8s.io"), "Koordinator"),
            (labelled("pod-group.scheduling.sigs.k8s.io/name"), "Koordinator"),
            (labelled("pod-group.scheduling.sigs.k8s.io/min-available"), "Koordinator"),
            (annotated("gang.scheduling.koordinator.sh/name"), "Koordinator"),
            (annotated("gang.scheduling.koordinator.sh/min-available"), "Koordinator"),
            (annotated("gang.scheduling.koordinator.sh/groups"), "Koordinator"),
            (labelled("scheduling.x-k8s.io/pod-group"), "scheduler-plugins"),
            (annotated("scheduling.k8s.io/group-name"), "Volcano"),
            (annotated("scheduling.volcano.sh/group-name"), "Volcano"),
            (annotated("scheduling.volcano.sh/group-min-member"), "Volcano"),
            (annotated("volcano.sh/job-name"), "Volcano"),
            (labelled("volcano.sh/job-name"), "Volcano"),
            (annotated("volcano.sh/task-spec"), "Volcano"),
            (labelled("volcano.sh/task-spec"), "Volcano"),
            (annotated("yunikorn.apache.org/task-group-name"), "YuniKorn"),
            (annotated("yunikorn.apache.org/task-groups"), "YuniKorn"),
            (annotated("pod-group-name"), "KAI"),
            (labelled("kai.scheduler/subgroup-name"), "KAI"),
            (labelled("kueue.x-k8s.io/pod-group-name"), "Kueue"),
            (owned("scheduling.x-k8s.io/v1alpha1", "PodGroup"), "another scheduler"),
            (owned("scheduling.volcano.sh/v1beta1", "PodGroup"), "another scheduler"),
        ];
        let mut named = BTreeSet::new();
        for (metadata, system) in &cases {
            let found = read(metadata, &json!(null)).unwrap_or_else(|| panic!("{metadata}"));
            let key = |map: &Value| map.as_object().and_then(|map| map.keys().next().cloned());
            let words = match (key(&metadata["labels"]), key(&metadata["annotations"])) {
                (Some(key), _) => format!("the label {key}"),
                (None, Some(key)) => format!("the annotation {key}"),
                (None, None) => owner.to_owned(),
            };
            assert_eq!((found.system, &*found.marker), (*system, &*words), "{metadata}");
            named.insert(words);
        }
        let native = read(&json!({}), &json!({"containers": [], "schedulingGroup": {"podGroupName": "g"}}));
        let native = native.expect("a native gang");
        assert_eq!((native.system, &*native.marker), ("Kubernetes", "spec.schedulingGroup"));
        assert_eq!(rows_found(&cases), MARKERS.len() - 1, "every row but the native one has a case");
    }

    /// How many rows find at least one of the cases.
    fn rows_found(cases: &[(Value, &str)]) -> usize {
        let pods: Vec<Pod> = (cases.iter())
            .map(|(metadata, _)| serde_json::from_value(json!({"metadata": metadata})).expect("a pod"))
            .collect();
        MARKERS.iter().filter(|row| pods.iter().any(|pod| row.at.find(pod).is_some())).count()
    }

    /// Kubernetes' controller of Jobs makes a PodGroup for each Job, so that one unmakes nobody's gang.
    #[test]
    fn beside_a_pod_group_of_kubernetes_the_gangs_of_other_systems_count() {
        let named = json!({"containers": [], "schedulingGroup": {"podGroupName": "g"}});
        let beside = |metadata: &Value| {
            let pod = pod(metadata, &named);
            let spoken = kubernetes::read(&pod).expect("it speaks");
            marker(&pod, &Role::Member { group: "g".into() }, Some(&spoken)).map(|marker| marker.system)
        };
        for (metadata, system) in [
            (labelled("pod-group.scheduling.sigs.k8s.io"), Some("Koordinator")),
            (annotated("gang.scheduling.koordinator.sh/name"), Some("Koordinator")),
            (labelled("scheduling.x-k8s.io/pod-group"), Some("scheduler-plugins")),
            (annotated("scheduling.k8s.io/group-name"), Some("Volcano")),
            (annotated("yunikorn.apache.org/task-groups"), Some("YuniKorn")),
            (annotated("pod-group-name"), Some("KAI")),
            (labelled("kueue.x-k8s.io/pod-group-name"), None),
            (owned("scheduling.k8s.io/v1beta1", "PodGroup"), None),
            (labelled("applicationId"), None),
            (json!({}), None),
        ] {
            assert_eq!(beside(&metadata), system, "{metadata}");
        }
    }

    /// What these systems put on pods that start alone.
    #[test]
    fn what_declares_no_gang_is_no_marker() {
        for metadata in [
            json!({}),
            labelled("applicationId"),
            labelled("queue"),
            labelled("yunikorn.apache.org/app-id"),
            labelled("spark-app-selector"),
            annotated("yunikorn.apache.org/queue"),
            annotated("yunikorn.apache.org/allow-preemption"),
            labelled("koordinator.sh/priority"),
            labelled("quota.scheduling.koordinator.sh/preemptible"),
            annotated("scheduling.volcano.sh/queue-name"),
            annotated("volcano.sh/preemptable"),
            labelled("kai.scheduler/queue"),
            labelled("kueue.x-k8s.io/queue-name"),
            // Each where its system does not look for it.
            labelled("yunikorn.apache.org/task-group-name"),
            annotated("scheduling.x-k8s.io/pod-group"),
            annotated("pod-group.scheduling.sigs.k8s.io"),
            owned("batch/v1", "Job"),
            json!({"labels": {"scheduling.x-k8s.io/pod-group": ""}}),
            json!({"annotations": {"gang.scheduling.koordinator.sh/name": ""}}),
        ] {
            assert_eq!(read(&metadata, &json!(null)), None, "{metadata}");
        }
    }

    /// Design 03, 3.4 names an order; whoever has several markers is told of the first.
    #[test]
    fn of_several_markers_the_first_in_the_order_of_dialects_is_named() {
        let mut metadata = json!({
            "labels": {"pod-group.scheduling.sigs.k8s.io": "a", "pod-group.scheduling.sigs.k8s.io/name": "b",
                       "scheduling.x-k8s.io/pod-group": "d"},
            "annotations": {"gang.scheduling.koordinator.sh/name": "c", "yunikorn.apache.org/task-group-name": "e"},
        });
        for (map, key) in [
            ("labels", "pod-group.scheduling.sigs.k8s.io"),
            ("labels", "pod-group.scheduling.sigs.k8s.io/name"),
            ("annotations", "gang.scheduling.koordinator.sh/name"),
            ("labels", "scheduling.x-k8s.io/pod-group"),
            ("annotations", "yunikorn.apache.org/task-group-name"),
        ] {
            let found = read(&metadata, &json!(null)).expect("one is left");
            assert!(found.marker.ends_with(key), "{} and not {key}", found.marker);
            metadata[map].as_object_mut().expect("a map").remove(key);
        }
        assert_eq!(read(&metadata, &json!(null)), None);
    }

    /// A pod may have 256 KiB of annotations, and anything as their values: neither makes the sentence longer.
    #[test]
    fn a_marker_that_cannot_be_read_is_a_marker_and_its_text_is_bounded() {
        let long = "[".repeat(200_000);
        for value in ["not JSON", "[{\"name\":", "[]", "{}", "\u{1b}[31m\u{202e}", &*long] {
            let found = read(&json!({"annotations": {"yunikorn.apache.org/task-groups": value}}), &json!(null));
            let found = found.expect("a marker");
            assert_eq!(&*found.marker, "the annotation yunikorn.apache.org/task-groups");
        }
        let key = format!("gang.scheduling.koordinator.sh/{}", "\u{1b}".repeat(9_000));
        let found = read(&json!({"annotations": {key: "x"}}), &json!(null)).expect("a marker");
        assert!(found.marker.len() < 4_000 && !found.marker.contains('\u{1b}'), "{}", found.marker.len());
    }
}
