//! Reads a TaskGroup: defaults, every error at once, and what its status remembers.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::dialect::WAIT_TIMEOUT_SECONDS;
use super::placeholder::{self, Blueprint, PlaceholderConfig};
use super::quantity::Quantity;
use super::show::{MAX_MESSAGE, TIMED_OUT};
use super::spec_errors::Errors;
use super::{digest, escape, group_check, pod, requests, syntax};
use crate::api::task_group::{self as api, TaskGroup, TaskGroupSpec, TaskGroupStatus};
use crate::core::base::ids::{Key, Text, Uid};
use crate::core::base::resources::{PODS, Resources};
use crate::core::codes::Code;
use crate::core::event::{
    GroupSpec, MatchPolicy, Mode, PlaceholderFor, PlaceholderName, Remembered, Reservation, Style,
};
use crate::core::model::countdown::{Deadline, Deadlines, TimedOut, Timeouts};
use crate::core::model::lifecycle::AppState;
use crate::core::shape::Shape;
use crate::core::time::Wall;

/// Most task groups of one application.
pub const MAX_GANG: usize = 64;
/// Bytes of the hash in the name of a gang in several namespaces: so many that nobody finds another gang with the same.
const HASH: usize = 16;
/// Seconds in Waiting before Completed, if the TaskGroup does not say.
const COMPLETION_TIMEOUT_SECONDS: u32 = 30;
/// Seconds for which placeholders hold seats, if the TaskGroup does not say: as in YuniKorn.
const PLACEHOLDER_TIMEOUT_SECONDS: u32 = 900;
/// How long the room of a lost member is kept by default (01, 1.7).
const SEAT_HOLD_SECONDS: u32 = 60;
/// The longest that it may be kept.
pub const SEAT_HOLD_MOST: u32 = 3_600;

/// A TaskGroup in the core's words. If there are `errors`, the other fields are as right as they can be. Who submitted it is not
/// among them ([`super::submitter`]).
pub fn group_spec(group: &TaskGroup) -> GroupSpec {
    let key = pod::key(&group.metadata);
    let mut errors = Errors::default();
    let gang = gang(group, &key, &mut errors);
    group_check::check(group, &mut errors);
    GroupSpec {
        uid: uid(group),
        generation: group.metadata.generation.unwrap_or(0),
        created: pod::created(&group.metadata),
        application: application(group),
        queue: queue(group),
        submitter: None,
        min_member: group.spec.min_member,
        total_member: total_member(&group.spec),
        min_resource: min_resource(group),
        shape: Arc::new(expected_shape(group, &key)),
        across: across(&gang, &key),
        gang,
        reservation: match group.spec.reservation {
            api::Reservation::Placeholder => Reservation::Placeholder,
            api::Reservation::Direct => Reservation::Direct,
        },
        placeholder_for: match group.spec.placeholder_for {
            api::PlaceholderFor::Missing => PlaceholderFor::Missing,
            api::PlaceholderFor::All => PlaceholderFor::All,
        },
        style: match group.spec.style {
            api::Style::Soft => Style::Soft,
            api::Style::Hard => Style::Hard,
        },
        match_policy: match_policy(group.spec.match_policy),
        mode: mode(group.spec.mode),
        timeouts: timeouts(group),
        seat_hold: 1_000 * u64::from(group.spec.seat_hold_seconds.unwrap_or(SEAT_HOLD_SECONDS).min(SEAT_HOLD_MOST)),
        errors: errors.into_sorted(),
        remembered: remembered(group.status.as_ref()),
        terminating: group.metadata.deletion_timestamp.is_some(),
        awaits_edit: false,
    }
}

/// How many members belong to it, where that is more than start together.
pub fn total_member(spec: &TaskGroupSpec) -> Option<u32> {
    spec.total_member.filter(|total| *total > spec.min_member)
}

/// A mode in the core's words.
pub const fn mode(said: api::Mode) -> Mode {
    match said {
        api::Mode::Strict => Mode::Strict,
        api::Mode::NonStrict => Mode::NonStrict,
    }
}

/// A match policy in the core's words.
pub const fn match_policy(said: api::MatchPolicy) -> MatchPolicy {
    match said {
        api::MatchPolicy::OnceSatisfied => MatchPolicy::OnceSatisfied,
        api::MatchPolicy::WaitingAndRunning => MatchPolicy::WaitingAndRunning,
        api::MatchPolicy::OnlyWaiting => MatchPolicy::OnlyWaiting,
    }
}

/// The facts of a TaskGroup from which its placeholders are made.
pub fn blueprint(group: &TaskGroup) -> Blueprint {
    let amounts = group.spec.min_resource.iter();
    Blueprint {
        application: application(group),
        queue: queue(group),
        min_member: group.spec.min_member,
        total_member: total_member(&group.spec),
        mode: group.spec.mode,
        match_policy: group.spec.match_policy,
        min_resource: amounts.map(|(name, amount)| (name.as_str().into(), amount.0.as_str().into())).collect(),
        template: group.spec.placeholder_template.clone().map(Box::new),
    }
}

fn uid(group: &TaskGroup) -> Uid {
    Uid::new(group.metadata.uid.as_deref().unwrap_or_default())
}

/// A wrong ID is shown too, so it is bounded and escaped; a valid one is not changed by that.
fn application(group: &TaskGroup) -> Text {
    let name = group.metadata.name.as_deref().unwrap_or_default();
    escape::bounded(group.spec.application_id.as_deref().unwrap_or(name), syntax::MAX_LABEL)
}

fn queue(group: &TaskGroup) -> Option<Text> {
    group.spec.queue.as_deref().map(|queue| escape::bounded(queue, syntax::MAX_LABEL))
}

/// How many seconds a timeout has, as the spec says or by default; `None` = no limit.
pub fn seconds(group: &TaskGroup, what: Deadline) -> Option<u32> {
    match what {
        Deadline::Admission => group.spec.admission_timeout_seconds,
        Deadline::Placeholder => Some(group.spec.placeholder_timeout_seconds.unwrap_or(PLACEHOLDER_TIMEOUT_SECONDS)),
        Deadline::Wait => group.spec.wait_timeout_seconds.or(match group.spec.mode {
            api::Mode::Strict => None,
            // What is held is there for nobody else.
            api::Mode::NonStrict => Some(WAIT_TIMEOUT_SECONDS),
        }),
        Deadline::Completion => Some(group.spec.completion_timeout_seconds.unwrap_or(COMPLETION_TIMEOUT_SECONDS)),
    }
}

/// All timeouts in milliseconds. One that is too long is among the errors.
fn timeouts(group: &TaskGroup) -> Timeouts {
    Deadline::ALL.into_iter().fold(Timeouts::default(), |timeouts, what| {
        let most = group_check::range_of(what).1;
        timeouts.with(what, seconds(group, what).map(|seconds| 1_000 * u64::from(seconds.min(most))))
    })
}

fn min_resource(group: &TaskGroup) -> Resources {
    let mut resources = Resources::default();
    for (name, amount) in &group.spec.min_resource {
        // An amount that cannot be read is an error of its own, and counts as nothing in a sum.
        let amount: Quantity = amount.0.parse().unwrap_or(Quantity::ZERO);
        resources.set(name, requests::amount(name, amount).max(0));
    }
    resources.base[PODS] = 1;
    resources
}

/// What a placeholder would need if admission changed nothing.
fn expected_shape(group: &TaskGroup, key: &Key) -> Shape {
    let name = PlaceholderName { group: key.clone(), uid: uid(group), incarnation: 1, seat: 0, attempt: 0 };
    let config = PlaceholderConfig { scheduler_name: "".into(), image: "".into(), queue: "".into(), submitter: None };
    // A constraint that we do not honour is among the errors; then the shape does not matter.
    pod::shape(&placeholder::pod(&name, &blueprint(group), &config)).0
}

fn remembered(status: Option<&TaskGroupStatus>) -> Remembered {
    let Some(status) = status else { return Remembered::default() };
    let is_outside = Code::from_name(&status.reason) == Some(Code::ApplicationClosed);
    Remembered {
        incarnation: status.incarnation,
        generation: status.observed_generation,
        placed: status.conditions.iter().any(|condition| condition.type_ == "Placed" && condition.status == "True"),
        state: AppState::from_name(&status.application_state).filter(|_| !is_outside),
        timed_out: timed_out(status),
        deadlines: deadlines(status),
        unstarted_lives: status.unstarted_lives,
        replaced: status.counts.replaced,
        ended: (status.counts.succeeded, status.counts.failed),
    }
}

fn wall(time: &Time) -> Wall {
    Wall(time.0.as_millisecond())
}

fn deadlines(status: &TaskGroupStatus) -> Deadlines {
    let Some(said) = &status.deadlines else { return Deadlines::default() };
    Deadline::ALL.into_iter().fold(Deadlines::default(), |deadlines, what| {
        let time = match what {
            Deadline::Admission => &said.admission,
            Deadline::Placeholder => &said.placeholder,
            Deadline::Wait => &said.wait,
            Deadline::Completion => &said.completion,
        };
        deadlines.with(what, time.as_ref().map(wall))
    })
}

/// `TimedOut=True`, with the reason of a timeout that ends a reservation.
pub fn timed_out(status: &TaskGroupStatus) -> Option<TimedOut> {
    let condition = status.conditions.iter().find(|said| said.type_ == TIMED_OUT && said.status == "True")?;
    let ends_one = [Deadline::Admission, Deadline::Placeholder, Deadline::Wait];
    let what = ends_one.into_iter().find(|what| what.code().name() == condition.reason)?;
    let sentence = escape::bounded(&condition.message, MAX_MESSAGE);
    let pods_until = status.pods_until.as_ref().map(wall);
    Some(TimedOut { what, since: wall(&condition.last_transition_time), pods_until, sentence })
}

/// The gang's groups, sorted; of a list that is wrong, those that are right.
fn gang(group: &TaskGroup, key: &Key, errors: &mut Errors) -> Vec<Key> {
    let listed = &group.spec.gang_group;
    if listed.is_empty() {
        return vec![key.clone()];
    }
    let count = listed.len();
    errors.unless(count <= MAX_GANG, "spec.gangGroup", format!("must have at most {MAX_GANG} entries, has {count}"));
    let mut gang: Vec<Key> = Vec::new();
    for (at, entry) in listed.iter().take(MAX_GANG).enumerate() {
        match gang_entry(entry) {
            Some(listed) if gang.contains(&listed) => {
                errors.add(format!("spec.gangGroup[{at}]"), format!("{entry} is listed twice"));
            }
            Some(listed) => gang.push(listed),
            None => errors.add(format!("spec.gangGroup[{at}]"), format!("{entry:?} must be namespace/name")),
        }
    }
    let itself = gang.contains(key) || count > MAX_GANG;
    errors.unless(itself, "spec.gangGroup", format!("must list the TaskGroup itself: {key}"));
    gang.sort_unstable();
    gang
}

fn gang_entry(entry: &str) -> Option<Key> {
    let (namespace, name) = entry.split_once('/')?;
    let is_fine = syntax::is_dns_label(namespace) && syntax::is_dns_subdomain(name) && syntax::is_label_value(name);
    is_fine.then(|| Key::new(namespace, name))
}

/// What the task groups of a gang in several namespaces are together: named after the first, with a hash of all of them. One that
/// does not list itself is with nobody.
fn across(gang: &[Key], key: &Key) -> Option<Text> {
    let first = gang.first().filter(|_| gang.contains(key))?;
    if gang.iter().all(|other| other.namespace == first.namespace) {
        return None;
    }
    let digest = digest::of_texts(gang.iter().flat_map(|key| [&*key.namespace, &*key.name]));
    let hash: String = digest.iter().take(HASH).map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{first} and {} more ({hash})", gang.len() - 1).into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A valid TaskGroup `data/executors` with some fields changed; null removes one.
    fn group(changes: &Value) -> TaskGroup {
        let mut group = json!({
            "apiVersion": "gangline.dev/v1alpha1", "kind": "TaskGroup",
            "metadata": {"namespace": "data", "name": "executors", "uid": "u", "generation": 3},
            "spec": {"minMember": 2, "minResource": {"cpu": "500m", "memory": "1Gi"}},
        });
        for (path, value) in changes.as_object().unwrap() {
            let (parent, field) = path.rsplit_once('.').unwrap();
            let parent = group.pointer_mut(&format!("/{}", parent.replace('.', "/"))).unwrap();
            parent[field] = value.clone();
        }
        serde_json::from_value(group).unwrap()
    }

    fn errors(changes: &Value) -> Vec<String> {
        group_spec(&group(changes)).errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let spec = group_spec(&group(&json!({})));
        assert_eq!((&*spec.application, spec.queue), ("executors", None));
        assert_eq!((spec.min_member, &spec.min_resource), (2, &Resources::pod(500, 1 << 30)));
        let total = |total: u32| group_spec(&group(&json!({"spec.totalMember": total}))).total_member;
        assert_eq!((spec.total_member, total(2), total(3)), (None, None, Some(3)));
        let timeouts = Deadline::ALL.map(|what| spec.timeouts.of(what));
        assert_eq!(
            (spec.gang, timeouts),
            (vec![Key::new("data", "executors")], [None, Some(900_000), None, Some(30_000)])
        );
        assert_eq!(spec.seat_hold, 60_000);
        assert_eq!((spec.style, spec.mode), (Style::Soft, Mode::Strict));
        assert_eq!(spec.match_policy, MatchPolicy::OnceSatisfied);
        for (said, policy) in
            [("WaitingAndRunning", MatchPolicy::WaitingAndRunning), ("OnlyWaiting", MatchPolicy::OnlyWaiting)]
        {
            assert_eq!(group_spec(&group(&json!({"spec.matchPolicy": said}))).match_policy, policy);
        }
        let one_by_one = group_spec(&group(&json!({"spec.mode": "NonStrict"})));
        assert_eq!((one_by_one.mode, one_by_one.timeouts.of(Deadline::Wait)), (Mode::NonStrict, Some(600_000)));
        assert_eq!((spec.reservation, spec.placeholder_for), (Reservation::Placeholder, PlaceholderFor::Missing));
        assert_eq!((spec.errors, spec.remembered), (vec![], Remembered::default()));
        assert_eq!(spec.shape.request, spec.min_resource);
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let table = [
            (json!({"spec.minMember": 0}), "spec.minMember: must be 1 to 100000"),
            (json!({"spec.minMember": 100_001}), "spec.minMember: must be 1 to 100000"),
            (json!({"spec.totalMember": 1}), "spec.totalMember: must be minMember to 100000"),
            (json!({"spec.totalMember": 100_001}), "spec.totalMember: must be minMember to 100000"),
            (json!({"spec.minResource": {}}), "spec.minResource: must have 1 to 16 resources, has 0"),
            (json!({"spec.minResource": {"cpu": "0"}}), "spec.minResource[cpu]: must be greater than 0"),
            (json!({"spec.minResource": {"cpu": "-1"}}), "spec.minResource[cpu]: must be greater than 0"),
            (
                json!({"spec.minResource": {"cpu": "1\u{1b}[31m"}}),
                "spec.minResource[cpu]: \"1\\u{1b}[31m\" must be a number with an optional suffix, such as 500m, 2 or 4Gi",
            ),
            (
                json!({"spec.minResource": {"pods": "1"}}),
                "spec.minResource[pods]: is counted by itself: one for each member",
            ),
            (
                json!({"spec.minResource": {"gpu": "1"}}),
                "spec.minResource[gpu]: must be cpu, memory, ephemeral-storage, hugepages-SIZE or a name with a domain",
            ),
            (json!({"spec.minResource": {"a.b/gpu": "1500m"}}), "spec.minResource[a.b/gpu]: must be a whole number"),
            (
                json!({"spec.minResource": {"hugepages-2Mi": "2Mi"}}),
                "spec.minResource: huge pages need cpu or memory beside them",
            ),
            (json!({"spec.applicationId": ""}), "spec.applicationId: must be a label value of 1 to 63 characters"),
            (json!({"spec.applicationId": "a b"}), "spec.applicationId: must be a label value of 1 to 63 characters"),
            (
                json!({"spec.queue": "default"}),
                "spec.queue: must be a queue path of at most 63 characters: root, or root. and DNS labels joined by dots",
            ),
            (json!({"spec.gangGroup": ["data/a"]}), "spec.gangGroup: must list the TaskGroup itself: data/executors"),
            (json!({"spec.gangGroup": ["data/executors", "a"]}), "spec.gangGroup[1]: \"a\" must be namespace/name"),
            (
                json!({"spec.gangGroup": ["data/executors", "data/executors"]}),
                "spec.gangGroup[1]: data/executors is listed twice",
            ),
            (json!({"spec.completionTimeoutSeconds": 86_401}), "spec.completionTimeoutSeconds: must be 0 to 86400"),
            (json!({"spec.seatHoldSeconds": 3_601}), "spec.seatHoldSeconds: must be 0 to 3600"),
            (json!({"spec.admissionTimeoutSeconds": 0}), "spec.admissionTimeoutSeconds: must be 1 to 31536000"),
            (json!({"spec.placeholderTimeoutSeconds": 0}), "spec.placeholderTimeoutSeconds: must be 1 to 31536000"),
            (json!({"spec.waitTimeoutSeconds": 31_536_001}), "spec.waitTimeoutSeconds: must be 1 to 31536000"),
            (
                json!({"metadata.name": "x".repeat(64)}),
                "metadata.name: must have at most 63 characters, since it is also a label value",
            ),
            (
                json!({"spec.placeholderTemplate": {"labels": {"gangline.dev/queue": "x"}}}),
                "spec.placeholderTemplate.labels[gangline.dev/queue]: must not lie under gangline.dev/, kubernetes.io/ or k8s.io/",
            ),
            (
                json!({"spec.placeholderTemplate": {"annotations": {"a.kubernetes.io/x": "x"}}}),
                "spec.placeholderTemplate.annotations[a.kubernetes.io/x]: must not lie under gangline.dev/, kubernetes.io/ or k8s.io/",
            ),
            (
                json!({"spec.placeholderTemplate": {"labels": {"a": "b c"}}}),
                "spec.placeholderTemplate.labels[a]: must be a label value of at most 63 characters",
            ),
            (
                json!({"spec.placeholderTemplate": {"tolerations": [{"key": "a", "operator": "Lt", "value": "5"}]}}),
                "spec.placeholderTemplate.tolerations[].operator: is not supported",
            ),
            (
                json!({"spec.placeholderTemplate": {"priorityClassName": "A B"}}),
                "spec.placeholderTemplate.priorityClassName: must be an object's name",
            ),
        ];
        for (changes, error) in table {
            assert_eq!(errors(&changes), [error], "{changes}");
        }
        let others = |count: usize| -> Vec<String> { (0..count).map(|at| format!("data/a{at}")).collect() };
        assert_eq!(
            errors(&json!({"spec.gangGroup": others(MAX_GANG)})),
            ["spec.gangGroup: must list the TaskGroup itself: data/executors"]
        );
        let too_many = format!("spec.gangGroup: must have at most {MAX_GANG} entries, has {}", MAX_GANG + 1);
        assert_eq!(errors(&json!({"spec.gangGroup": others(MAX_GANG + 1)})), [too_many], "it may be what was cut off");
        let unread = group_spec(&group(&json!({"spec.minResource": {"cpu": "1core", "memory": "1Gi"}})));
        let said: Vec<_> = unread.errors.iter().map(ToString::to_string).collect();
        let expected =
            "spec.minResource[cpu]: \"1core\" must be a number with an optional suffix, such as 500m, 2 or 4Gi";
        assert_eq!(
            (said, unread.min_resource),
            (vec![expected.to_owned()], Resources::pod(0, 1 << 30)),
            "no sum of it"
        );
        let all = json!({"spec.minMember": 0, "spec.queue": "q", "spec.minResource": {"cpu": "x", "memory": "0"}});
        assert_eq!(errors(&all).len(), 4);
    }

    #[test]
    fn what_is_legal_is_taken() {
        let preferred =
            json!([{"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]);
        for changes in [
            json!({"spec.minMember": 100_000, "spec.completionTimeoutSeconds": 0, "spec.queue": "root"}),
            json!({"spec.minResource": {"cpu": "1e30", "a.b/c": "1k", "hugepages-2Mi": "4Mi"}}),
            json!({"spec.gangGroup": ["data/executors", "data/driver"]}),
            json!({"spec.placeholderTemplate": {"affinity": {"nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": preferred,
            }}}}),
        ] {
            assert!(errors(&changes).is_empty(), "{changes}");
        }
        let spec = group_spec(&group(&json!({"spec.gangGroup": ["data/executors", "data/driver"]})));
        assert_eq!(spec.gang, ["driver", "executors"].map(|name| Key::new("data", name)));
        assert_eq!(spec.across, None);
    }

    /// Together are those that list the same set and are in it.
    #[test]
    fn a_gang_in_several_namespaces_has_a_name_of_its_own() {
        let across = |listed: &[&str]| group_spec(&group(&json!({"spec.gangGroup": listed}))).across;
        let name = across(&["data/executors", "b/x"]).expect("a name");
        assert!(name.starts_with("b/x and 1 more ("), "{name}");
        assert_eq!(across(&["b/x", "data/executors"]).as_ref(), Some(&name));
        for other in [&["data/executors", "b/x", "b/y"][..], &["data/executors", "bx/x"], &["data/executors", "b/xx"]] {
            assert_ne!(across(other).expect("a name"), name, "{other:?}");
        }
        for nobody in [&["b/x", "data/other"][..], &["b/x"], &[]] {
            assert_eq!(across(nobody), None, "{nobody:?}");
        }
    }

    #[test]
    fn a_hostile_spec_costs_and_says_little() {
        let many: serde_json::Map<_, _> = (0..5000).map(|n| (format!("\u{202e}{n}"), json!("x"))).collect();
        let listed: Vec<_> = (0..5000).map(|n| format!("data/\n{n}")).collect();
        let errors = errors(&json!({"spec.minResource": many, "spec.gangGroup": listed}));
        assert!(errors.len() <= 32);
        assert!(errors.iter().all(|error| error.len() < 400 && !error.contains(['\n', '\u{202e}'])));
        let spec = group_spec(&group(&json!({"spec.applicationId": "\u{1b}[31m", "spec.queue": "q".repeat(5000)})));
        let length = spec.queue.map(|queue| queue.chars().count());
        assert_eq!((&*spec.application, length), ("\\u{1b}[31m", Some(64)));
    }

    /// What a timeout ended stays ended, whatever else the status says; a reason that is no timeout's says nothing.
    #[test]
    fn a_timeout_is_remembered() {
        let read = |reason: &str, status: &str| {
            let condition = json!({"type": "TimedOut", "status": status, "reason": reason, "message": "why",
                                   "lastTransitionTime": "1970-01-01T00:00:07Z"});
            let mut group = serde_json::to_value(group(&json!({}))).unwrap();
            group["status"] = json!({"applicationState": "Rejected", "conditions": [condition], "unstartedLives": 3,
                                     "podsUntil": "1970-01-01T00:00:05Z"});
            group_spec(&serde_json::from_value(group).unwrap()).remembered
        };
        let found = read("WaitTimeout", "True");
        let pods_until = Some(Wall(5_000));
        let timed_out = TimedOut { what: Deadline::Wait, since: Wall(7_000), pods_until, sentence: "why".into() };
        assert_eq!((found.is_unaccepted(), found.timed_out, found.unstarted_lives), (false, Some(timed_out), 3));
        for (reason, status) in
            [("WaitTimeout", "False"), ("WaitingForQuota", "True"), ("Completed", "True"), ("", "True")]
        {
            let found = read(reason, status);
            assert_eq!((found.is_unaccepted(), found.timed_out), (true, None), "{reason} {status}");
        }
    }

    #[test]
    fn status_is_remembered() {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "R", "message": "", "lastTransitionTime": "1970-01-01T00:00:00Z"});
        let status = json!({
            "incarnation": 4, "observedGeneration": 3, "applicationState": "Waiting", "deadlines": {"completion": "1970-01-01T00:00:02.5Z"},
            "conditions": [condition("Accepted", "True"), condition("Placed", "True")], "counts": {"required": 3, "pending": 0, "replaced": 2, "running": 3, "succeeded": 4, "failed": 1},
        });
        let read = |status: Value| {
            let mut group = serde_json::to_value(group(&json!({}))).unwrap();
            group["status"] = status;
            group_spec(&serde_json::from_value(group).unwrap()).remembered
        };
        let deadlines = Deadlines::default().with(Deadline::Completion, Some(Wall(2500)));
        let remembered = Remembered {
            incarnation: 4,
            generation: 3,
            placed: true,
            state: Some(AppState::Waiting),
            deadlines,
            replaced: 2,
            ended: (4, 1),
            ..Remembered::default()
        };
        assert_eq!(read(status), remembered);
        let completed = read(json!({"applicationState": "Completed", "conditions": [condition("Placed", "False")]}));
        assert_eq!(completed, Remembered { state: Some(AppState::Completed), ..Remembered::default() });
        for (state, reason, unaccepted) in [
            ("Rejected", "ExceedsMaxQuota", true),
            ("New", "WaitingForTaskGroups", true),
            ("New", "WaitingForQueues", true),
            ("Rejected", "ApplicationClosed", false),
            ("Accepted", "WaitingForMembers", false),
        ] {
            let remembered = read(json!({"applicationState": state, "reason": reason}));
            assert_eq!(remembered.is_unaccepted(), unaccepted, "{state} {reason}");
        }
    }
}
