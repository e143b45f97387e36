//! Tests of several replicas: one decides and the others are ready; however it goes, another goes on with what is half
//! done, and what two of them do at once harms nobody.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use gangline::api::task_group::TaskGroup;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::rbac::v1::Role;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde_json::json;

use crate::breakage::{
    MEMBERS, SCHEDULER, in_the_middle_of_gangs, kinds, make_gang, make_group, members_of, metric, none_bound_twice,
    until, wait_reason, wait_whole,
};
use crate::harness::context::{node, phase};
use crate::harness::words::{PLACEHOLDERS, is_bound, status};
use crate::harness::{Context, Needs, Test, test};
use crate::install::{asked_for, rights_of};
use crate::support::components::Options;
use crate::support::error::{During, Error, Result};
use crate::support::objects::Objects;
use crate::support::proxy::{Proxy, Rule};
use crate::support::scheduler::{Launch, Scheduler};

pub(crate) fn tests() -> Vec<Test> {
    let own = || Needs::OwnControlPlane(Options::default());
    vec![
        test("replicas: another goes on when one ends, dies, is stopped or cut off", own(), goes_on).without_gangline(),
        test("replicas: a rolling update in the middle of 50 gangs", own(), rolling_update).without_gangline(),
        test("replicas: machines whose clocks differ by hours mean the same by a deadline", own(), clocks)
            .without_gangline(),
        test("replicas: the Role for the Lease is missing, and comes back", own(), role_is_missing).without_gangline(),
    ]
}

/// The Role for the Lease, and its binding.
const ROLE: &str = "gangline-leader-election";

/// Shorter than users have it, in the same proportions.
const ELECTION: &str = "leaderElection: {leaseDurationSeconds: 6, renewDeadlineSeconds: 4, retryPeriodSeconds: 1}\n";

/// The namespace of the Lease, which has the name of the scheduler.
const LEASES: (&str, &str) = ("kube-system", "gangline");

async fn launch(t: &Context, name: &str) -> Result<Launch> {
    let config = t.cluster.work().join("election.yaml");
    fs::write(&config, ELECTION).during("writing a configuration file")?;
    let config = config.display().to_string();
    t.cluster.launch(name, &["--leader-elect=true", "--config", &config]).await
}

async fn start(t: &Context, name: &str) -> Result<Scheduler> {
    Scheduler::start(&launch(t, name).await?).await
}

/// Whether `/readyz` says that it is ready, in this role.
fn is_ready_as(scheduler: &Scheduler, role: &str) -> bool {
    let said = scheduler.get("/readyz").filter(|(code, _)| *code == 200);
    said.is_some_and(|(_, text)| text.lines().any(|line| line == format!("role: {role}")))
}

async fn wait_for(scheduler: &Scheduler, role: &str) -> Result<()> {
    until(&format!("it is the {role}"), async || Ok(is_ready_as(scheduler, role))).await
}

async fn goes_on(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 2, |nodes| nodes.cpu = "64".to_owned()).await?;
    let proxied = launch(t, "first").await?;
    let proxy = Proxy::start(&t.cluster.kubeconfig).await?;
    proxy.redirect(&proxied.kubeconfig)?;
    let mut first = Scheduler::start(&proxied).await?;
    wait_for(&first, "leader").await?;
    let mut second = start(t, "second").await?;
    wait_for(&second, "follower").await?;
    let leader = holder(t).await?.ok_or_else(|| Error::new("the Lease has no holder"))?;
    // It has to look at the Lease first, which it does once it has read the cluster.
    let names = |text: &str| text.contains(&*leader);
    let told = async || {
        let says = second.get("/readyz").is_some_and(|(_, text)| names(&text));
        Ok(says && names(&second.log_about("Follows", 9)?))
    };
    until("its log and /readyz name who leads", told).await?;

    in_the_middle_of_gangs(t, "cut", "1", async {
        for method in ["GET", "POST", "PATCH", "DELETE"] {
            proxy.rule(method, "", Rule::Hold);
        }
        wait_for(&second, "leader").await?;
        assert!(!is_ready_as(&first, "leader"), "both lead");
        proxy.release();
        wait_for(&first, "follower").await
    })
    .await?;

    in_the_middle_of_gangs(t, "ended", "1", async {
        let held = holder(t).await?;
        let status = second.terminate()?;
        assert!(status.success(), "ended with {status}");
        assert_ne!(holder(t).await?, held, "it was not given back");
        tell_takeover("ended", wait_for(&first, "leader")).await?;
        second.restart().await?;
        wait_for(&second, "follower").await
    })
    .await?;

    in_the_middle_of_gangs(t, "killed", "1", async {
        first.kill9()?;
        tell_takeover("was killed", wait_for(&second, "leader")).await?;
        first.restart().await?;
        wait_for(&first, "follower").await
    })
    .await?;

    in_the_middle_of_gangs(t, "stopped", "1", async {
        second.pause()?;
        wait_for(&first, "leader").await?;
        second.resume()?;
        wait_for(&second, "follower").await
    })
    .await?;

    lease_in_other_hands(t, &first, &second).await?;
    none_bound_twice(t)?;
    let left = t.pods().list(PLACEHOLDERS).await?;
    assert!(left.is_empty(), "{} placeholders are left", left.len());
    rights(t).await
}

/// How long it takes until the other one leads and has read the cluster: a figure, not a promise of this machine.
async fn tell_takeover(how: &str, leads: impl Future<Output = Result<()>>) -> Result<()> {
    let begin = Instant::now();
    leads.await?;
    println!("replicas: another leads, and is ready, {:.1} s after the first {how}", begin.elapsed().as_secs_f64());
    Ok(())
}

fn leases(t: &Context) -> Objects<Lease> {
    Objects::of(&t.client, LEASES.0)
}

async fn holder(t: &Context) -> Result<Option<String>> {
    let lease = leases(t).get(LEASES.1).await?;
    Ok(lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity))
}

async fn renewed(t: &Context) -> Result<Option<MicroTime>> {
    Ok(leases(t).get(LEASES.1).await?.and_then(|lease| lease.spec).and_then(|spec| spec.renew_time))
}

/// The Lease is annotated, deleted, and given to somebody who does not exist: one leads again each time, and is obeyed.
async fn lease_in_other_hands(t: &Context, first: &Scheduler, second: &Scheduler) -> Result<()> {
    let leader = holder(t).await?;
    leases(t).patch(LEASES.1, json!({"metadata": {"annotations": {"note": "by hand"}}})).await?;
    let noted = renewed(t).await?;
    until("it is renewed with what it was given", async || Ok(renewed(t).await? != noted)).await?;
    let lease = leases(t).get(LEASES.1).await?;
    assert!(lease.is_some_and(|lease| lease.metadata.annotations.is_some_and(|all| all.contains_key("note"))));
    leases(t).delete(LEASES.1).await?;
    leases(t).wait(LEASES.1, "is made anew", |_| true).await?;
    assert_eq!(holder(t).await?, leader, "who leads makes it anew");
    make_gang(t, "anew", MEMBERS, json!({})).await?;
    wait_whole(t, "anew", MEMBERS).await?;

    leases(t).patch(LEASES.1, json!({"spec": {"holderIdentity": "somebody"}})).await?;
    for one in [first, second] {
        wait_for(one, "follower").await?;
    }
    until("one leads again", async || Ok(is_ready_as(first, "leader") || is_ready_as(second, "leader"))).await?;
    make_gang(t, "robbed", MEMBERS, json!({})).await?;
    wait_whole(t, "robbed", MEMBERS).await
}

/// Every right of the Role for Leases was used by now, and none was missing.
async fn rights(t: &Context) -> Result<()> {
    let (used, denied) = asked_for(t)?;
    assert!(denied.is_empty(), "denied: {denied:#?}");
    let role = Objects::<Role>::of(&t.client, LEASES.0).get(ROLE).await?;
    let granted = rights_of(role.and_then(|role| role.rules).unwrap_or_default().iter());
    assert!(granted.len() >= 3, "{granted:?}");
    let idle: Vec<_> = granted.difference(&used).collect();
    assert!(idle.is_empty(), "granted and not used: {idle:#?}");
    Ok(())
}

/// Gangs of the rolling update; they fill the nodes to the last CPU.
const GANGS: u32 = 50;
/// Nodes for them.
const NODES: u32 = 10;

/// As a Deployment does it: a new one, ready; an old one ends; and once more.
async fn rolling_update(t: &mut Context) -> Result<()> {
    t.add_nodes("node", NODES, |nodes| nodes.cpu = (GANGS * MEMBERS / NODES).to_string()).await?;
    let mut old = [start(t, "old-0").await?, start(t, "old-1").await?];
    wait_for(&old[0], "leader").await?;
    let gangs = async {
        for number in 0..GANGS {
            let (kind, spec) = kinds()[number as usize % kinds().len()].clone();
            make_gang(t, &format!("{kind}-{number}"), MEMBERS, spec).await?;
        }
        Ok(())
    };
    let update = async {
        t.pods().wait_all("", "some run", |pods| pods.iter().any(|pod| phase(pod) == "Running")).await?;
        let mut new = Vec::new();
        for (number, one) in old.iter_mut().enumerate() {
            new.push(start(t, &format!("new-{number}")).await?);
            let status = one.terminate()?;
            assert!(status.success(), "ended with {status}");
        }
        Ok::<_, Error>(new)
    };
    let ((), new) = tokio::try_join!(gangs, update)?;
    until("a new one leads", async || Ok(new.iter().any(|one| is_ready_as(one, "leader")))).await?;
    for number in 0..GANGS {
        wait_whole(t, &format!("{}-{number}", kinds()[number as usize % kinds().len()].0), MEMBERS).await?;
    }
    let mut on_nodes: BTreeMap<String, u32> = BTreeMap::new();
    for pod in t.pods().list("").await? {
        *on_nodes.entry(node(&pod).to_owned()).or_default() += 1;
    }
    assert!(on_nodes.values().all(|pods| *pods == GANGS * MEMBERS / NODES), "{on_nodes:?}");
    none_bound_twice(t)
}

/// It is the API server whose clock differs here: to a process that is as if its own did.
async fn clocks(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 1, |_| ()).await?;
    let proxy = Proxy::start(&t.cluster.kubeconfig).await?;
    let hours = SignedDuration::from_hours;
    proxy.set_ahead(hours(1));
    let launch = t.cluster.launch("behind", &[]).await?;
    proxy.redirect(&launch.kubeconfig)?;
    let mut behind = Scheduler::start(&launch).await?;
    let spec = json!({"placeholderFor": "all", "style": "Hard", "placeholderTimeoutSeconds": 1800});
    make_group(t, "held", 2, spec).await?;
    let runs = |group: &TaskGroup| status(group).deadlines.is_some_and(|deadlines| deadlines.placeholder.is_some());
    let group = t.groups().wait("held", "has a deadline", runs).await?;
    let deadline = status(&group).deadlines.and_then(|deadlines| deadlines.placeholder).expect("it is there").0;
    let left = deadline.duration_since(Timestamp::now());
    assert!(left > hours(1) && left <= hours(1) + SignedDuration::from_mins(31), "{deadline}: {left}");
    let ahead = metric(&behind, "gangline_clock_ahead_seconds", &[]);
    assert!((-3_700.0..-3_500.0).contains(&ahead), "{ahead}");
    assert_eq!(behind.log_about("the clock of this machine is behind", 9)?.lines().count(), 1);
    behind.kill9()?;
    // By the clock of the machine that comes next it would have half an hour and more; by the API server's it is over.
    proxy.set_ahead(hours(2));
    let _later = Scheduler::start(&launch).await?;
    wait_reason(t, "held", "PlaceholderTimeout").await.map(drop)
}

/// At the start, and under a process that leads: it says what it lacks, places nothing meanwhile, and leads when it may.
async fn role_is_missing(t: &mut Context) -> Result<()> {
    t.add_nodes("node", 2, |_| ()).await?;
    let launch = launch(t, "gangline").await?;
    let role = take_role(t).await?;
    let mut scheduler = Scheduler::spawn(&launch)?;
    could_not_lead(&scheduler).await?;
    make_gang(t, "early", MEMBERS, json!({})).await?;
    give_role(t, &role).await?;
    scheduler.wait_ready().await?;
    wait_for(&scheduler, "leader").await?;
    wait_whole(t, "early", MEMBERS).await?;

    take_role(t).await?;
    could_not_lead(&scheduler).await?;
    make_gang(t, "late", MEMBERS, json!({})).await?;
    assert!(t.pods().list(&members_of("late")).await?.iter().all(|pod| !is_bound(pod)), "placed by nobody who leads");
    give_role(t, &role).await?;
    wait_for(&scheduler, "leader").await?;
    wait_whole(t, "late", MEMBERS).await?;
    none_bound_twice(t)
}

fn roles(t: &Context) -> Objects<Role> {
    Objects::of(&t.client, LEASES.0)
}

/// Deletes the Role for the Lease and waits until that holds; the Role as it was.
async fn take_role(t: &Context) -> Result<Role> {
    let role = roles(t).get(ROLE).await?.ok_or_else(|| Error::new(format!("there is no Role {ROLE}")))?;
    roles(t).delete(ROLE).await?;
    until("the right is gone", async || Ok(!may_use_the_lease(t).await?)).await?;
    Ok(role)
}

async fn give_role(t: &Context, role: &Role) -> Result<()> {
    let rules = serde_json::to_value(&role.rules).during("reading the rules of the Role")?;
    roles(t).create(json!({"metadata": {"name": ROLE}, "rules": rules})).await.map(drop)
}

async fn may_use_the_lease(t: &Context) -> Result<bool> {
    let attributes = json!({
        "verb": "get", "group": "coordination.k8s.io", "resource": "leases", "namespace": LEASES.0, "name": LEASES.1,
    });
    let review = json!({"metadata": {}, "spec": {"user": SCHEDULER, "resourceAttributes": attributes}});
    let review = t.everywhere::<SubjectAccessReview>().create(review).await?;
    Ok(review.status.is_some_and(|status| status.allowed))
}

/// Waits until `/readyz` and the log say that the Lease is refused.
async fn could_not_lead(scheduler: &Scheduler) -> Result<()> {
    until("it says that it could not lead", async || {
        let said = scheduler.get("/readyz").filter(|(code, _)| *code == 503);
        Ok(said.is_some_and(|(_, text)| text.contains("it could not lead") && text.contains("role: follower")))
    })
    .await?;
    let log = scheduler.log_about("the Lease cannot be used", 1)?;
    assert!(log.contains("forbidden") && log.contains("WARN"), "{log}");
    Ok(())
}
