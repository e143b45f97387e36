//! Restarts of applications of several roles under contention: two task groups that start together, and a driver with its
//! workers. And what a restart costs in requests (01, 1.5, 1.8).

use std::collections::BTreeSet;
use std::time::Instant;

use futures::future::try_join_all;
use gangline::api::names;
use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::restarts::{ask_to_stop, delete_all, uid, wait_none};
use crate::harness::context::{merge, phase};
use crate::harness::words::{is_bound, is_placeholder, marked, status, why_waits};
use crate::harness::{Context, Needs, Test, test};
use crate::support::audit::{self, Record};
use crate::support::error::{Error, Result};

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("restarts: two task groups under contention", Needs::Nodes(0), two_groups),
        test("restarts: a driver and its workers under contention", Needs::Nodes(0), driver),
        test("restarts: requests for each member", Needs::Nodes(5), requests).audited(),
    ]
}

/// Label of all pods of a team.
const TEAM: &str = "e2e.gangline.dev/team";

/// Pods of a team: they fill their node.
const ALL: usize = 3;

/// How seats are held.
const KINDS: [(&str, &str); 3] = [
    ("Direct", r#"{"reservation": "Direct"}"#),
    ("Placeholder/missing", "{}"),
    ("Placeholder/all", r#"{"placeholderFor": "all"}"#),
];

/// A pod of a team: its name, and the label that says what it is.
type Role = (&'static str, &'static str, String);

async fn two_groups(t: &mut Context) -> Result<()> {
    let roles = |name: &str| {
        let [lead, work] = ["lead", "work"].map(|role| format!("{name}-{role}"));
        vec![
            ("lead", names::TASK_GROUP, lead),
            ("work-0", names::TASK_GROUP, work.clone()),
            ("work-1", names::TASK_GROUP, work),
        ]
    };
    let groups = |t: &Context, name: &str| {
        let gang = ["lead", "work"].map(|role| format!("{}/{name}-{role}", t.namespace));
        vec![
            (format!("{name}-lead"), 1, json!({"gangGroup": gang})),
            (format!("{name}-work"), 2, json!({"gangGroup": gang})),
        ]
    };
    table(t, "two task groups", groups, roles).await
}

async fn driver(t: &mut Context) -> Result<()> {
    let roles = |name: &str| {
        let work = format!("{name}-work");
        vec![
            ("driver", names::APPLICATION, name.to_owned()),
            ("work-0", names::TASK_GROUP, work.clone()),
            ("work-1", names::TASK_GROUP, work),
        ]
    };
    let groups = |_: &Context, name: &str| vec![(format!("{name}-work"), 2, json!({}))];
    table(t, "a driver and its workers", groups, roles).await
}

/// Each kind of gang is restarted in two ways. Prints a row for each.
async fn table(
    t: &mut Context,
    what: &str,
    groups: impl Fn(&Context, &str) -> Vec<(String, u32, Value)>,
    roles: impl Fn(&str) -> Vec<Role>,
) -> Result<()> {
    t.add_nodes("full", 1, |nodes| nodes.cpu = ALL.to_string()).await?;
    for (number, (kind, spec)) in KINDS.into_iter().enumerate() {
        for (beside, way) in [(false, "made again one by one"), (true, "made again beside those that terminate")] {
            let began = Instant::now();
            let name = format!("team{number}{}", if beside { "b" } else { "a" });
            for (group, min, patch) in groups(t, &name) {
                let mut spec: Value = serde_json::from_str(spec).expect("written above");
                merge(
                    &mut spec,
                    json!({"applicationId": name, "seatHoldSeconds": 60, "completionTimeoutSeconds": 600}),
                );
                merge(&mut spec, patch);
                t.group(&group, min, "1", spec).await?;
            }
            restart(t, &name, &roles(&name), beside).await?;
            for (group, ..) in groups(t, &name) {
                t.groups().delete(&group).await?;
            }
            delete_all(t, "").await?;
            wait_none(t, "").await?;
            let took = began.elapsed().as_secs_f64();
            println!("restarts: | {kind} | {what}, {way} | starts whole | the stranger waits | {took:.1} s |");
        }
    }
    Ok(())
}

/// A team that fills its node is restarted while a stranger waits for room there.
async fn restart(t: &Context, name: &str, roles: &[Role], beside: bool) -> Result<()> {
    let labels = format!("{TEAM}={name}");
    make(t, name, roles, 0).await?;
    let first: BTreeSet<String> = wait_running(t, &labels, &BTreeSet::new()).await?;
    t.pods().create(t.pod("stranger", "1", json!({}))).await?;
    t.wait_pod_reason("stranger", "Unschedulable").await?;

    let holds = |pods: &[&Pod]| {
        let is_stranger = |pod: &&&Pod| pod.metadata.name.as_deref() == Some("stranger");
        !pods.iter().find(is_stranger).is_some_and(|pod| is_bound(pod)) && starts_whole(name, &first, pods)
    };
    let again = async {
        if beside {
            lose_beside_others(t, name, &labels, roles).await?;
        } else {
            delete_all(t, &labels).await?;
            make(t, name, roles, 1).await?;
        }
        wait_running(t, &labels, &first).await
    };
    t.pods().always("", "it starts whole, and nobody else gets the room", holds, again).await?;
    let lives = t.pods().list(&labels).await?;
    let lives: BTreeSet<_> =
        lives.iter().map(|pod| marked(pod, "incarnation").rsplit_once('.').map(|(_, life)| life)).collect();
    // Of a pod outside task groups nothing is said of a life.
    let lives: Vec<_> = lives.into_iter().flatten().collect();
    assert_eq!(lives, ["2"]);
    Ok(())
}

/// The pods of a team, one after the other: each is looked at before the next one comes.
async fn make(t: &Context, name: &str, roles: &[Role], life: u32) -> Result<()> {
    for (role, label, of) in roles {
        let pod = format!("{name}-{role}-{life}");
        let patch = json!({"metadata": {"labels": {TEAM: name, *label: of}}});
        t.pods().create(t.pod(&pod, "1", patch)).await?;
        t.pods().wait(&pod, "waits or has a node", |pod| is_bound(pod) || !why_waits(pod).0.is_empty()).await?;
    }
    Ok(())
}

/// Others come while all of the pods that were deleted are still there.
async fn lose_beside_others(t: &Context, name: &str, labels: &str, roles: &[Role]) -> Result<()> {
    let finalizers = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
    for (role, ..) in roles {
        t.pods().patch(&format!("{name}-{role}-0"), finalizers(json!(["e2e.gangline.dev/hold"]))).await?;
    }
    delete_all(t, labels).await?;
    make(t, name, roles, 1).await?;
    for (role, ..) in roles {
        t.pods().patch(&format!("{name}-{role}-0"), finalizers(Value::Null)).await?;
    }
    Ok(())
}

/// Waits until all pods of a team run that are not of these; their UIDs.
async fn wait_running(t: &Context, labels: &str, but: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    let is_new = |pod: &Pod| !but.contains(uid(pod)) && phase(pod) == "Running";
    let all = |pods: &[&Pod]| pods.len() == ALL && pods.iter().all(|pod| is_new(pod));
    let pods = t.pods().wait_all(labels, "all of the team run", all).await?;
    Ok(pods.iter().map(|pod| uid(pod).to_owned()).collect())
}

/// Whoever of the new pods has a node: with it every other is there, or its seat is held.
fn starts_whole(name: &str, first: &BTreeSet<String>, pods: &[&Pod]) -> bool {
    let label = |pod: &Pod| pod.metadata.labels.as_ref().and_then(|labels| labels.get(TEAM)).cloned();
    let new = || pods.iter().filter(|pod| label(pod).as_deref() == Some(name) && !first.contains(uid(pod)));
    let held = pods.iter().filter(|pod| is_placeholder(pod) && is_bound(pod)).count();
    !new().any(|pod| is_bound(pod)) || new().count() + held >= ALL
}

/// Gangs of the last test, and members of each.
const GANGS: usize = 20;
const MEMBERS: u32 = 20;

/// Twenty gangs of twenty lose all their members, and others come within the hold: for each member its Binding, and a few
/// statuses for each gang.
async fn requests(t: &mut Context) -> Result<()> {
    let gangs: Vec<_> = (0..GANGS).map(|gang| format!("gang-{gang}")).collect();
    for gang in &gangs {
        t.group(gang, MEMBERS, "100m", json!({"reservation": "Direct", "seatHoldSeconds": 60})).await?;
    }
    try_join_all(gangs.iter().map(|gang| t.members(gang, 0..MEMBERS, "100m"))).await?;
    for gang in &gangs {
        t.wait_running(gang, MEMBERS as usize).await?;
    }
    settled(t, &gangs, 1).await?;
    let before = written(t)?.len();
    ask_to_stop(t, names::TASK_GROUP).await?;
    wait_none(t, "").await?;
    // As those do who make pods anew.
    try_join_all(gangs.iter().map(|gang| t.members(gang, MEMBERS..2 * MEMBERS, "100m"))).await?;
    settled(t, &gangs, 2).await?;
    let all = written(t)?;
    let of = |resource: &str| all[before..].iter().filter(|record| record.resource() == resource).count();
    let members = GANGS * MEMBERS as usize;
    assert_eq!(of("pods/binding"), members);
    let each = (all.len() - before) as f64 / members as f64;
    // What a restart costs beside them: two statuses and an event of a gang, and what its pods were told meanwhile (ADR 31).
    assert!(each <= 1.5, "{each} mutating requests a member");
    println!(
        "restarts: | {GANGS} gangs of {MEMBERS}, Direct | {each:.2} mutating requests a member: {} Bindings, {} statuses of \
         TaskGroups, {} of pods, {} events |",
        of("pods/binding"),
        of("taskgroups/status"),
        of("pods/status"),
        of("events"),
    );
    Ok(())
}

/// All of these gangs say that they run this life.
async fn settled(t: &Context, gangs: &[String], life: u32) -> Result<()> {
    for gang in gangs {
        let runs = |group: &TaskGroup| {
            let status = status(group);
            status.reason == "Running" && status.incarnation == life && status.counts.running == MEMBERS
        };
        t.groups().wait(gang, "runs", runs).await?;
    }
    Ok(())
}

/// What Gangline has written in the namespace of the test.
fn written(t: &Context) -> Result<Vec<Record>> {
    let plane = t.cluster.plane.as_ref().ok_or_else(|| Error::new("a control plane of ours"))?;
    let mut records = audit::read(&plane.audit_log())?;
    records.retain(|record| {
        let is_here = record.object_ref.as_ref().is_some_and(|object| object.namespace == t.namespace);
        is_here && record.is_by("gangline") && ["create", "update", "patch", "delete"].contains(&&*record.verb)
    });
    Ok(records)
}
