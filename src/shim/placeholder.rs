//! Placeholder pods: how they are named and made, and how they are recognised (design 03, 3.5).

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, LocalObjectReference, Pod, PodReadinessGate, PodSecurityContext, PodSpec,
    ResourceRequirements, SeccompProfile, SecurityContext,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as KubeQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use sha2::{Digest, Sha256};

use super::pod::{Served, incarnation, label, parse_incarnation};
use super::quantity::Quantity;
use super::submitter;
use crate::api::names;
use crate::api::task_group::{MatchPolicy, Mode, PlaceholderTemplate};
use crate::core::base::ids::{Key, Text, Uid};
use crate::core::event::{PlaceholderName, Submitter};

/// Most characters of the TaskGroup's name that are kept in a placeholder's: `tg-` + 30 + `-` + 26 = 60 of 63.
const GROUP_PREFIX: usize = 30;
/// Characters of the hash: 26 of 5 bits, 130 bits.
const HASH: usize = 26;
/// Lower-case base 32 of RFC 4648: fit for object names.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// The pause image's own user.
const PAUSE_USER: i64 = 65_535;

/// What a placeholder has that its TaskGroup does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceholderConfig {
    /// `schedulerName`: one of those that we serve.
    pub scheduler_name: Text,
    /// An image that does nothing; best by digest.
    pub image: Text,
    /// The path of the queue in which its application is.
    pub queue: Text,
    /// Who submitted its application, if that is known.
    pub submitter: Option<Arc<Submitter>>,
}

/// The facts of a TaskGroup from which its placeholders are made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blueprint {
    /// The application's id.
    pub application: Text,
    /// The queue's path, if it names one.
    pub queue: Option<Text>,
    /// How many at least.
    pub min_member: u32,
    /// How many belong to it, where that is more.
    pub total_member: Option<u32>,
    /// Whether seats are held one by one.
    pub mode: Mode,
    /// Who counts once the gang has started.
    pub match_policy: MatchPolicy,
    /// `minResource`, as written.
    pub min_resource: BTreeMap<Text, Text>,
    /// `placeholderTemplate`.
    pub template: Option<Box<PlaceholderTemplate>>,
}

impl Blueprint {
    /// In which fields of their specs two TaskGroups of one name differ. An amount may be spelled in more than one way.
    pub fn differs_in(&self, other: &Self) -> Vec<&'static str> {
        let amount = |text: &Text| text.parse::<Quantity>();
        let same = |(one, two): ((&Text, &Text), (&Text, &Text))| {
            one.0 == two.0 && (one.1 == two.1 || matches!((amount(one.1), amount(two.1)), (Ok(a), Ok(b)) if a == b))
        };
        let sizes = (&self.min_resource, &other.min_resource);
        let same_size = sizes.0.len() == sizes.1.len() && sizes.0.iter().zip(sizes.1).all(same);
        let fields = [
            ("applicationId", self.application == other.application),
            ("queue", self.queue == other.queue),
            ("minMember", self.min_member == other.min_member),
            ("totalMember", self.total_member == other.total_member),
            ("minResource", same_size),
            ("mode", self.mode == other.mode),
            ("matchPolicy", self.match_policy == other.match_policy),
            ("placeholderTemplate", self.template == other.template),
        ];
        fields.into_iter().filter(|(_, same)| !same).map(|(field, _)| field).collect()
    }
}

/// The pod's name: the same for the same seat, incarnation and attempt for ever, so that a creation whose answer was
/// lost is repeated without harm.
pub fn pod_name(name: &PlaceholderName, application: &str) -> String {
    let prefix: String = name.group.name.chars().take(GROUP_PREFIX).collect();
    // A dot may not stand beside a hyphen in a DNS name.
    let prefix = prefix.replace('.', "-");
    format!("tg-{}-{}", prefix.trim_end_matches('-'), hash(name, application))
}

fn hash(name: &PlaceholderName, application: &str) -> String {
    let mut digest = Sha256::new_with_prefix("gangline placeholder 1");
    for text in [application, &name.group.namespace, &name.group.name, &name.uid.0] {
        // Each text goes in with its length, since `a`+`bc` would otherwise hash like `ab`+`c`.
        digest.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
        digest.update(text);
    }
    for number in [name.incarnation, name.seat, name.attempt] {
        digest.update(number.to_be_bytes());
    }
    base32(&digest.finalize())
}

fn base32(bytes: &[u8]) -> String {
    let bit = |index: usize| (bytes[index / 8] >> (7 - index % 8)) & 1;
    let digit = |at: usize| (at * 5..at * 5 + 5).fold(0, |digit, index| digit << 1 | bit(index));
    (0..HASH).map(|at| char::from(ALPHABET[usize::from(digit(at))])).collect()
}

/// The pod of a seat.
pub fn pod(name: &PlaceholderName, blueprint: &Blueprint, config: &PlaceholderConfig) -> Pod {
    let template = blueprint.template.as_deref().cloned().unwrap_or_default();
    Pod {
        metadata: metadata(name, blueprint, (&template, config)),
        spec: Some(spec(blueprint, template, config)),
        status: None,
    }
}

fn metadata(
    name: &PlaceholderName,
    blueprint: &Blueprint,
    (template, config): (&PlaceholderTemplate, &PlaceholderConfig),
) -> ObjectMeta {
    let mut labels = template.labels.clone();
    labels.extend(own_labels(name, blueprint, config));
    let mut annotations = template.annotations.clone();
    annotations.insert("cluster-autoscaler.kubernetes.io/safe-to-evict".to_owned(), "true".to_owned());
    annotations.extend(config.submitter.as_deref().map(submitter::annotation));
    ObjectMeta {
        name: Some(pod_name(name, &blueprint.application)),
        namespace: Some(name.group.namespace.to_string()),
        labels: Some(labels),
        annotations: Some(annotations),
        owner_references: Some(vec![owner(name)]),
        ..ObjectMeta::default()
    }
}

fn own_labels(
    name: &PlaceholderName,
    blueprint: &Blueprint,
    config: &PlaceholderConfig,
) -> impl Iterator<Item = (String, String)> {
    [
        (names::PLACEHOLDER, "true".to_owned()),
        (names::APPLICATION, blueprint.application.to_string()),
        (names::TASK_GROUP, name.group.name.to_string()),
        (names::QUEUE, config.queue.to_string()),
        (names::SEAT, name.seat.to_string()),
        (names::INCARNATION, incarnation(&name.uid, name.incarnation)),
        (names::ATTEMPT, name.attempt.to_string()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
}

/// `controller: true`: otherwise a ReplicaSet adopts a placeholder that carries its members' labels, and deletes real
/// members.
fn owner(name: &PlaceholderName) -> OwnerReference {
    OwnerReference {
        api_version: format!("{}/{}", names::GROUP, names::VERSION),
        kind: "TaskGroup".to_owned(),
        name: name.group.name.to_string(),
        uid: name.uid.to_string(),
        controller: Some(true),
        block_owner_deletion: Some(false),
    }
}

fn spec(blueprint: &Blueprint, template: PlaceholderTemplate, config: &PlaceholderConfig) -> PodSpec {
    let node_affinity = template.affinity.and_then(|affinity| affinity.node_affinity);
    PodSpec {
        containers: vec![container(blueprint, &config.image)],
        scheduler_name: Some(config.scheduler_name.to_string()),
        node_selector: Some(template.node_selector).filter(|selector| !selector.is_empty()),
        tolerations: some(template.tolerations),
        affinity: node_affinity.map(|affinity| Affinity { node_affinity: Some(affinity), ..Affinity::default() }),
        priority_class_name: template.priority_class_name,
        runtime_class_name: template.runtime_class_name,
        image_pull_secrets: some::<LocalObjectReference>(template.image_pull_secrets),
        readiness_gates: Some(vec![PodReadinessGate { condition_type: names::READINESS_GATE.to_owned() }]),
        security_context: Some(pod_security()),
        termination_grace_period_seconds: Some(0),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        ..PodSpec::default()
    }
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}

fn container(blueprint: &Blueprint, image: &str) -> Container {
    let amounts = blueprint.min_resource.iter();
    let amounts: BTreeMap<_, _> =
        amounts.map(|(resource, amount)| (resource.to_string(), KubeQuantity(amount.to_string()))).collect();
    Container {
        name: "placeholder".to_owned(),
        image: Some(image.to_owned()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        // Requests = limits: what extended resources and huge pages demand, and what never needs a LimitRange's
        // default.
        resources: Some(ResourceRequirements {
            requests: Some(amounts.clone()),
            limits: Some(amounts),
            ..ResourceRequirements::default()
        }),
        security_context: Some(container_security()),
        ..Container::default()
    }
}

/// Admitted by the `restricted` Pod Security standard.
fn pod_security() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(PAUSE_USER),
        run_as_group: Some(PAUSE_USER),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
        ..PodSecurityContext::default()
    }
}

fn container_security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
        ..SecurityContext::default()
    }
}

/// Which placeholder a pod is: it has the label and one of our scheduler names, no other controller than the TaskGroup,
/// and the name that its own labels hash to. An orphan (its owner reference is gone) is still ours to clean up.
pub fn recognise(pod: &Pod, served: &Served) -> Option<PlaceholderName> {
    if label(pod, names::PLACEHOLDER) != Some("true") || !served.owns(pod) {
        return None;
    }
    let (uid, incarnation) = parse_incarnation(label(pod, names::INCARNATION)?)?;
    let number = |name| label(pod, name).and_then(|text| text.parse().ok());
    let name = PlaceholderName {
        group: Key::new(pod.metadata.namespace.as_deref()?, label(pod, names::TASK_GROUP)?),
        uid,
        incarnation,
        seat: number(names::SEAT)?,
        attempt: number(names::ATTEMPT)?,
    };
    let expected = pod_name(&name, label(pod, names::APPLICATION)?);
    (pod.metadata.name.as_deref() == Some(&*expected) && is_owned_by_none_but(pod, &name)).then_some(name)
}

fn is_owned_by_none_but(pod: &Pod, name: &PlaceholderName) -> bool {
    let owners = pod.metadata.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    controllers.all(|owner| is_group(owner, &name.group.name, &name.uid))
}

fn is_group(owner: &OwnerReference, name: &str, uid: &Uid) -> bool {
    let group = owner.api_version.split_once('/').map(|(group, _)| group);
    group == Some(names::GROUP) && owner.kind == "TaskGroup" && owner.name == name && owner.uid == *uid.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::shim::syntax::{is_dns_label, is_label_value};

    fn name(group: &str) -> PlaceholderName {
        let uid = Uid::new("6f1b7f9e-5b0e-4f0e-8c8e-3d1c0a3f9b11");
        PlaceholderName { group: Key::new("data", group), uid, incarnation: 2, seat: 7, attempt: 1 }
    }

    fn blueprint() -> Blueprint {
        let template = serde_json::from_value(serde_json::json!({
            "nodeSelector": {"disk": "ssd"}, "labels": {"app": "spark"}, "annotations": {"a": "b"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}], "imagePullSecrets": [{"name": "s"}],
            "priorityClassName": "high", "runtimeClassName": "gvisor",
        }));
        let min_resource = BTreeMap::from([("cpu".into(), "500m".into()), ("example.com/gpu".into(), "1".into())]);
        let template = template.unwrap();
        Blueprint {
            application: "spark".into(),
            queue: None,
            min_member: 2,
            total_member: None,
            mode: Mode::Strict,
            match_policy: MatchPolicy::OnceSatisfied,
            min_resource,
            template,
        }
    }

    fn made() -> Pod {
        let config = PlaceholderConfig {
            scheduler_name: "gangline".into(),
            image: "pause@sha256:0".into(),
            queue: "root.data".into(),
            submitter: None,
        };
        pod(&name("executors"), &blueprint(), &config)
    }

    /// Names live in clusters: this one may never change.
    #[test]
    fn names_are_stable_for_ever() {
        assert_eq!(pod_name(&name("executors"), "spark"), "tg-executors-roj4kx4pwchc6dechbt6lrqgw7");
    }

    /// 01, 1.3: what a placeholder takes of the template, and what it is whatever that says: admitted by the
    /// `restricted` Pod Security standard, gone at once, without access to anything.
    #[test]
    fn a_placeholder_is_made_of_the_template_and_of_what_it_must_be() {
        let mut blueprint = blueprint();
        let wanted = serde_json::json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]);
        let affinity = serde_json::json!({
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": wanted}},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "host"}]},
        });
        blueprint.template.as_mut().unwrap().affinity = Some(serde_json::from_value(affinity).unwrap());
        let config = PlaceholderConfig {
            scheduler_name: "gangline".into(),
            image: "pause@sha256:0".into(),
            queue: "root.data".into(),
            submitter: None,
        };
        let spec = serde_json::to_value(pod(&name("executors"), &blueprint, &config).spec).unwrap();
        let amounts = serde_json::json!({"cpu": "500m", "example.com/gpu": "1"});
        let expected = serde_json::json!({
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": wanted}}},
            "automountServiceAccountToken": false,
            "containers": [{
                "name": "placeholder", "image": "pause@sha256:0", "imagePullPolicy": "IfNotPresent",
                "resources": {"requests": amounts, "limits": amounts},
                "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                                    "capabilities": {"drop": ["ALL"]}},
            }],
            "enableServiceLinks": false,
            "imagePullSecrets": [{"name": "s"}],
            "nodeSelector": {"disk": "ssd"},
            "priorityClassName": "high",
            "readinessGates": [{"conditionType": "gangline.dev/placeholder-is-never-ready"}],
            "runtimeClassName": "gvisor",
            "schedulerName": "gangline",
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65_535, "runAsGroup": 65_535,
                                "seccompProfile": {"type": "RuntimeDefault"}},
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
        });
        assert_eq!(spec, expected);
    }

    #[test]
    fn a_placeholder_is_recognised_until_anything_about_it_is_forged() {
        let served = Served::default();
        assert_eq!(recognise(&made(), &served), Some(name("executors")));
        let mut orphan = made();
        orphan.metadata.owner_references = None;
        assert_eq!(recognise(&orphan, &served), Some(name("executors")));
        for key in
            [names::PLACEHOLDER, names::APPLICATION, names::TASK_GROUP, names::SEAT, names::INCARNATION, names::ATTEMPT]
        {
            let mut forged = made();
            forged.metadata.labels.as_mut().unwrap().insert(key.to_owned(), "9".to_owned());
            assert_eq!(recognise(&forged, &served), None, "{key}");
            forged.metadata.labels.as_mut().unwrap().remove(key);
            assert_eq!(recognise(&forged, &served), None, "{key}");
        }
        let forgeries: [fn(&mut Pod); 5] = [
            |pod| pod.metadata.name = Some("tg-executors-x".to_owned()),
            |pod| pod.metadata.namespace = Some("other".to_owned()),
            |pod| pod.spec.as_mut().unwrap().scheduler_name = None,
            |pod| pod.metadata.owner_references.as_mut().unwrap()[0].uid = "other".to_owned(),
            |pod| pod.metadata.owner_references.as_mut().unwrap()[0].kind = "ReplicaSet".to_owned(),
        ];
        for forge in forgeries {
            let mut forged = made();
            forge(&mut forged);
            assert_eq!(recognise(&forged, &served), None);
        }
    }

    #[test]
    fn a_placeholder_says_whose_it_is() {
        let pod = serde_json::to_value(made()).unwrap();
        for (path, value) in [
            ("/metadata/labels/app", "\"spark\""),
            ("/metadata/labels/gangline.dev~1queue", "\"root.data\""),
            ("/metadata/annotations/cluster-autoscaler.kubernetes.io~1safe-to-evict", "\"true\""),
            ("/metadata/annotations/a", "\"b\""),
            ("/metadata/ownerReferences/0/controller", "true"),
            ("/metadata/ownerReferences/0/blockOwnerDeletion", "false"),
        ] {
            assert_eq!(pod.pointer(path).map(ToString::to_string).as_deref(), Some(value), "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_group_gives_a_legal_name_and_reads_back(
            group in "[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", seat: u32, attempt: u32, incarnation in 1..u32::MAX,
        ) {
            let name = PlaceholderName { seat, attempt, incarnation, ..name(&group) };
            let config = PlaceholderConfig { scheduler_name: "gangline".into(), image: "".into(), queue: "root.q".into(), submitter: None };
            let pod = pod(&name, &blueprint(), &config);
            prop_assert!(is_dns_label(pod.metadata.name.as_deref().unwrap()));
            prop_assert!(pod.metadata.labels.iter().flatten().all(|(_, value)| is_label_value(value)));
            prop_assert_eq!(recognise(&pod, &Served::default()), Some(name));
        }
    }
}
