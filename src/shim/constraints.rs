//! What else than resources a pod demands of a node, and which demands we do not honour yet.
//!
//! Preferences (preferred affinities, `ScheduleAnyway`, `PreferNoSchedule`) never keep a pod off a node and are not
//! read. Spread constraints that a cluster sets by default are preferences too.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Affinity, Container, ContainerPort, PodSpec, Toleration as KubeToleration, Volume};

use super::node_affinity;
use super::requests::is_sidecar;
use crate::core::base::ids::Text;
use crate::core::reason::Unsupported;
use crate::core::shape::{Effect, HostPort, Shape, Toleration};

/// Puts the pod's constraints into a shape; those that cannot be honoured are left out and the first is returned.
pub fn fill(shape: &mut Shape, spec: &PodSpec) -> Result<(), Unsupported> {
    shape.selector = text_map(spec.node_selector.as_ref());
    shape.ports = host_ports(spec);
    let tolerations = tolerations(spec.tolerations.as_deref().unwrap_or_default());
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let affinity = affinity.map_or(Ok(None), node_affinity::required);
    shape.tolerations = tolerations.clone().unwrap_or_default();
    // An affinity that we do not understand fits nowhere.
    shape.affinity = affinity.clone().unwrap_or(Some(Vec::new()));
    tolerations.and(affinity).map(drop)?;
    spec.affinity.as_ref().map_or(Ok(()), pod_affinity)?;
    others(spec)
}

/// Texts of a map of strings.
pub fn text_map(map: Option<&BTreeMap<String, String>>) -> BTreeMap<Text, Text> {
    let texts = |(key, value): (&String, &String)| (key.as_str().into(), value.as_str().into());
    map.into_iter().flatten().map(texts).collect()
}

/// A refusal that names a field.
pub(super) fn unsupported(field: impl Into<Text>) -> Unsupported {
    Unsupported { field: field.into() }
}

/// Tolerations in one order, each once. `Lt` and `Gt` (alpha in 1.35) compare numbers, which we do not.
pub fn tolerations(list: &[KubeToleration]) -> Result<Vec<Toleration>, Unsupported> {
    let mut tolerations: Vec<_> = list.iter().map(toleration).collect::<Result<_, _>>()?;
    tolerations.sort_unstable();
    tolerations.dedup();
    Ok(tolerations)
}

fn toleration(toleration: &KubeToleration) -> Result<Toleration, Unsupported> {
    let exists = match toleration.operator.as_deref() {
        None | Some("" | "Equal") => false,
        Some("Exists") => true,
        Some(_) => return Err(unsupported("spec.tolerations[].operator")),
    };
    let effect = match toleration.effect.as_deref() {
        None | Some("") => None,
        Some(effect) => Some(self::effect(effect).ok_or_else(|| unsupported("spec.tolerations[].effect"))?),
    };
    let key = toleration.key.as_deref().filter(|key| !key.is_empty()).map(Text::from);
    let value = toleration.value.as_deref().filter(|_| !exists).unwrap_or_default().into();
    Ok(Toleration { key, exists, value, effect })
}

/// A taint's effect; `None` = one that we do not know.
pub fn effect(effect: &str) -> Option<Effect> {
    match effect {
        "NoSchedule" => Some(Effect::NoSchedule),
        "PreferNoSchedule" => Some(Effect::PreferNoSchedule),
        "NoExecute" => Some(Effect::NoExecute),
        _ => None,
    }
}

/// Ports of the node that containers and sidecars bind. With `hostNetwork` every container port is one, as the API
/// server defaults it.
fn host_ports(spec: &PodSpec) -> Vec<HostPort> {
    let host_network = spec.host_network == Some(true);
    let sidecars = spec.init_containers.iter().flatten().filter(|container| is_sidecar(container));
    let ports = spec.containers.iter().chain(sidecars).flat_map(ports_of);
    let mut ports: Vec<_> = ports.filter_map(|port| host_port(port, host_network)).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

fn ports_of(container: &Container) -> impl Iterator<Item = &ContainerPort> {
    container.ports.iter().flatten()
}

fn host_port(port: &ContainerPort, host_network: bool) -> Option<HostPort> {
    let wanted = port.host_port.filter(|port| *port != 0).or_else(|| host_network.then_some(port.container_port));
    let number = u16::try_from(wanted?).ok().filter(|number| *number != 0)?;
    let address = port.host_ip.as_deref().filter(|address| *address != "0.0.0.0").unwrap_or_default();
    let protocol = port.protocol.as_deref().filter(|protocol| !protocol.is_empty()).unwrap_or("TCP");
    Some(HostPort { address: address.into(), protocol: protocol.into(), port: number })
}

fn pod_affinity(affinity: &Affinity) -> Result<(), Unsupported> {
    let near = affinity.pod_affinity.as_ref();
    let near = near.and_then(|near| near.required_during_scheduling_ignored_during_execution.as_ref());
    if near.is_some_and(|terms| !terms.is_empty()) {
        return Err(unsupported("spec.affinity.podAffinity"));
    }
    let apart = affinity.pod_anti_affinity.as_ref();
    let apart = apart.and_then(|apart| apart.required_during_scheduling_ignored_during_execution.as_ref());
    if apart.is_some_and(|terms| !terms.is_empty()) {
        return Err(unsupported("spec.affinity.podAntiAffinity"));
    }
    Ok(())
}

fn others(spec: &PodSpec) -> Result<(), Unsupported> {
    let mut spread = spec.topology_spread_constraints.iter().flatten();
    // Everything but the one soft value is taken as hard.
    if spread.any(|constraint| constraint.when_unsatisfiable != "ScheduleAnyway") {
        return Err(unsupported("spec.topologySpreadConstraints"));
    }
    if spec.resource_claims.as_ref().is_some_and(|claims| !claims.is_empty()) {
        return Err(unsupported("spec.resourceClaims"));
    }
    let mut volumes = spec.volumes.iter().flatten();
    match volumes.find_map(|volume| volume_source(volume).map(|source| (volume, source))) {
        Some((volume, source)) => Err(unsupported(format!("spec.volumes[{}].{source}", volume.name))),
        None => Ok(()),
    }
}

/// The source of a volume whose place matters: claims (zone, node affinity, attach limits, access modes), disks that
/// kube-scheduler's VolumeRestrictions keeps apart, and in-tree disks that count against attach limits. Inline CSI
/// volumes, NFS and the like are no matter of scheduling.
fn volume_source(volume: &Volume) -> Option<&'static str> {
    let sources = [
        ("persistentVolumeClaim", volume.persistent_volume_claim.is_some()),
        ("ephemeral", volume.ephemeral.is_some()),
        ("gcePersistentDisk", volume.gce_persistent_disk.is_some()),
        ("awsElasticBlockStore", volume.aws_elastic_block_store.is_some()),
        ("azureDisk", volume.azure_disk.is_some()),
        ("cinder", volume.cinder.is_some()),
        ("vsphereVolume", volume.vsphere_volume.is_some()),
        ("portworxVolume", volume.portworx_volume.is_some()),
        ("iscsi", volume.iscsi.is_some()),
        ("rbd", volume.rbd.is_some()),
    ];
    sources.into_iter().find(|(_, is_set)| *is_set).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn filled(mut spec: Value) -> (Shape, Result<(), Unsupported>) {
        let containers = json!([{"name": "a"}]);
        spec.as_object_mut().unwrap().entry("containers").or_insert(containers);
        let mut shape = Shape::default();
        let result = fill(&mut shape, &serde_json::from_value(spec).unwrap());
        (shape, result)
    }

    fn affinity(terms: &Value) -> Value {
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": terms,
        }}}})
    }

    #[test]
    fn what_cannot_be_honoured_is_named_and_what_is_soft_is_not() {
        let pod_term = json!([{"topologyKey": "zone"}]);
        let preferred = json!([{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]);
        let spread = |when| json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": when}]);
        for (spec, field) in [
            (
                json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": pod_term}}}),
                Some("spec.affinity.podAffinity"),
            ),
            (
                json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": pod_term}}}),
                Some("spec.affinity.podAntiAffinity"),
            ),
            (
                json!({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}),
                None,
            ),
            (json!({"topologySpreadConstraints": spread("DoNotSchedule")}), Some("spec.topologySpreadConstraints")),
            (json!({"topologySpreadConstraints": spread("ScheduleAnyway")}), None),
            (json!({"resourceClaims": [{"name": "gpu"}]}), Some("spec.resourceClaims")),
            (json!({"resourceClaims": []}), None),
            (json!({"schedulingGroup": {"podGroupName": "x"}}), None),
            (
                json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]}),
                Some("spec.volumes[v].persistentVolumeClaim"),
            ),
            (json!({"volumes": [{"name": "v", "ephemeral": {}}]}), Some("spec.volumes[v].ephemeral")),
            (json!({"volumes": [{"name": "v", "rbd": {"image": "i", "monitors": []}}]}), Some("spec.volumes[v].rbd")),
            (json!({"volumes": [{"name": "v", "csi": {"driver": "d"}}, {"name": "w", "emptyDir": {}}]}), None),
            (
                json!({"tolerations": [{"key": "a", "operator": "Gt", "value": "5"}]}),
                Some("spec.tolerations[].operator"),
            ),
            (
                affinity(&json!([{"matchExpressions": [{"key": "a", "operator": "Near"}]}])),
                Some("spec.affinity.nodeAffinity operator"),
            ),
            (
                affinity(&json!([{"matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]}])),
                Some("spec.affinity.nodeAffinity matchFields"),
            ),
        ] {
            assert_eq!(filled(spec.clone()).1.err(), field.map(unsupported), "{spec}");
        }
        for operator in ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] {
            let values = if operator.contains("Exist") { json!([]) } else { json!(["5"]) };
            let spec = affinity(&json!([{"matchExpressions": [{"key": "a", "operator": operator, "values": values}]}]));
            assert_eq!(filled(spec).1, Ok(()), "{operator}");
        }
        let many: Vec<_> = (0..node_affinity::MAX_VALUES).map(|n| n.to_string()).collect();
        let (shape, result) =
            filled(affinity(&json!([{"matchExpressions": [{"key": "a", "operator": "In", "values": many}]}])));
        assert!(result.is_err() && shape.affinity == Some(vec![]));
    }

    /// As the API server reads it: only a toleration without a key is one of every taint.
    #[test]
    fn a_toleration_is_of_the_key_that_it_names() {
        let spec = json!({"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute"},
                                          {"key": "b", "value": "c"}, {"key": "", "operator": "Exists"}]});
        let (effect, exists) = (Some(Effect::NoExecute), true);
        let of = |key: &str| Some(Text::from(key));
        let expected = [
            Toleration { key: None, exists, value: "".into(), effect: None },
            Toleration { key: of("a"), exists, value: "".into(), effect },
            Toleration { key: of("b"), exists: false, value: "c".into(), effect: None },
        ];
        assert_eq!(filled(spec).0.tolerations, expected);
    }

    #[test]
    fn equal_demands_have_equal_shapes() {
        let (left, right) = (
            json!({"tolerations": [{"key": "a", "operator": "Exists", "value": ""}, {"operator": "Exists"}]}),
            json!({"tolerations": [{"operator": "Exists"}, {"operator": "Exists"}, {"key": "a", "operator": "Exists"}]}),
        );
        assert_eq!(filled(left), filled(right));
        let (left, right) = (
            affinity(&json!([{"matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]}, {}])),
            affinity(&json!([{}, {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y", "x"]}]}])),
        );
        assert_eq!(filled(left), filled(right));
    }

    #[test]
    fn an_affinity_without_terms_fits_nowhere_and_none_fits_everywhere() {
        assert_eq!(filled(affinity(&json!([]))).0.affinity, Some(vec![]));
        assert_eq!(filled(json!({"affinity": {"nodeAffinity": {}}})).0.affinity, None);
    }

    #[test]
    fn ports_of_containers_and_sidecars_are_the_nodes() {
        let port = |port: u16, address: &str, protocol: &str| HostPort {
            address: address.into(),
            protocol: protocol.into(),
            port,
        };
        let containers = json!([{"name": "a", "ports": [
            {"containerPort": 1, "hostPort": 80, "hostIP": "0.0.0.0"},
            {"containerPort": 2, "hostPort": 53, "hostIP": "10.0.0.1", "protocol": "UDP"},
            {"containerPort": 3},
        ]}]);
        let init = json!([
            {"name": "s", "restartPolicy": "Always", "ports": [{"containerPort": 4, "hostPort": 81}]},
            {"name": "i", "ports": [{"containerPort": 5, "hostPort": 82}]},
        ]);
        let mut expected = vec![port(80, "", "TCP"), port(81, "", "TCP"), port(53, "10.0.0.1", "UDP")];
        expected.sort();
        let (shape, _) = filled(json!({"containers": containers, "initContainers": init}));
        assert_eq!(shape.ports, expected);
        expected.push(port(3, "", "TCP"));
        expected.sort();
        let (shape, _) = filled(json!({"containers": containers, "initContainers": init, "hostNetwork": true}));
        assert_eq!(shape.ports, expected);
    }
}
