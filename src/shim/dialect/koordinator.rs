//! Koordinator's gangs as pods declare them themselves, in labels (`pod-group.scheduling.sigs.k8s.io/…`) or annotations
//! (`gang.scheduling.koordinator.sh/…`), as its scheduler 1.8 reads them. Each pod of a gang declares it.
//!
//! A gang is one TaskGroup without placeholders, under the gang's name. Alone it is an application of that name; gangs of one
//! group are one application (ADR 36), also where they lie in several namespaces (ADR 37). To Koordinator a list that lacks the gang that bears it lets that gang start without its
//! own members being counted, and two lists of which each names the other gang alone are two groups: so such a list is read
//! with the gang itself, which is told.
//!
//! Where Koordinator documents a default for a value that makes no sense it is taken and told; anything else that is wrong, or is
//! read there and not here, is refused on the pod. Not read are PodGroup objects: a pod that names one by the label
//! `pod-group.scheduling.sigs.k8s.io`, which counts before all others there, is another system's (`src/shim/foreign.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{Declared, Spoken, Warnings, annotation, hashed, label};
use crate::api::names;
use crate::api::task_group::{Reservation, TaskGroupSpec};
use crate::core::base::ids::Text;
use crate::core::model::countdown::Deadline;
use crate::shim::group_check::{MAX_MEMBERS, MAX_RESOURCES, range_of};
use crate::shim::spec_errors::{Errors, is_divisible, is_other_resource};
use crate::shim::task_group::MAX_GANG;
use crate::shim::{escape, go_duration, requests, syntax};

/// Its name, for people.
const SYSTEM: &str = "Koordinator";
/// Label: the PodGroup object that is the pod's gang.
const POD_GROUP: &str = "pod-group.scheduling.sigs.k8s.io";
/// Annotation: nodes of which network, which nothing here reads.
const TOPOLOGY: &str = "scheduling.koordinator.sh/network-topology-selector";
/// What the keys of its other labels begin with.
const LABEL_PREFIX: &str = "pod-group.scheduling.sigs.k8s.io/";
/// Label: the gang.
const NAME_LABEL: &str = "pod-group.scheduling.sigs.k8s.io/name";
/// Label: how many members start together.
const MIN_LABEL: &str = "pod-group.scheduling.sigs.k8s.io/min-available";
/// What the keys of its annotations begin with.
const PREFIX: &str = "gang.scheduling.koordinator.sh/";
/// Annotation: the gang, where no label names it.
const NAME: &str = "gang.scheduling.koordinator.sh/name";
/// Annotation: how many members start together, where no label says it.
const MIN: &str = "gang.scheduling.koordinator.sh/min-available";
/// Annotation: how many members there are in all.
const TOTAL: &str = "gang.scheduling.koordinator.sh/total-number";
/// Annotation: for how long some may have found nodes and not all.
const WAIT: &str = "gang.scheduling.koordinator.sh/waiting-time";
/// Annotation: `Strict` or `NonStrict`.
const MODE: &str = "gang.scheduling.koordinator.sh/mode";
/// Annotation: the gangs that start together, as a JSON array of `namespace/name`.
const GROUPS: &str = "gang.scheduling.koordinator.sh/groups";
/// The same, as its design spells it in one place.
const GANG_GROUPS: &str = "gang.scheduling.koordinator.sh/gang-groups";
/// Annotation: who counts once the gang has started.
const POLICY: &str = "gang.scheduling.koordinator.sh/match-policy";
/// Annotation with the same meaning, where that one is empty.
const POLICY_ALIAS: &str = "pod-group.scheduling.sigs.k8s.io/match-policy";
/// Annotation: the pod's gang has timed out.
const TIMEOUT: &str = "gang.scheduling.koordinator.sh/timeout";

/// The labels that are read.
const LABELS: [&str; 2] = [NAME_LABEL, MIN_LABEL];
/// The annotations that are read, under their prefix.
const ANNOTATIONS: [&str; 9] = [NAME, MIN, TOTAL, WAIT, MODE, GROUPS, GANG_GROUPS, POLICY, TIMEOUT];

/// Longest list of gangs that is read: twice what the most gangs with the longest names take.
const LONGEST: usize = 16 << 10;
/// Characters of a wrong value that are repeated: the sentence about it has to fit beside it.
const QUOTED: usize = 40;

/// Whether a pod names a PodGroup object, which decides on its gang before all else that it says.
pub fn names_pod_group(pod: &Pod) -> bool {
    label(pod, POD_GROUP).is_some()
}

/// What a pod says; none if it says nothing of Koordinator. A gang that does not say how long it waits does so for
/// `wait_timeout_seconds`.
pub fn read(pod: &Pod, wait_timeout_seconds: u32) -> Option<Spoken> {
    let is_said = LABELS.iter().any(|key| label(pod, key).is_some())
        || ANNOTATIONS.iter().any(|key| annotation(pod, key).is_some());
    if !is_said || names_pod_group(pod) {
        return None;
    }
    let mut reading = Reading { pod, errors: Errors::default(), warnings: Warnings::default() };
    reading.refuse_what_is_not_read();
    reading.refuse_modes();
    let (name, min_member, queue) = (reading.name(), reading.min_member(), reading.queue());
    let team = name.map(|name| reading.team(name)).unwrap_or_default();
    let wait = reading.wait_seconds(wait_timeout_seconds);
    reading.check_total(min_member);
    let mut spoken = Spoken {
        system: SYSTEM,
        application: name.map(|name| application(name, &team)),
        group: name.map(Text::from),
        queue,
        ..Spoken::default()
    };
    match (name, min_member) {
        (Some(name), Some(0)) => spoken.left_out.push(reading.left_out(name, &team)),
        (Some(name), Some(min)) => {
            let declared = reading.declared(name, min, &team, wait, &spoken);
            spoken.declares.push(Arc::new(declared));
        }
        (None, _) | (_, None) => {}
    }
    Some(reading.end(spoken))
}

/// The application of a gang: the gang, or the set of those that start together, whichever of them says it.
fn application(name: &str, team: &BTreeSet<String>) -> Text {
    let names: Vec<&str> = team.iter().map(String::as_str).collect();
    match *names {
        [first, _, ..] => hashed(first.split('/').next_back().unwrap_or(first), "gangs", &names),
        [] | [_] => name.into(),
    }
}

/// A pod that is being read, and what was found.
struct Reading<'a> {
    pod: &'a Pod,
    errors: Errors,
    warnings: Warnings,
}

impl<'a> Reading<'a> {
    /// What Koordinator reads and nothing here does, such as the topology of a gang's network; and that the gang is given up.
    fn refuse_what_is_not_read(&mut self) {
        let metadata = &self.pod.metadata;
        let labels = said_under(metadata.labels.as_ref(), LABEL_PREFIX).filter(|key| !LABELS.contains(key));
        let annotations = said_under(metadata.annotations.as_ref(), PREFIX).filter(|key| !ANNOTATIONS.contains(key));
        let topology = annotation(self.pod, TOPOLOGY).map(|_| TOPOLOGY);
        labels.chain(annotations).chain(topology).for_each(|key| self.errors.add(key, "is not supported yet"));
        if annotation(self.pod, TIMEOUT) == Some("true") {
            let problem = "says that the gang has timed out, so that its pods are placed no more: delete the pod, and submit it again";
            self.errors.add(TIMEOUT, problem);
        }
    }

    fn refuse_modes(&mut self) {
        match annotation(self.pod, MODE) {
            None | Some("Strict") => {}
            Some("NonStrict") => self.errors.add(MODE, "NonStrict is not supported yet, only Strict is"),
            Some(other) => self.take_default(MODE, other, "is no mode", "Strict"),
        }
        let (policy, alias) = (annotation(self.pod, POLICY), annotation(self.pod, POLICY_ALIAS));
        let key = if policy.is_some() { POLICY } else { POLICY_ALIAS };
        match policy.or(alias) {
            None | Some("once-satisfied") => {}
            Some(known @ ("waiting-and-running" | "only-waiting")) => {
                self.errors.add(key, format!("{known} is not supported yet, only once-satisfied is"));
            }
            Some(other) => self.take_default(key, other, "is no policy", "once-satisfied"),
        }
    }

    fn take_default(&mut self, key: &str, text: &str, why: &str, default: &str) {
        self.warnings.add(|| format!("{key}: {:?} {why}: the default is taken, {default}", start_of(text)));
    }

    /// The gang's name. The label counts before the annotation.
    fn name(&mut self) -> Option<&'a str> {
        let Some((key, name)) = self.label_or_annotation(NAME_LABEL, NAME) else {
            self.errors.add(NAME, "is missing: a pod of a gang names it by this annotation, or by the label");
            return None;
        };
        let is_fine = syntax::is_dns_subdomain(name) && name.len() <= syntax::MAX_LABEL;
        let problem =
            "must be a name as objects have it (RFC 1123) of at most 63 characters, since it is a TaskGroup's here";
        self.errors.unless(is_fine, key, problem);
        is_fine.then_some(name)
    }

    /// How many start together. No other number is taken for one that makes no sense, as in Koordinator, where such a pod says
    /// nothing of its gang.
    fn min_member(&mut self) -> Option<u32> {
        let Some((key, text)) = self.label_or_annotation(MIN_LABEL, MIN) else {
            self.errors.add(
                MIN,
                "is missing: a pod of a gang says by this annotation how many start together, or by the label",
            );
            return None;
        };
        let min = text.parse::<u32>().ok().filter(|min| *min <= MAX_MEMBERS);
        if min.is_none() {
            self.errors.add(key, format!("{:?} must be a number from 0 to {MAX_MEMBERS}", start_of(text)));
        }
        min
    }

    fn label_or_annotation(
        &mut self,
        of_label: &'static str,
        of_annotation: &'static str,
    ) -> Option<(&'static str, &'a str)> {
        let (by_label, by_annotation) = (label(self.pod, of_label), annotation(self.pod, of_annotation));
        if let (Some(counts), Some(other)) = (by_label, by_annotation)
            && counts != other
        {
            let (counts, other) = (start_of(counts), start_of(other));
            self.warnings
                .add(|| format!("{of_annotation}: {other:?} is left out, since the label {of_label} says {counts:?}"));
        }
        by_label.map(|text| (of_label, text)).or_else(|| Some((of_annotation, by_annotation?)))
    }

    /// The queue, which has no words in Koordinator's gangs.
    fn queue(&mut self) -> Option<Text> {
        let path = label(self.pod, names::QUEUE)?;
        let problem = "must be a queue path of at most 63 characters: root, or root. and DNS labels joined by dots";
        self.errors.unless(syntax::is_queue_path(path), names::QUEUE, problem);
        Some(escape::bounded(path, syntax::MAX_LABEL))
    }

    /// The gangs with which this one starts, as `namespace/name`, itself among them; none if it starts alone.
    fn team(&mut self, name: &str) -> BTreeSet<String> {
        let Some((key, listed)) = self.listed() else { return BTreeSet::new() };
        let count = listed.len();
        let own = format!("{}/{name}", self.namespace());
        // The list is read with the gang itself.
        if count + usize::from(!listed.contains(&own)) > MAX_GANG {
            self.errors.add(key, format!("must have at most {MAX_GANG} gangs, this one included, has {count}"));
            return BTreeSet::new();
        }
        let entries = listed.iter().enumerate();
        let mut team: BTreeSet<String> = entries.filter_map(|(at, entry)| self.entry(key, at, entry)).collect();
        if count > 0 && team.insert(own) {
            self.warnings.add(|| format!("{key}: the list lacks the gang itself, {name}, and is read as if it had it"));
        }
        team
    }

    /// The list of gangs, as it is written.
    fn listed(&mut self) -> Option<(&'static str, Vec<String>)> {
        let (groups, other) = (annotation(self.pod, GROUPS), annotation(self.pod, GANG_GROUPS));
        if groups.is_some() && other.is_some() && groups != other {
            self.warnings.add(|| format!("{GANG_GROUPS}: is left out, since {GROUPS} says something else"));
        }
        let (key, text) = groups.map(|text| (GROUPS, text)).or_else(|| Some((GANG_GROUPS, other?)))?;
        if text.len() > LONGEST {
            self.errors.add(key, format!("must have at most {LONGEST} characters, has {}", text.len()));
            return None;
        }
        match serde_json::from_str::<Option<Vec<String>>>(text) {
            Ok(listed) => Some((key, listed.unwrap_or_default())),
            Err(_) => {
                let form = "is no JSON array of texts";
                self.take_default(key, text, form, "this gang alone");
                None
            }
        }
    }

    /// A listed gang, if it is one.
    fn entry(&mut self, key: &str, at: usize, entry: &str) -> Option<String> {
        let is_fine = entry.split_once('/').is_some_and(|(namespace, name)| {
            syntax::is_dns_label(namespace) && syntax::is_dns_subdomain(name) && name.len() <= syntax::MAX_LABEL
        });
        let problem = format!("{:?} must be namespace/name", start_of(entry));
        self.errors.unless(is_fine, format!("{key}[{at}]"), &*problem);
        is_fine.then(|| entry.to_owned())
    }

    fn namespace(&self) -> &'a str {
        self.pod.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// How long some members may have found nodes and not all.
    fn wait_seconds(&mut self, default: u32) -> u32 {
        let Some(text) = annotation(self.pod, WAIT) else { return default };
        let (least, most) = range_of(Deadline::Wait);
        let Some(seconds) = go_duration::seconds(text).filter(|seconds| *seconds >= u64::from(least)) else {
            let why = "is no time with its unit, such as 600s or 1h30m, above 0";
            self.take_default(WAIT, text, why, &format!("{default}s"));
            return default;
        };
        let taken = u32::try_from(seconds).map_or(most, |seconds| seconds.min(most));
        if u64::from(taken) != seconds {
            self.warnings.add(|| format!("{WAIT}: {:?} is more than can be: {most}s are taken", start_of(text)));
        }
        taken
    }

    /// How many members there are in all decides nothing, but it may be a slip. Whoever is there beyond `min-available` is placed
    /// with the gang as far as there is room (`src/core/gang/gate.rs` asks for the least number alone, 01, 1.3 and 1.4); Koordinator
    /// itself has not read it since 1.7.
    fn check_total(&mut self, min_member: Option<u32>) {
        let Some((text, min)) = annotation(self.pod, TOTAL).zip(min_member) else { return };
        if !text.parse::<u32>().is_ok_and(|total| total >= min) {
            self.take_default(TOTAL, text, "is no number as large as min-available", &min.to_string());
        }
    }

    /// A gang of nobody waits for nobody, so that each of its pods is placed by itself. Others of its group would wait for its TaskGroup.
    fn left_out(&mut self, name: &str, team: &BTreeSet<String>) -> Text {
        let problem = "0 has no meaning among gangs that start together: leave the gang out of their groups";
        self.errors.unless(team.len() < 2, MIN, problem);
        self.warnings.add(|| {
            format!("{MIN}: with 0 no gang waits for the pods of {name}, and each is placed where it has room")
        });
        name.into()
    }

    fn declared(&self, name: &str, min_member: u32, team: &BTreeSet<String>, wait: u32, spoken: &Spoken) -> Declared {
        let listed = team.iter().filter(|_| team.len() > 1).cloned();
        let spec = TaskGroupSpec {
            application_id: spoken.application.as_deref().map(str::to_owned),
            queue: spoken.queue.as_deref().map(str::to_owned),
            min_member,
            min_resource: self.min_resource(),
            gang_group: listed.collect(),
            reservation: Reservation::Direct,
            wait_timeout_seconds: Some(wait),
            ..TaskGroupSpec::default()
        };
        Declared { name: name.into(), spec, owner: super::owner(self.pod) }
    }

    /// What those count for that are not there yet: what this pod requests, which is all that is known of them.
    fn min_resource(&self) -> BTreeMap<String, Quantity> {
        let requests = requests::of_pod(self.pod);
        let known = requests.iter().filter(|(name, amount)| {
            // Not what every pod asks for by being one.
            *amount > 0 && (is_divisible(name) || is_other_resource(name))
        });
        let amount = |name: &str, amount: i64| format!("{amount}{}", if name == "cpu" { "m" } else { "" });
        let amounts = known.map(|(name, all)| (name.to_owned(), Quantity(amount(name, all))));
        let mut amounts: BTreeMap<_, _> = amounts.take(MAX_RESOURCES).collect();
        if amounts.is_empty() {
            // A TaskGroup must ask for something.
            amounts.insert("memory".to_owned(), Quantity("1".to_owned()));
        }
        amounts
    }

    fn end(self, mut spoken: Spoken) -> Spoken {
        spoken.problems = self.errors.into_sorted();
        spoken.warnings = self.warnings.0;
        if !spoken.problems.is_empty() {
            spoken.declares.clear();
            spoken.left_out.clear();
        }
        spoken
    }
}

/// The keys with this beginning that say something.
fn said_under<'a>(map: Option<&'a BTreeMap<String, String>>, prefix: &str) -> impl Iterator<Item = &'a str> {
    let said = map.into_iter().flatten().filter(move |(key, value)| key.starts_with(prefix) && !value.is_empty());
    said.map(|(key, _)| key.as_str())
}

/// As much of a text as people need to find it.
fn start_of(text: &str) -> &str {
    text.char_indices().nth(QUOTED).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests;
