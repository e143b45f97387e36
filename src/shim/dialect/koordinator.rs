//! Koordinator's gangs, as its scheduler 1.8 reads them. Each pod of a gang declares it itself, in labels
//! (`pod-group.scheduling.sigs.k8s.io/…`) or annotations (`gang.scheduling.koordinator.sh/…`); or it names a PodGroup by the label
//! `pod-group.scheduling.sigs.k8s.io`, which counts before all others, and the object declares it, in its spec and in the same
//! annotations. What both say counts as the pod says it (seed 002 "Annotation way").
//!
//! A gang is one TaskGroup without placeholders, under the gang's name. Alone it is an application of that name; gangs of one
//! group are one application (ADR 36), also where they lie in several namespaces (ADR 37). To Koordinator a list that lacks the
//! gang that bears it lets that gang start without its own members being counted, and two lists of which each names the other gang
//! alone are two groups: so such a list is read with the gang itself, which is told.
//!
//! Where Koordinator documents a default for a value that makes no sense it is taken and told; anything else that is wrong, or is
//! read there and not here, is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::pod_group::{Agreed, Reference, System, Terms};
use super::{Declared, Spoken, Warnings, coscheduling, hashed, said};
use crate::api::task_group::{MatchPolicy, Mode};
use crate::core::base::ids::Text;
use crate::core::model::countdown::Deadline;
use crate::shim::group_check::{MAX_MEMBERS, MAX_RESOURCES, range_of};
use crate::shim::spec_errors::{Errors, is_divisible, is_other_resource};
use crate::shim::task_group::MAX_GANG;
use crate::shim::{go_duration, requests, syntax};

/// Its name, for people.
const SYSTEM: &str = "Koordinator";
/// Label: the PodGroup object that is the pod's gang.
pub(super) const POD_GROUP: &str = "pod-group.scheduling.sigs.k8s.io";
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
/// Annotation: the pod's gang has timed out, if it says [`TIMED_OUT`]. It is written, too (ADR 42).
pub const TIMEOUT: &str = "gang.scheduling.koordinator.sh/timeout";
/// The one value that means something there.
pub const TIMED_OUT: &str = "true";

/// The labels that are read.
const LABELS: [&str; 2] = [NAME_LABEL, MIN_LABEL];
/// The annotations that are read, under their prefix.
const ANNOTATIONS: [&str; 9] = [NAME, MIN, TOTAL, WAIT, MODE, GROUPS, GANG_GROUPS, POLICY, TIMEOUT];

/// The default of what a PodGroup or a pod that names one says wrongly: which, the other of the two may say.
const CONFIGURED: &str = "what else is configured";
/// Longest list of gangs that is read: twice what the most gangs with the longest names take.
const LONGEST: usize = 16 << 10;
/// Characters of a wrong value that are repeated: the sentence about it has to fit beside it.
const QUOTED: usize = 40;

/// What a pod says; none if it says nothing of Koordinator. A gang that does not say how long it waits does so for
/// `wait_timeout_seconds`.
pub fn read(pod: &Pod, wait_timeout_seconds: u32) -> Option<Spoken> {
    let mut reading = Reading::of(&pod.metadata);
    let object = reading.label(POD_GROUP);
    let is_said = LABELS.iter().any(|key| reading.label(key).is_some())
        || ANNOTATIONS.iter().any(|key| reading.annotation(key).is_some());
    if object.is_none() && !is_said {
        return None;
    }
    reading.refuse_what_is_not_read();
    let queue = coscheduling::queue(pod, &mut reading.errors);
    let timed_out = Some(reading.has_timed_out());
    let spoken = Spoken { system: SYSTEM, queue, timed_out, ..Spoken::default() };
    let spoken = match object {
        Some(name) => reading.refer(pod, name, wait_timeout_seconds, spoken),
        None => reading.declare(pod, wait_timeout_seconds, spoken),
    };
    Some(reading.end(spoken))
}

/// What the annotations of a PodGroup of so many, which waits so long by a field of its own, say of its gang, and what was read
/// otherwise than it is written. The field counts before the annotation, which Koordinator does not read there.
pub(super) fn of_object(
    metadata: &ObjectMeta,
    min_member: Option<u32>,
    by_field: Option<u32>,
    errors: &mut Errors,
) -> (Terms, Vec<Text>) {
    let mut reading = Reading::of(metadata);
    reading.refuse_what_is_not_read();
    if reading.has_timed_out() {
        reading.errors.add(TIMEOUT, "says that the gang has timed out: make the object anew, or remove the annotation");
    }
    let total_member = reading.total_member(min_member, "minMember");
    let team = reading.team(metadata.name.as_deref().unwrap_or_default());
    let by_annotation = reading.wait_seconds(CONFIGURED);
    if let (Some(counts), Some(other)) = (by_field, by_annotation)
        && counts != other
    {
        let field = "spec.scheduleTimeoutSeconds";
        reading.warnings.add(|| format!("{WAIT}: {other}s is left out, since {field} says {counts}"));
    }
    let (mode, match_policy) = (reading.mode(), reading.match_policy());
    let wait_seconds = by_field.or(by_annotation);
    let terms = Terms { min_member, total_member, wait_seconds, mode, match_policy, team };
    errors.extend(reading.errors.into_sorted());
    (terms, reading.warnings.0)
}

/// The application of a gang: the gang, or the set of those that start together, whichever of them says it.
pub(super) fn application(name: &str, team: &BTreeSet<String>) -> Text {
    let names: Vec<&str> = team.iter().map(String::as_str).collect();
    match *names {
        [first, _, ..] => hashed(first.split('/').next_back().unwrap_or(first), "gangs", &names),
        [] | [_] => name.into(),
    }
}

/// Whether a text can be the name of a gang, which is a TaskGroup's here.
pub(super) fn check_name(errors: &mut Errors, key: &str, name: &str) -> bool {
    let is_fine = syntax::is_dns_subdomain(name) && name.len() <= syntax::MAX_LABEL;
    let problem =
        "must be a name as objects have it (RFC 1123) of at most 63 characters, since it is a TaskGroup's here";
    errors.unless(is_fine, key, problem);
    is_fine
}

/// What those count for that are not there yet: what this pod requests, which is all that is known of them.
pub(super) fn min_resource(pod: &Pod) -> BTreeMap<String, Quantity> {
    let requests = requests::of_pod(pod);
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

/// A pod or PodGroup that is being read, and what was found.
struct Reading<'a> {
    metadata: &'a ObjectMeta,
    errors: Errors,
    warnings: Warnings,
}

impl<'a> Reading<'a> {
    fn of(metadata: &'a ObjectMeta) -> Self {
        Self { metadata, errors: Errors::default(), warnings: Warnings::default() }
    }

    fn label(&self, key: &str) -> Option<&'a str> {
        said(self.metadata.labels.as_ref()?.get(key))
    }

    fn annotation(&self, key: &str) -> Option<&'a str> {
        said(self.metadata.annotations.as_ref()?.get(key))
    }

    /// The gang that a pod declares itself.
    fn declare(&mut self, pod: &Pod, wait_timeout_seconds: u32, spoken: Spoken) -> Spoken {
        let (name, min_member) = (self.name(), self.required_min());
        let team = name.and_then(|name| self.team(name)).unwrap_or_default();
        let wait = self.wait_seconds(&format!("{wait_timeout_seconds}s")).unwrap_or(wait_timeout_seconds);
        let (mode, policy) = (self.mode(), self.match_policy());
        let total_member = self.total_member(min_member, "min-available");
        let application = name.map(|name| application(name, &team));
        let mut spoken = Spoken { application, group: name.map(Text::from), ..spoken };
        match (name, min_member) {
            (Some(name), Some(0)) => spoken.left_out.push(self.left_out(name, &team)),
            (Some(name), Some(min_member)) => {
                let (queue, min_resource) = (spoken.queue.clone(), min_resource(pod));
                let (wait_seconds, mode) = (Some(wait), mode.unwrap_or_default());
                let (match_policy, team) = (policy.unwrap_or_default(), &team);
                let agreed = Agreed {
                    name,
                    queue,
                    min_member,
                    total_member,
                    min_resource,
                    wait_seconds,
                    mode,
                    match_policy,
                    team,
                };
                let declared = Declared { name: name.into(), spec: agreed.task_group(), owner: super::owner(pod) };
                spoken.declares.push(Arc::new(declared));
            }
            (None, _) | (_, None) => {}
        }
        spoken
    }

    /// The gang that a PodGroup declares, as far as the pod says something else of it.
    fn refer(&mut self, pod: &Pod, name: &'a str, wait_timeout_seconds: u32, spoken: Spoken) -> Spoken {
        if !check_name(&mut self.errors, POD_GROUP, name) {
            return spoken;
        }
        let others = [(NAME_LABEL, self.label(NAME_LABEL)), (NAME, self.annotation(NAME))];
        for (key, other) in others.into_iter().filter_map(|(key, other)| Some((key, other.filter(|it| *it != name)?))) {
            self.warnings
                .add(|| format!("{key}: {:?} is left out, since the label {POD_GROUP} says {name:?}", start_of(other)));
        }
        let min_member = self.min_member();
        if min_member == Some(0) {
            self.errors.add(MIN, "0 has no meaning for a gang that is an object: leave its label out");
        }
        let total_member = self.total_member(min_member, CONFIGURED);
        let (wait_seconds, mode) = (self.wait_seconds(CONFIGURED), self.mode());
        let (match_policy, team) = (self.match_policy(), self.team(name));
        let terms = Terms { min_member, total_member, wait_seconds, mode, match_policy, team };
        let reference = Reference {
            system: System::Koordinator,
            name: name.into(),
            queue: spoken.queue.clone(),
            min_resource: min_resource(pod),
            terms,
            wait_seconds: Some(wait_timeout_seconds),
            priority: None,
        };
        Spoken { group: Some(name.into()), refers: Some(Arc::new(reference)), ..spoken }
    }

    /// Whether it says that the gang has timed out. Nothing but this one value does, as in Koordinator.
    fn has_timed_out(&self) -> bool {
        self.annotation(TIMEOUT) == Some(TIMED_OUT)
    }

    /// What Koordinator reads and nothing here does, such as the topology of a gang's network.
    fn refuse_what_is_not_read(&mut self) {
        let metadata = self.metadata;
        let labels = said_under(metadata.labels.as_ref(), LABEL_PREFIX).filter(|key| !LABELS.contains(key));
        let annotations = said_under(metadata.annotations.as_ref(), PREFIX).filter(|key| !ANNOTATIONS.contains(key));
        let topology = self.annotation(TOPOLOGY).map(|_| TOPOLOGY);
        labels.chain(annotations).chain(topology).for_each(|key| self.errors.add(key, "is not supported yet"));
    }

    /// Whether seats are held one by one, if that is said. What is no mode says Strict, as in Koordinator.
    fn mode(&mut self) -> Option<Mode> {
        match self.annotation(MODE)? {
            "Strict" => Some(Mode::Strict),
            "NonStrict" => Some(Mode::NonStrict),
            other => {
                self.take_default(MODE, other, "is no mode", "Strict");
                Some(Mode::Strict)
            }
        }
    }

    /// Who counts once the gang has started, if that is said. What is no policy says `once-satisfied`, as in Koordinator.
    fn match_policy(&mut self) -> Option<MatchPolicy> {
        let policy = self.annotation(POLICY);
        let key = if policy.is_some() { POLICY } else { POLICY_ALIAS };
        match policy.or_else(|| self.annotation(POLICY_ALIAS))? {
            "once-satisfied" => Some(MatchPolicy::OnceSatisfied),
            "waiting-and-running" => Some(MatchPolicy::WaitingAndRunning),
            "only-waiting" => Some(MatchPolicy::OnlyWaiting),
            other => {
                self.take_default(key, other, "is no policy", "once-satisfied");
                Some(MatchPolicy::OnceSatisfied)
            }
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
        check_name(&mut self.errors, key, name).then_some(name)
    }

    /// How many start together, which a pod without a PodGroup must say.
    fn required_min(&mut self) -> Option<u32> {
        if self.label(MIN_LABEL).is_none() && self.annotation(MIN).is_none() {
            let problem =
                "is missing: a pod of a gang says by this annotation how many start together, or by the label";
            self.errors.add(MIN, problem);
        }
        self.min_member()
    }

    /// How many start together, if that is said. No other number is taken for one that makes no sense, as in Koordinator, where such a pod says
    /// nothing of its gang.
    fn min_member(&mut self) -> Option<u32> {
        let (key, text) = self.label_or_annotation(MIN_LABEL, MIN)?;
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
        let (by_label, by_annotation) = (self.label(of_label), self.annotation(of_annotation));
        if let (Some(counts), Some(other)) = (by_label, by_annotation)
            && counts != other
        {
            let (counts, other) = (start_of(counts), start_of(other));
            self.warnings
                .add(|| format!("{of_annotation}: {other:?} is left out, since the label {of_label} says {counts:?}"));
        }
        by_label.map(|text| (of_label, text)).or_else(|| Some((of_annotation, by_annotation?)))
    }

    /// The gangs with which this one starts, as `namespace/name`, itself among them, and nobody if it starts alone; none where
    /// that is not said.
    fn team(&mut self, name: &str) -> Option<BTreeSet<String>> {
        let (key, listed) = self.listed()?;
        let count = listed.len();
        let own = format!("{}/{name}", self.namespace());
        // The list is read with the gang itself.
        if count + usize::from(!listed.contains(&own)) > MAX_GANG {
            self.errors.add(key, format!("must have at most {MAX_GANG} gangs, this one included, has {count}"));
            return None;
        }
        let entries = listed.iter().enumerate();
        let mut team: BTreeSet<String> = entries.filter_map(|(at, entry)| self.entry(key, at, entry)).collect();
        if count > 0 && team.insert(own) {
            self.warnings.add(|| format!("{key}: the list lacks the gang itself, {name}, and is read as if it had it"));
        }
        Some(team)
    }

    /// The list of gangs, as it is written.
    fn listed(&mut self) -> Option<(&'static str, Vec<String>)> {
        let (groups, other) = (self.annotation(GROUPS), self.annotation(GANG_GROUPS));
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
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// How long some members may have found nodes and not all, if that is said and makes sense.
    fn wait_seconds(&mut self, default: &str) -> Option<u32> {
        let text = self.annotation(WAIT)?;
        let (least, most) = range_of(Deadline::Wait);
        let Some(seconds) = go_duration::seconds(text).filter(|seconds| *seconds >= u64::from(least)) else {
            let why = "is no time with its unit, such as 600s or 1h30m, above 0";
            self.take_default(WAIT, text, why, default);
            return None;
        };
        let taken = u32::try_from(seconds).map_or(most, |seconds| seconds.min(most));
        if u64::from(taken) != seconds {
            self.warnings.add(|| format!("{WAIT}: {:?} is more than can be: {most}s are taken", start_of(text)));
        }
        Some(taken)
    }

    /// How many members there are in all, if that is said and makes sense: no fewer than start together, where this says how many
    /// those are. Koordinator itself has not heeded it since 1.7.
    fn total_member(&mut self, min_member: Option<u32>, default: &str) -> Option<u32> {
        let text = self.annotation(TOTAL)?;
        let is_enough = |total: &u64| *total >= min_member.map_or(0, u64::from);
        let Some(total) = text.parse::<u64>().ok().filter(is_enough) else {
            self.take_default(TOTAL, text, "is no number as large as how many start together", default);
            return None;
        };
        let taken = u32::try_from(total).map_or(MAX_MEMBERS, |total| total.min(MAX_MEMBERS));
        if u64::from(taken) != total {
            self.warnings.add(|| format!("{TOTAL}: {:?} is more than can be: {taken} are taken", start_of(text)));
        }
        Some(taken)
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

    fn end(self, mut spoken: Spoken) -> Spoken {
        spoken.problems = self.errors.into_sorted();
        spoken.warnings = self.warnings.0;
        if !spoken.problems.is_empty() {
            spoken.declares.clear();
            spoken.left_out.clear();
            spoken.refers = None;
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
pub(super) fn start_of(text: &str) -> &str {
    text.char_indices().nth(QUOTED).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests;
