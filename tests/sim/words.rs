//! Gangs in the words of Koordinator, scheduler-plugins, Volcano and Kubernetes (03, 3.4; ADR 38): what pods and PodGroups say in plans, and what
//! judges read of it, by what the plan drew and not as the scheduler reads it.

use std::collections::BTreeSet;

use gangline::api::task_group::{MatchPolicy, Mode, Reservation, TaskGroup, TaskGroupSpec};
use gangline::shim::dialect::Dialect;
use gangline::shim::group_check::MAX_MEMBERS;
use gangline::shim::observation::Body;
use gangline::shim::op::{GroupEdit, Kind};
use gangline::sim::store::metadata;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::people::NS;
use super::plan::is_default;
use super::spoken::MEANT;

/// Whose words the scheduler understands where a plan does not say that it understands all.
pub(crate) const USUAL: &[Dialect] = &[Dialect::YuniKorn];
/// All of them.
pub(crate) const EVERY: &[Dialect] = &Dialect::ALL;

/// What beside judges nobody reads: what the plan drew, as JSON.
const SAID: &str = "plan.example.com/said";
/// What the keys of Koordinator's annotations begin with.
const PREFIX: &str = "gang.scheduling.koordinator.sh/";

/// Whose PodGroup it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Family {
    Koordinator,
    Coscheduling,
    Volcano,
    Kubernetes,
}

impl Family {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Koordinator, Self::Coscheduling, Self::Volcano, Self::Kubernetes];

    /// The kind of its PodGroups.
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Koordinator => Kind::KoordinatorPodGroup,
            Self::Coscheduling => Kind::CoschedulingPodGroup,
            Self::Volcano => Kind::VolcanoPodGroup,
            Self::Kubernetes => Kind::KubernetesPodGroup,
        }
    }

    const fn api_version(self) -> &'static str {
        match self {
            Self::Koordinator => "scheduling.sigs.k8s.io/v1alpha1",
            Self::Coscheduling => "scheduling.x-k8s.io/v1alpha1",
            Self::Volcano => "scheduling.volcano.sh/v1beta1",
            Self::Kubernetes => "scheduling.k8s.io/v1beta1",
        }
    }

    /// How many start together by a number that is written there; none by one that makes no sense. Volcano has no default but 0,
    /// with which nobody waits for another.
    fn least(self, written: Option<i64>) -> Option<u32> {
        let written = match self {
            Self::Koordinator | Self::Coscheduling | Self::Kubernetes => written?,
            Self::Volcano => written.filter(|written| *written != 0).unwrap_or(1),
        };
        u32::try_from(written).ok().filter(|min| *min > 0)
    }
}

/// The kind of an object that is named in an owner or an event.
pub(crate) fn kind_of(api_version: &str, kind: &str) -> Option<Kind> {
    let family = Family::ALL.into_iter().find(|family| family.api_version() == api_version)?;
    (kind == "PodGroup").then(|| family.kind())
}

/// By what a pod says that it is of a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// Koordinator's annotations.
    Annotations,
    /// Its labels, which are less to write.
    Labels,
    /// A PodGroup of Koordinator's.
    Koordinator,
    /// One of scheduler-plugins.
    Coscheduling,
    /// One of Volcano's.
    Volcano,
    /// One of Kubernetes' own.
    Kubernetes,
}

impl Way {
    /// All of them.
    pub(crate) const ALL: [Self; 6] =
        [Self::Annotations, Self::Labels, Self::Koordinator, Self::Coscheduling, Self::Volcano, Self::Kubernetes];

    /// Whose PodGroup it names, if it names one.
    pub(crate) const fn family(self) -> Option<Family> {
        match self {
            Self::Annotations | Self::Labels => None,
            Self::Koordinator => Some(Family::Koordinator),
            Self::Coscheduling => Some(Family::Coscheduling),
            Self::Volcano => Some(Family::Volcano),
            Self::Kubernetes => Some(Family::Kubernetes),
        }
    }

    /// What is reached when a gang starts whose pods say it so.
    pub(crate) fn start(self) -> String {
        format!("a gang starts that is declared by {self:?}")
    }
}

/// What a pod says. Who names a PodGroup says no more than that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WordsAct {
    pub(crate) way: Way,
    pub(crate) gang: String,
    /// How many start together.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) min: u32,
    /// The gangs with which it starts, as they are listed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) team: Vec<String>,
    /// Whether seats are held before there is a node for each.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) one_by_one: bool,
    /// How long it waits for nodes for all after it found some, in seconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) waits: Option<u32>,
    /// How many belong to it, if that is said.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) total: Option<u32>,
}

/// A PodGroup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PodGroupAct {
    pub(crate) family: Family,
    pub(crate) name: String,
    /// How many start together.
    pub(crate) min: i64,
    /// As of [`WordsAct`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) team: Vec<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) one_by_one: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) waits: Option<u32>,
    /// As of [`WordsAct`]; Koordinator's alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) total: Option<u32>,
    /// Who counts once it has started; Koordinator's alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) policy: MatchPolicy,
    /// The queue, which Volcano's name.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) queue: Option<String>,
    /// Whether each pod starts by itself, which Kubernetes' may say.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) basic: bool,
}

/// What is written of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// How many start together.
    pub(crate) min: u32,
    one_by_one: bool,
    policy: MatchPolicy,
    /// How many belong to it: no fewer than start together, also where that is not said or makes no sense.
    total: u32,
    /// The gangs with which it starts, itself among them; nobody where it starts alone.
    team: BTreeSet<String>,
}

impl Terms {
    /// Whether a TaskGroup says the same.
    pub(crate) fn are_said_by(&self, spec: &TaskGroupSpec) -> bool {
        let team: BTreeSet<String> = spec.gang_group.iter().cloned().collect();
        let is_without_placeholders = match spec.reservation {
            Reservation::Direct => true,
            Reservation::Placeholder => false,
        };
        self.are_followed_by(spec) && team == self.team && is_without_placeholders
    }

    /// The same of all that can be edited: not with whom it starts.
    pub(crate) fn are_followed_by(&self, spec: &TaskGroupSpec) -> bool {
        let said = (spec.min_member, spec.mode, spec.match_policy, total(spec.min_member, spec.total_member));
        said == (self.min, self.mode(), self.policy, self.total)
    }

    /// Whether an edit of a TaskGroup says the same, as far as it says something.
    pub(crate) fn are_said_by_edit(&self, edit: &GroupEdit) -> bool {
        let GroupEdit { min_member, total_member, mode, match_policy, wait_timeout_seconds: _ } = edit;
        (*min_member, *total_member) == (self.min, self.total)
            && mode.is_none_or(|said| said == self.mode())
            && match_policy.is_none_or(|said| said == self.policy)
    }

    const fn mode(&self) -> Mode {
        if self.one_by_one { Mode::NonStrict } else { Mode::Strict }
    }

    /// What annotations of a PodGroup say otherwise than those of another one.
    pub(crate) fn annotations_that_differ(&self, other: &Self) -> impl Iterator<Item = &'static str> {
        let is_other = [self.one_by_one != other.one_by_one, self.policy != other.policy, self.total != other.total];
        ANNOTATED.into_iter().zip(is_other).filter_map(|(what, is_other)| is_other.then_some(what))
    }
}

/// How many belong to a gang of which so many start together, by what is said of that.
fn total(min: u32, said: Option<u32>) -> u32 {
    said.filter(|total| *total > min).unwrap_or(min)
}

/// What annotations of a PodGroup say, which are edited.
const ANNOTATED: [&str; 3] = ["mode", "match policy", "total number"];

/// What is reached when one of them is edited.
pub(crate) fn edit(what: &str, has_started: bool) -> String {
    let when = if has_started { "after" } else { "before" };
    format!("the {what} of a PodGroup is edited {when} the start of its gang")
}

/// All of these.
pub(crate) fn edits() -> impl Iterator<Item = String> {
    ANNOTATED.into_iter().flat_map(|what| [false, true].map(|has_started| edit(what, has_started)))
}

impl WordsAct {
    /// What it says itself of its gang; nothing where it leaves that to a PodGroup.
    pub(crate) fn terms(&self) -> Option<Terms> {
        let is_own = self.way.family().is_none();
        is_own.then(|| Terms {
            min: self.min,
            one_by_one: self.one_by_one,
            policy: MatchPolicy::default(),
            total: total(self.min, self.total),
            team: with_itself(&self.gang, &self.team),
        })
    }

    /// What it says of its gang in annotations.
    fn noted(&self) -> Noted<'_> {
        let Self { team, one_by_one, waits, total, .. } = self;
        Noted { team, one_by_one: *one_by_one, waits: *waits, total: *total, policy: MatchPolicy::default() }
    }
}

/// Who lists others starts with these; who lists nobody else, alone.
fn with_itself(own: &str, listed: &[String]) -> BTreeSet<String> {
    let all = || listed.iter().map(String::as_str).chain([own]).map(|name| format!("{NS}/{name}"));
    if listed.iter().all(|name| name == own) { BTreeSet::new() } else { all().collect() }
}

/// What annotations of Koordinator's say.
struct Noted<'a> {
    team: &'a [String],
    one_by_one: bool,
    waits: Option<u32>,
    total: Option<u32>,
    policy: MatchPolicy,
}

impl Noted<'_> {
    /// The annotations.
    fn annotations(&self) -> Value {
        let policy = match self.policy {
            MatchPolicy::OnceSatisfied => None,
            MatchPolicy::WaitingAndRunning => Some("waiting-and-running".to_owned()),
            MatchPolicy::OnlyWaiting => Some("only-waiting".to_owned()),
        };
        let listed: Vec<String> = self.team.iter().map(|name| format!("{NS}/{name}")).collect();
        let said = [
            ("groups", (!listed.is_empty()).then(|| json!(listed).to_string())),
            ("mode", self.one_by_one.then(|| "NonStrict".to_owned())),
            ("waiting-time", self.waits.map(|waits| format!("{waits}s"))),
            ("total-number", self.total.map(|total| total.to_string())),
            ("match-policy", policy),
        ];
        let said = said.into_iter().filter_map(|(key, value)| Some((format!("{PREFIX}{key}"), json!(value?))));
        Value::Object(said.collect())
    }
}

/// Labels and annotations of a pod that says this.
pub(super) fn words(said: &WordsAct) -> (Value, Value) {
    let WordsAct { way, gang, min, .. } = said;
    let mut labels = json!({MEANT: gang});
    let mut annotated = json!({});
    match way {
        Way::Annotations => {
            annotated = said.noted().annotations();
            annotated[format!("{PREFIX}name")] = json!(gang);
            annotated[format!("{PREFIX}min-available")] = json!(min.to_string());
        }
        Way::Labels => {
            annotated = said.noted().annotations();
            labels["pod-group.scheduling.sigs.k8s.io/name"] = json!(gang);
            labels["pod-group.scheduling.sigs.k8s.io/min-available"] = json!(min.to_string());
        }
        Way::Koordinator => labels["pod-group.scheduling.sigs.k8s.io"] = json!(gang),
        Way::Coscheduling => labels["scheduling.x-k8s.io/pod-group"] = json!(gang),
        Way::Volcano => annotated["scheduling.k8s.io/group-name"] = json!(gang),
        // A field of the pod says it (`fields`).
        Way::Kubernetes => {}
    }
    annotated[SAID] = json!(json!(said).to_string());
    (labels, annotated)
}

/// Fields of the spec of a pod that says this.
pub(super) fn fields(said: &WordsAct, spec: &mut Value) {
    if said.way == Way::Kubernetes {
        spec["schedulingGroup"] = json!({"podGroupName": said.gang});
    }
}

/// The object that says this.
pub(super) fn object(said: &PodGroupAct) -> Value {
    let PodGroupAct { family, name, min, team, one_by_one, waits, total, policy, queue, basic } = said;
    let mut spec = json!({"minMember": min});
    let mut annotated = json!({});
    match family {
        Family::Koordinator => {
            let (one_by_one, total, policy) = (*one_by_one, *total, *policy);
            annotated = Noted { team, one_by_one, waits: None, total, policy }.annotations();
        }
        Family::Coscheduling => {}
        Family::Volcano => queue.iter().for_each(|queue| spec["queue"] = json!(queue)),
        Family::Kubernetes if *basic => spec = json!({"schedulingPolicy": {"basic": {}}}),
        Family::Kubernetes => spec = json!({"schedulingPolicy": {"gang": {"minCount": min}}}),
    }
    if let Some(waits) = waits {
        spec["scheduleTimeoutSeconds"] = json!(waits);
    }
    annotated[SAID] = json!(json!(said).to_string());
    json!({"metadata": {"name": name, "namespace": NS, "annotations": annotated}, "spec": spec})
}

fn said<T: DeserializeOwned>(body: &Body) -> Option<T> {
    let text = metadata(body).annotations.as_ref()?.get(SAID)?;
    Some(serde_json::from_str(text).expect("the plan wrote it"))
}

/// What a pod says, if it speaks so.
pub(crate) fn words_of(pod: &Body) -> Option<WordsAct> {
    if matches!(pod, Body::Pod(_)) { said(pod) } else { None }
}

/// What a PodGroup says; nothing where it is wrong.
pub(crate) fn terms_of(object: &Body) -> Option<Terms> {
    let (family, written) = match object {
        Body::KoordinatorPodGroup(group) => (Family::Koordinator, group.spec.min_member),
        Body::CoschedulingPodGroup(group) => (Family::Coscheduling, group.spec.min_member),
        Body::VolcanoPodGroup(group) => (Family::Volcano, group.spec.min_member),
        Body::KubernetesPodGroup(group) => {
            let policy = group.spec.scheduling_policy.as_ref();
            // Where each pod starts by itself nobody waits for another.
            let alone = policy.and_then(|policy| policy.basic.as_ref()).map(|_| 1);
            (Family::Kubernetes, alone.or_else(|| policy?.gang.as_ref()?.min_count))
        }
        Body::Pod(_)
        | Body::Node(_)
        | Body::TaskGroup(_)
        | Body::Queue(_)
        | Body::ResourceQuota(_)
        | Body::Namespace(_) => return None,
    };
    let PodGroupAct { name, team, one_by_one, total: belong, policy, basic, .. } = said(object)?;
    let min = family.least(written)?;
    // All who name one of Kubernetes' belong to its gang, however many they are.
    let belong = if family == Family::Kubernetes && !basic { Some(MAX_MEMBERS) } else { belong };
    Some(Terms { min, one_by_one, policy, total: total(min, belong), team: with_itself(&name, &team) })
}

/// With whom the gang of a PodGroup, or of a pod that declares it itself, starts.
pub(crate) fn team_of(body: &Body) -> Option<(String, BTreeSet<String>)> {
    match body {
        Body::Pod(_) => {
            let words = words_of(body)?;
            let team = words.terms()?.team;
            Some((words.gang, team))
        }
        Body::KoordinatorPodGroup(_)
        | Body::CoschedulingPodGroup(_)
        | Body::VolcanoPodGroup(_)
        | Body::KubernetesPodGroup(_) => {
            let PodGroupAct { name, team, .. } = said(body)?;
            let team = with_itself(&name, &team);
            Some((name, team))
        }
        Body::Node(_) | Body::TaskGroup(_) | Body::Queue(_) | Body::ResourceQuota(_) | Body::Namespace(_) => None,
    }
}

/// The PodGroup of which a TaskGroup was made, by kind and UID.
pub(crate) fn made_of(group: &TaskGroup) -> Option<(Kind, &str)> {
    let mut owners = group.metadata.owner_references.iter().flatten();
    owners.find_map(|owner| Some((kind_of(&owner.api_version, &owner.kind)?, owner.uid.as_str())))
}
