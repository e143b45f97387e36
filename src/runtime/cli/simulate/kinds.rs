//! What an object is by its apiVersion and kind: played, a list, left out, or a slip of the pen.

use crate::api::names;
use crate::shim::dialect::pod_group::System;

/// A kind that is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Played {
    /// A pod.
    Pod,
    /// A node.
    Node,
    /// A Job.
    Job,
    /// A TaskGroup.
    TaskGroup,
    /// A Queue of ours.
    Queue,
    /// A PriorityClass.
    PriorityClass,
    /// A Namespace.
    Namespace,
    /// A PodGroup of another system.
    PodGroup(System),
}

impl Played {
    /// As in `kind`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::Node => "Node",
            Self::Job => "Job",
            Self::TaskGroup => "TaskGroup",
            Self::Queue => "Queue",
            Self::PriorityClass => "PriorityClass",
            Self::Namespace => "Namespace",
            Self::PodGroup(_) => "PodGroup",
        }
    }
}

/// What an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// One that is played.
    One(Played),
    /// A list: of this kind, or of any.
    List(Option<Played>),
    /// One that is left out, by this name.
    Other(String),
}

/// Group and version of what is played.
const KINDS: [(&str, &str, Played); 11] = [
    ("", "v1", Played::Pod),
    ("", "v1", Played::Node),
    ("batch", "v1", Played::Job),
    (names::GROUP, names::VERSION, Played::TaskGroup),
    (names::GROUP, names::VERSION, Played::Queue),
    ("scheduling.k8s.io", "v1", Played::PriorityClass),
    ("", "v1", Played::Namespace),
    pod_groups(System::Koordinator),
    pod_groups(System::Coscheduling),
    pod_groups(System::Volcano),
    pod_groups(System::Kubernetes),
];

/// The kind of a system's PodGroups.
const fn pod_groups(system: System) -> (&'static str, &'static str, Played) {
    (system.api_group(), system.version(), Played::PodGroup(system))
}

/// What an object of this apiVersion and kind is.
///
/// # Errors
/// The field that cannot be right, and why.
pub(super) fn sort(api_version: &str, kind: &str) -> Result<Sort, String> {
    if kind.is_empty() {
        return Err("kind: missing".to_owned());
    }
    let (group, _) = api_version.rsplit_once('/').unwrap_or_default();
    if kind == "List" {
        return if api_version == "v1" { Ok(Sort::List(None)) } else { Err(wrong(api_version, "v1")) };
    }
    let single = kind.strip_suffix("List").unwrap_or(kind);
    let of_name = || KINDS.iter().filter(|(.., played)| played.name() == single);
    match of_name().find(|(of, ..)| group == *of).or_else(|| of_name().next()) {
        // Without a group it is no kind of another project.
        Some((of, version, played)) if group == *of || group.is_empty() => {
            let expected = if of.is_empty() { (*version).to_owned() } else { format!("{of}/{version}") };
            let sort = if single == kind { Sort::One(*played) } else { Sort::List(Some(*played)) };
            if api_version == expected { Ok(sort) } else { Err(wrong(api_version, &expected)) }
        }
        Some(_) => Ok(Sort::Other(format!("{kind} of {group}"))),
        None => match meant(group, kind) {
            Some(meant) => Err(format!("kind: {kind:?} is not {meant:?}")),
            None if group == names::GROUP => {
                Err(format!("kind: {kind:?} is no kind of {group}; TaskGroup and Queue are"))
            }
            None => Ok(Sort::Other(kind.to_owned())),
        },
    }
}

/// The kind of a group that was meant, where the case is wrong, or it is named as many are.
fn meant(group: &str, kind: &str) -> Option<&'static str> {
    let of_group = KINDS.iter().filter(|(of, ..)| group == *of || group.is_empty());
    let mut names = of_group.map(|(.., played)| played.name());
    let endings = ["", "s", "es"];
    names.find(|name| endings.iter().any(|ending| kind.eq_ignore_ascii_case(&format!("{name}{ending}"))))
}

fn wrong(api_version: &str, expected: &str) -> String {
    match api_version {
        "" => format!("apiVersion: missing; it is {expected:?}"),
        _ => format!("apiVersion: {api_version:?} is not {expected:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_its_name_its_group_and_its_version() {
        for (api_version, kind, expected) in [
            ("v1", "Pod", Ok(Sort::One(Played::Pod))),
            ("batch/v1", "Job", Ok(Sort::One(Played::Job))),
            ("gangline.dev/v1alpha1", "Queue", Ok(Sort::One(Played::Queue))),
            ("scheduling.k8s.io/v1", "PriorityClass", Ok(Sort::One(Played::PriorityClass))),
            ("v1", "List", Ok(Sort::List(None))),
            ("v1", "PodList", Ok(Sort::List(Some(Played::Pod)))),
            ("batch/v1", "JobList", Ok(Sort::List(Some(Played::Job)))),
            ("gangline.dev/v1alpha1", "TaskGroupList", Ok(Sort::List(Some(Played::TaskGroup)))),
            ("apps/v1", "Deployment", Ok(Sort::Other("Deployment".to_owned()))),
            ("scheduling.volcano.sh/v1beta1", "Queue", Ok(Sort::Other("Queue of scheduling.volcano.sh".to_owned()))),
            ("scheduling.x-k8s.io/v1alpha1", "PodGroup", Ok(Sort::One(Played::PodGroup(System::Coscheduling)))),
            ("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", Ok(Sort::One(Played::PodGroup(System::Koordinator)))),
            ("scheduling.volcano.sh/v1beta1", "PodGroup", Ok(Sort::One(Played::PodGroup(System::Volcano)))),
            ("scheduling.k8s.io/v1beta1", "PodGroup", Ok(Sort::One(Played::PodGroup(System::Kubernetes)))),
            (
                "scheduling.k8s.io/v1alpha2",
                "PodGroup",
                Err("\"scheduling.k8s.io/v1alpha2\" is not \"scheduling.k8s.io/v1beta1\""),
            ),
            ("scheduling.run.ai/v2alpha2", "PodGroup", Ok(Sort::Other("PodGroup of scheduling.run.ai".to_owned()))),
            ("gangline.dev/v1beta9", "TaskGroup", Err("\"gangline.dev/v1beta9\" is not \"gangline.dev/v1alpha1\"")),
            ("gangline.dev", "TaskGroup", Err("\"gangline.dev\" is not \"gangline.dev/v1alpha1\"")),
            ("batch/v1beta1", "Job", Err("\"batch/v1beta1\" is not \"batch/v1\"")),
            ("v7", "Pod", Err("\"v7\" is not \"v1\"")),
            ("v2", "NodeList", Err("\"v2\" is not \"v1\"")),
            ("", "Node", Err("missing; it is \"v1\"")),
        ] {
            let expected = expected.map_err(|problem| format!("apiVersion: {problem}"));
            assert_eq!(sort(api_version, kind), expected, "{api_version} {kind}");
        }
        for (api_version, kind, meant) in [
            ("v1", "pod", "Pod"),
            ("v1", "NODES", "Node"),
            ("batch/v1", "Jobs", "Job"),
            ("gangline.dev/v1alpha1", "Taskgroup", "TaskGroup"),
            ("scheduling.k8s.io/v1", "PriorityClasses", "PriorityClass"),
        ] {
            assert_eq!(sort(api_version, kind), Err(format!("kind: {kind:?} is not {meant:?}")), "{api_version}");
        }
        assert_eq!(sort("example.com/v1", "Jobs"), Ok(Sort::Other("Jobs".to_owned())), "of another project");
        let strange = sort("gangline.dev/v1alpha1", "TaskGrp");
        assert_eq!(strange, Err("kind: \"TaskGrp\" is no kind of gangline.dev; TaskGroup and Queue are".to_owned()));
    }
}
