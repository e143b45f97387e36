//! What YuniKorn's shim asserts of annotations, placeholders and originators (`cache`).

use gangline::api::task_group::{Style, TaskGroup};
use gangline::core::event::GroupSpec;
use gangline::core::model::lifecycle::AppState;
use gangline::shim::dialect::Dialect;
use gangline::shim::observation::WatchFact;
use gangline::shim::op::{Call, Kind, Op};
use serde_json::{Value, json};

use crate::support::cluster::{Cluster, listed};
use crate::support::driven::{Driven, member, node};

const GROUPS: &str = "yunikorn.apache.org/task-groups";
const GROUP: &str = "yunikorn.apache.org/task-group-name";
const PARAMETERS: &str = "yunikorn.apache.org/schedulingPolicyParameters";

/// A pod of the application `app` with these annotations.
fn pod(name: &str, annotations: &Value) -> Value {
    let mut pod = member(name);
    pod["metadata"]["labels"] = json!({"applicationId": "app", "queue": "root.default"});
    pod["metadata"]["annotations"] = annotations.clone();
    pod
}

fn cluster() -> Driven {
    let mut driven = Driven::speaking(&Dialect::ALL);
    driven.list(&[(Kind::Node, &node("n1"))]);
    driven
}

/// One task group `a` of one member.
fn groups(resources: &Value) -> String {
    json!([{"name": "a", "minMember": 1, "minResource": resources}]).to_string()
}

/// Answers everything for so long as a server that grants everything, and gives back what was called.
fn run(driven: &mut Driven, seconds: u64) -> Vec<Call> {
    let mut all = Vec::new();
    for _ in 0..10 * seconds {
        driven.wait(100);
        for call in driven.taken() {
            driven.grant_one(&call);
            all.push(call);
        }
    }
    all
}

/// The TaskGroups that are made of what this pod declares.
fn declared_by(pod: &Value) -> (Driven, Vec<TaskGroup>) {
    let mut driven = cluster();
    driven.upsert(Kind::Pod, pod);
    let made = run(&mut driven, 1).into_iter();
    let made = made.filter_map(|call| if let Op::CreateTaskGroup(group) = call.op { Some(*group) } else { None });
    let made = made.collect();
    (driven, made)
}

fn declared(annotations: &Value) -> (Driven, Vec<TaskGroup>) {
    declared_by(&pod("driver", annotations))
}

/// Shows the TaskGroups; the placeholders that are made of them then.
fn placeholders(driven: &mut Driven, groups: &[TaskGroup]) -> Vec<Value> {
    for group in groups {
        let mut group = serde_json::to_value(group).expect("it is JSON");
        group["metadata"]["generation"] = json!(1);
        driven.upsert(Kind::TaskGroup, &group);
    }
    let calls = run(driven, 10).into_iter();
    let pods = calls.filter_map(|call| if let Op::CreatePod(pod) = call.op { Some(pod) } else { None });
    pods.map(|pod| serde_json::to_value(pod).expect("a pod is JSON")).collect()
}

/// TestGetSchedulingPolicyParams, row by row: what cannot be read is left out there, and so it is here.
#[test]
fn parameters_are_read_as_there() {
    for (text, style, seconds) in [
        ("placeholderTimeoutInSeconds=60 gangSchedulingStyle=Hard", Style::Hard, Some(60)),
        ("placeholderTimeoutInSeconds=60  gangSchedulingStyle=Hard", Style::Hard, Some(60)),
        ("placeholderTimeoutInSeconds=60=x gangSchedulingStyle=Hard", Style::Hard, None),
        ("placeholderTimeoutInSeconds=sixty gangSchedulingStyle=Soft", Style::Soft, None),
        ("placeholderTimeoutInSeconds gangSchedulingStyle=Hard", Style::Hard, None),
        ("gangSchedulingStyle=Elastic", Style::Soft, None),
        ("another=60 placeholderTimeoutInSeconds=30", Style::Soft, Some(30)),
        ("", Style::Soft, None),
    ] {
        let annotations = json!({GROUPS: groups(&json!({"cpu": "1"})), GROUP: "a", PARAMETERS: text});
        let (_, made) = declared(&annotations);
        let read: Vec<_> = made.iter().map(|made| (made.spec.style, made.spec.placeholder_timeout_seconds)).collect();
        assert_eq!(read, [(style, seconds)], "{text}");
    }
}

/// Test_GetPlaceholderResourceRequest, TestNewPlaceholderWithExtendedResources and, end to end, Verify_HugePage: what nodes have
/// besides CPUs and memory is requested by the placeholder, and limited by the same.
#[test]
fn a_placeholder_asks_for_gpus_and_huge_pages() {
    let resources = json!({"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "300Mi", "nvidia.com/gpu": "1"});
    let (mut driven, made) = declared(&json!({GROUPS: groups(&resources)}));
    let [pod] = &placeholders(&mut driven, &made)[..] else { panic!("one placeholder") };
    let asked = &pod["spec"]["containers"][0]["resources"];
    assert_eq!((&asked["requests"], &asked["limits"]), (&resources, &resources));
}

/// TestNewPlaceholderWithTolerations, …NodeSelectors, …PriorityClassName: what a task group says of nodes its placeholders say
/// too; their priority is that of the pod that declares it.
#[test]
fn a_placeholder_goes_where_its_members_may() {
    let tolerations = json!([{"key": "batch", "operator": "Exists", "effect": "NoSchedule"}]);
    let group = json!([{"name": "a", "minMember": 1, "minResource": {"cpu": "1"}, "nodeSelector": {"pool": "batch"},
                        "tolerations": tolerations, "labels": {"mine": "y"}, "annotations": {"note": "x"}}]);
    let mut driver = pod("driver", &json!({GROUPS: group.to_string()}));
    driver["spec"]["priorityClassName"] = json!("high");
    let (mut driven, groups) = declared_by(&driver);
    let [made] = &placeholders(&mut driven, &groups)[..] else { panic!("one placeholder") };
    assert_eq!((&made["spec"]["nodeSelector"]["pool"], &made["spec"]["tolerations"]), (&json!("batch"), &tolerations));
    assert_eq!(made["spec"]["priorityClassName"], json!("high"));
    assert_eq!(
        (&made["metadata"]["labels"]["mine"], &made["metadata"]["annotations"]["note"]),
        (&json!("y"), &json!("x"))
    );
}

/// TestCreateAppPlaceholders and TestTryReserve: a placeholder for each of ten and twenty members.
/// …WithExistingPods: of three that are there already none is made; here also for members that exist.
#[test]
fn thirty_placeholders_are_made_and_none_for_those_that_exist() {
    for exist in [0, 3] {
        let mut cluster = Cluster::default().nodes(8, 4);
        cluster.members("a", exist);
        for (name, min) in [("a", 10), ("b", 20)] {
            let gang = listed(["a", "b"]);
            let spec = GroupSpec { application: "job".into(), gang, ..cluster.group(name, min) };
            cluster.apply(name, spec);
        }
        cluster.member("b-0", "b");
        cluster.settle().wait(5_000).settle();
        let made = cluster.logged("create");
        assert_eq!((made, cluster.bound().len()), (29 - exist as usize, 30), "{:#?}", cluster.log);
        assert_eq!(cluster.state("a"), AppState::Running);
    }
}

/// TestCreateAppPlaceholders with its own number, and …WithExistingPods after a restart: 27 are made where 3 are found.
#[test]
fn the_placeholders_that_are_found_are_not_made_again() {
    let mut cluster = Cluster::default().nodes(8, 4);
    for (name, min) in [("a", 10), ("b", 20)] {
        let gang = listed(["a", "b"]);
        let spec = GroupSpec { application: "job".into(), gang, ..cluster.all(name, min) };
        cluster.apply(name, spec);
    }
    cluster.step();
    assert_eq!(cluster.waiting().len(), 30);
    for seat in 0..3 {
        cluster.carry(&format!("create a/{seat}"));
    }
    cluster.taken();
    cluster.restart().settle();
    assert_eq!((cluster.logged("create"), cluster.bound().len()), (27, 30), "{:#?}", cluster.log);
}

/// TestCreateAppPlaceholdersWithOwnReference and Verify_OriginatorDeletion_Trigger_Placeholders_Cleanup (with and without
/// ownerReferences): there the originator owns each placeholder. Here it owns the TaskGroup, which owns them and takes them along.
#[test]
fn placeholders_go_with_their_originator() {
    let (mut driven, made) = declared(&json!({GROUPS: groups(&json!({"cpu": "1"}))}));
    let owners = made[0].metadata.owner_references.as_deref().unwrap_or_default();
    let [owner] = owners else { panic!("{owners:?}") };
    assert_eq!((&*owner.kind, &*owner.name, &*owner.uid), ("Pod", "driver", "uid-driver"));
    let pods = placeholders(&mut driven, &made);
    let owner = &pods[0]["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["name"]), (&json!("TaskGroup"), &json!(made[0].metadata.name)));
}

/// As above, also where nothing collects what has lost its owner: placeholders are deleted by Gangline when the TaskGroup is gone.
#[test]
fn placeholders_are_deleted_when_their_task_group_is_gone() {
    let (mut driven, made) = declared(&json!({GROUPS: groups(&json!({"cpu": "1"}))}));
    let pods = placeholders(&mut driven, &made);
    assert_eq!(pods.len(), 1);
    let (driver, group) = (pod("driver", &json!({})), serde_json::to_value(&made[0]).expect("it is JSON"));
    for (kind, object) in [(Kind::Pod, driver), (Kind::TaskGroup, group)] {
        let seen = driven.seen(kind, &object);
        driven.fact(kind, WatchFact::Gone(seen));
    }
    driven.step();
    let calls = run(&mut driven, 10);
    let deleted = calls.iter().filter(|call| matches!(call.op, Op::DeletePod { .. })).count();
    let made = calls.iter().filter(|call| matches!(call.op, Op::CreatePod(_) | Op::CreateTaskGroup(_))).count();
    assert_eq!((deleted, made), (1, 0), "{calls:#?}");
}
