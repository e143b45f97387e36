//! Tests that end, stop or double the scheduler at any moment: afterwards every gang is whole, and nothing happened twice.

use std::time::{Duration, Instant};

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde_json::json;

use crate::breakage::{
    MEMBERS, Request, SCHEDULER, count_changes, kinds, make_gang, make_group, make_in_halves, make_members, member,
    members_of, metric, none_bound_twice, requests, until, wait_reason, wait_whole,
};
use crate::harness::words::is_bound;
use crate::harness::{Context, Needs, Test, test};
use crate::support::components::{Component, Options};
use crate::support::error::{Error, Result};

pub(crate) fn tests() -> Vec<Test> {
    let own = || Needs::OwnControlPlane(Options::default());
    vec![
        test("crash: killed at any moment", own(), killed).without_gangline(),
        test("crash: an interrupted start goes first", own(), interrupted_start).without_gangline(),
        test("crash: SIGTERM, SIGSTOP and two at once", own(), ended_stopped_doubled).without_gangline(),
    ]
}

/// Changes of the gang's pods after which the scheduler is killed: before the first placeholder, while they are made and
/// bound, while they are swapped, at the end.
const KILL_AFTER: [u32; 6] = [1, 3, 5, 8, 12, 17];

async fn killed(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 2, |nodes| nodes.cpu = "64".to_owned()).await?;
    let mut scheduler = t.start_scheduler("gangline", &[]).await?;
    for (kind, spec) in kinds() {
        for after in KILL_AFTER {
            let gang = format!("{kind}-{after}");
            let kill = async {
                // A gang that needs fewer changes is whole by then.
                count_changes(t, &gang, after).await?;
                scheduler.kill9()?;
                scheduler.restart().await
            };
            tokio::try_join!(kill, make_in_halves(t, &gang, &spec, "1"))?;
            wait_whole(t, &gang, MEMBERS)
                .await
                .map_err(|error| Error::new(format!("killed after {after}: {error}")))?;
        }
    }
    none_bound_twice(t)?;
    let placeholders = t.pods().list("gangline.dev/placeholder").await?;
    assert!(placeholders.is_empty(), "{} placeholders are left", placeholders.len());
    Ok(())
}

/// Two of four members are bound when the scheduler dies. The next one binds the others before a gang of high priority
/// that wants the same room.
async fn interrupted_start(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 1, |nodes| (nodes.cpu, nodes.pods) = ("5".to_owned(), 9 * PROBES)).await?;
    let mut scheduler = t.start_scheduler("gangline", &[]).await?;
    let urgent = format!("urgent-{}", t.id);
    t.everywhere::<PriorityClass>().create(json!({"metadata": {"name": urgent}, "value": 1_000_000})).await?;
    refuse_bindings(t, &["first-2", "first-3"]).await?;
    make_gang(t, "first", 4, json!({"reservation": "Direct"})).await?;
    let two = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod)).count() == 2;
    t.pods().wait_all(&members_of("first"), "two are bound", two).await?;
    let refused = async || {
        let all = requests(&t.cluster.plane.as_ref().expect("of its own").audit_log())?;
        Ok(["first-2", "first-3"].iter().all(|name| {
            let of_pod = |one: &&Request| one.object.contains(&format!("/{name} ")) && one.resource == "pods/binding";
            all.iter().filter(of_pod).any(|one| one.user == SCHEDULER && one.code >= 400)
        }))
    };
    until("the other Bindings were refused", refused).await?;
    scheduler.kill9()?;

    make_group(t, "second", 2, json!({"reservation": "Direct"})).await?;
    for number in 0..2 {
        let mut pod = member(t, "second", number);
        pod["spec"]["priorityClassName"] = json!(urgent);
        t.pods().create(pod).await?;
    }
    allow_bindings(t).await?;
    scheduler.restart().await?;
    wait_whole(t, "first", 4).await?;
    wait_reason(t, "second", "WaitingForCapacity").await?;
    let second = t.pods().list(&members_of("second")).await?;
    assert!(!second.iter().any(is_bound), "the second gang took the room of the first");
    let bound = |pods: &[&Pod]| pods.iter().all(|pod| is_bound(pod));
    for number in 0..2 {
        t.pods().delete(&format!("first-{number}")).await?;
    }
    t.pods().wait_all(&members_of("second"), "follows", bound).await?;
    none_bound_twice(t)
}

/// Pods by which it is tried whether a policy is in force: it takes a second or so, each a few milliseconds.
const PROBES: u32 = 2_000;

/// An admission policy that refuses the Bindings of these pods; returns when it is in force.
async fn refuse_bindings(t: &Context, pods: &[&str]) -> Result<()> {
    let bindings =
        json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]});
    let names = pods.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let spec = json!({"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [bindings]},
                      "validations": [{"expression": format!("!(request.name in [{names}]) && !request.name.startsWith('probe-')")}]});
    t.everywhere::<ValidatingAdmissionPolicy>().create(json!({"metadata": {"name": "refuse"}, "spec": spec})).await?;
    let binding =
        json!({"metadata": {"name": "refuse"}, "spec": {"policyName": "refuse", "validationActions": ["Deny"]}});
    t.everywhere::<ValidatingAdmissionPolicyBinding>().create(binding).await?;
    wait_for_bindings(t, false).await
}

/// Binds pods that nobody misses until it works, or is refused.
async fn wait_for_bindings(t: &Context, works: bool) -> Result<()> {
    let target = format!("{}-node-0", t.id);
    for number in 0..PROBES {
        let name = format!("probe-{works}-{number}");
        t.pods().create(t.pod(&name, "0", json!({"spec": {"schedulerName": "nobody"}}))).await?;
        if t.bind(&name, &target).await.is_ok() == works {
            return Ok(());
        }
    }
    Err(Error::new("the policy does not come into force or go"))
}

async fn allow_bindings(t: &Context) -> Result<()> {
    t.everywhere::<ValidatingAdmissionPolicyBinding>().delete("refuse").await?;
    t.everywhere::<ValidatingAdmissionPolicy>().delete("refuse").await?;
    wait_for_bindings(t, true).await
}

/// Shorter than what a Deployment grants, and than what the store hangs here.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

async fn ended_stopped_doubled(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 2, |nodes| nodes.cpu = "64".to_owned()).await?;
    let mut scheduler = t.start_scheduler("gangline", &[]).await?;

    // SIGTERM with nothing in flight, and with Bindings that nobody answers.
    for (gang, hangs) in [("idle", false), ("hanging", true)] {
        make_group(t, gang, MEMBERS, json!({"reservation": "Direct"})).await?;
        wait_reason(t, gang, "WaitingForMembers").await?;
        if hangs {
            scheduler.pause()?;
            make_members(t, gang, MEMBERS).await?;
            t.plane()?.pause(Component::Etcd)?;
            scheduler.resume()?;
            let in_flight = async || Ok(metric(&scheduler, "gangline_outbox_in_flight", &[]) >= 4.0);
            until("the Bindings are on their way", in_flight).await?;
        }
        let begin = Instant::now();
        let status = scheduler.terminate()?;
        assert!(status.success(), "ended with {status}");
        assert!(begin.elapsed() < ENDS_WITHIN, "took {:?}", begin.elapsed());
        if hangs {
            t.plane()?.resume(Component::Etcd)?;
        } else {
            make_members(t, gang, MEMBERS).await?;
        }
        scheduler.restart().await?;
        wait_whole(t, gang, MEMBERS).await?;
    }

    // Stopped while the cluster changes.
    make_group(t, "stopped", MEMBERS, json!({})).await?;
    make_members(t, "stopped", 2).await?;
    t.pods().wait_all("gangline.dev/placeholder", "placeholders exist", |pods| pods.len() == 2).await?;
    scheduler.pause()?;
    t.pods().delete("stopped-0").await?;
    t.pods().wait_gone("stopped-0").await?;
    make_gang(t, "meanwhile", MEMBERS, json!({"placeholderFor": "all"})).await?;
    for number in 2..=MEMBERS {
        t.pods().create(member(t, "stopped", number)).await?;
    }
    scheduler.resume()?;
    wait_whole(t, "stopped", MEMBERS).await?;
    wait_whole(t, "meanwhile", MEMBERS).await?;

    // An old and a new process at once.
    let second = t.start_scheduler("second", &[]).await?;
    for (kind, spec) in kinds() {
        make_gang(t, &format!("two-{kind}"), MEMBERS, spec).await?;
    }
    for (kind, _) in kinds() {
        wait_whole(t, &format!("two-{kind}"), MEMBERS).await?;
    }
    drop(second);
    make_gang(t, "after", MEMBERS, json!({"placeholderFor": "all"})).await?;
    wait_whole(t, "after", MEMBERS).await?;
    let groups = t.objects::<TaskGroup>().list("").await?;
    for group in &groups {
        let state = group.status.as_ref().map(|status| status.application_state.as_str());
        assert_eq!(state, Some("Running"), "{:?}", group.metadata.name);
    }
    none_bound_twice(t)
}
