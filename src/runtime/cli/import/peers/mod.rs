//! What Koordinator and scheduler-plugins have: the configuration of a scheduler becomes values of the chart, ElasticQuotas become
//! Queues, and of PodGroups, which need no import, it is said what is made of them.

mod arguments;
mod pod_groups;
mod profiles;
mod quotas;
mod values;

use std::collections::BTreeSet;

use serde_json::Value;

use super::config::Reader;
use super::report::Report;
use crate::runtime::cli::source::{Node, Place, SourceError};
use pod_groups::Gang;

/// The configuration of a scheduler that is made of plugins.
pub(super) const SCHEDULER: &str = "KubeSchedulerConfiguration";

/// A kind that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// [`SCHEDULER`].
    Scheduler,
    /// A gang.
    PodGroup,
    /// A queue of Koordinator's.
    ElasticQuota,
}

impl Kind {
    /// Which one this is, as in `kind`.
    pub(super) fn of(kind: &str) -> Option<Self> {
        match kind {
            SCHEDULER => Some(Self::Scheduler),
            "PodGroup" => Some(Self::PodGroup),
            "ElasticQuota" => Some(Self::ElasticQuota),
            _ => None,
        }
    }
}

/// An object of these kinds, and where it was found.
#[derive(Clone, Debug)]
pub(super) struct Object {
    /// `cm.yaml: ConfigMap koord-scheduler-config, koord-scheduler-config`.
    pub(super) file: String,
    pub(super) kind: Kind,
    /// As the object says, or the list that it is in.
    pub(super) api_version: String,
    pub(super) node: Node,
}

impl Object {
    fn wrong(&self, at: Place, problem: String) -> SourceError {
        SourceError::Text { file: self.file.clone(), at: Some(at), problem }
    }

    /// Something of it, as the report names it: `f.yaml: line 3, column 5: profile a`.
    fn place(&self, at: Place, what: &str) -> String {
        format!("{}: {at}: {what}", self.file)
    }

    /// Reads it; what is wrong with it is among the errors then.
    fn read<T>(&self, errors: &mut Vec<SourceError>, read: impl FnOnce(&mut Reader) -> T) -> T {
        let mut reader = Reader::default();
        let said = read(&mut reader);
        errors.extend(reader.into_errors(&self.file));
        said
    }
}

/// Where everything goes that is made of these objects.
pub(super) struct Made<'a> {
    pub(super) queues: &'a mut Vec<Value>,
    pub(super) values: &'a mut Value,
    pub(super) report: &'a mut Report,
    pub(super) errors: &'a mut Vec<SourceError>,
}

/// Adds what becomes of these objects.
pub(super) fn add(objects: &[Object], made: &mut Made<'_>) {
    let of = |kind: Kind| objects.iter().filter(move |object| object.kind == kind);
    let mut setups = Vec::new();
    for object in of(Kind::Scheduler) {
        let setup = object.read(made.errors, |reader| profiles::read(&object.node, &object.api_version, reader));
        setups.push((object, setup));
    }
    let mut systems = BTreeSet::new();
    let wait_seconds = values::add(&setups, &mut systems, made);
    let told = of(Kind::PodGroup).filter_map(|object| pod_groups::tell(object, wait_seconds, made));
    let gangs: Vec<Gang> = told.collect();
    systems.extend(gangs.iter().map(|gang| gang.system));
    values::speak(&systems, made);
    quotas::add(of(Kind::ElasticQuota), made);
    pod_groups::tell_queues(&gangs, made);
}
