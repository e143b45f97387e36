//! Pods of the files: those that are there, and those that Jobs make of a template.

use k8s_openapi::api::core::v1::Pod;

use super::Site;
use super::finding::{Finding, Severity};
use crate::api::names;
use crate::core::base::ids::Text;
use crate::core::event::{AskSpec, Place, Role};
use crate::core::reason::{Objection, SpecError};
use crate::shim::dialect::Spoken;
use crate::shim::observation::Body;
use crate::shim::pod::{Served, ask_spec, label};
use crate::sim::job::completions;
use crate::sim::play::{Arrival, Thing};

/// Where the pods of a Job are described.
const TEMPLATE: &str = "spec.template.";

/// Pods that are alike.
pub(super) struct Pods<'a> {
    pub(super) site: Site<'a>,
    /// Before each of their fields.
    prefix: &'static str,
    pod: Pod,
    /// How many there are at a time.
    pub(super) count: u32,
    pub(super) spoken: Option<Spoken>,
    /// Whose words they say of a gang, where they are another scheduler's.
    unheard: Option<&'static str>,
    pub(super) ask: AskSpec,
}

impl<'a> Pods<'a> {
    /// The pods of an object, if it has any.
    pub(super) fn of(arrival: &Arrival, site: Site<'a>, served: &Served) -> Option<Self> {
        let (prefix, mut pod, count) = match &arrival.what {
            Thing::Object(Body::Pod(pod)) => ("", Pod::clone(pod), 1),
            Thing::Job(job) => {
                let spec = job.spec.as_ref()?;
                let metadata = spec.template.metadata.clone().unwrap_or_default();
                let pod = Pod { metadata, spec: spec.template.spec.clone(), status: None };
                (TEMPLATE, pod, spec.parallelism.unwrap_or(1).max(0).cast_unsigned().min(completions(spec)))
            }
            Thing::Object(
                Body::Node(_)
                | Body::TaskGroup(_)
                | Body::Queue(_)
                | Body::ResourceQuota(_)
                | Body::Namespace(_)
                | Body::KoordinatorPodGroup(_)
                | Body::CoschedulingPodGroup(_)
                | Body::VolcanoPodGroup(_)
                | Body::KubernetesPodGroup(_),
            ) => {
                return None;
            }
        };
        pod.metadata.namespace = Some(arrival.key.namespace.to_string());
        pod.metadata.name = Some(arrival.key.name.to_string());
        let spoken = served.spoken(&pod);
        let (unheard, ask) = (served.unheard(&pod), ask_spec(&pod, served, spoken.as_ref()));
        Some(Self { site, prefix, pod, count, spoken, unheard, ask })
    }

    /// The task group that they are members of.
    pub(super) fn group(&self) -> Option<&Text> {
        if let Role::Member { group } = &self.ask.role { Some(group) } else { None }
    }

    /// Whether they wait for a node of ours.
    pub(super) fn are_to_be_placed(&self) -> bool {
        match &self.ask.place {
            Place::Gated | Place::Pending => self.ask.role != Role::Foreign,
            Place::Refused(_) | Place::On { .. } | Place::Succeeded | Place::Failed { .. } => false,
        }
    }

    /// What their own words are wrong about.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut found = self.objections();
        for warning in self.spoken.iter().flat_map(|spoken| &spoken.warnings) {
            let (field, message) = warning.split_once(": ").unwrap_or(("", &**warning));
            found.push(self.finding(Severity::Warning, field, message.to_owned()));
        }
        found.extend(self.stranger());
        found
    }

    /// About a field of theirs.
    pub(super) fn finding(&self, severity: Severity, field: &str, message: String) -> Finding {
        self.site.finding(severity, &self.field(field), message)
    }

    fn objections(&self) -> Vec<Finding> {
        let Place::Refused(objection) = &self.ask.place else { return Vec::new() };
        match &**objection {
            Objection::Misdeclared { problems, .. } => {
                let finding =
                    |error: &SpecError| self.finding(Severity::Error, &error.field, error.problem.to_string());
                problems.iter().map(finding).collect()
            }
            Objection::Unsupported(unsupported) => {
                let message = "is not supported by this version, so the pod would not be placed".to_owned();
                vec![self.finding(Severity::Error, &unsupported.field, message)]
            }
            Objection::GivenUp(annotation) => {
                let message = "says that the gang has timed out, so the pod would not be placed".to_owned();
                vec![self.finding(Severity::Error, annotation, message)]
            }
            Objection::OtherDialect(found) => {
                let subject = found.marker.rsplit(' ').next().filter(|subject| subject.contains(['/', '.']));
                vec![self.finding(Severity::Error, subject.unwrap_or_default(), objection.to_string())]
            }
        }
    }

    /// One of a gang that names another scheduler.
    fn stranger(&self) -> Option<Finding> {
        let group = label(&self.pod, names::TASK_GROUP).filter(|_| self.ask.role == Role::Foreign);
        let what = match (group, self.unheard) {
            (Some(group), _) => format!("it does not join TaskGroup {group}"),
            (None, Some(system)) => {
                format!(
                    "what it says in the words of {system} is not looked at (--scheduler-name says which names are served)"
                )
            }
            (None, None) => return None,
        };
        let scheduler = self.pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref());
        let said = scheduler.map_or("missing".to_owned(), |name| format!("{name:?}"));
        let message = format!("{said}, so {what}");
        Some(self.finding(Severity::Warning, "spec.schedulerName", message))
    }

    /// The field in the object. Some are said by the name of a label or annotation alone.
    fn field(&self, field: &str) -> String {
        let metadata = &self.pod.metadata;
        let maps = [("annotations", &metadata.annotations), ("labels", &metadata.labels)];
        let mut keys = maps.into_iter().flat_map(|(map, all)| all.iter().flatten().map(move |(key, _)| (map, key)));
        let within = |(map, key): (&str, &String)| {
            let rest = field.strip_prefix(&**key).filter(|_| key.contains('/'))?;
            Some(format!("{}metadata.{map}[{key}]{rest}", self.prefix))
        };
        let otherwise = || if field.is_empty() { String::new() } else { format!("{}{field}", self.prefix) };
        keys.find_map(within).unwrap_or_else(otherwise)
    }
}
