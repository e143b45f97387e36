//! Tests that end, stop or double the scheduler at any moment: afterwards every gang is whole, and nothing happened twice.

use std::time::{Duration, Instant};

use gangline::api::task_group::TaskGroup;
use serde_json::json;

use crate::breakage::{
    MEMBERS, count_changes, kinds, make_gang, make_group, make_in_halves, make_members, member, metric,
    none_bound_twice, until, wait_reason, wait_whole,
};
use crate::harness::{Context, Needs, Test, test};
use crate::support::components::{Component, Options};
use crate::support::error::{Error, Result};

pub(crate) fn tests() -> Vec<Test> {
    let own = || Needs::OwnControlPlane(Options::default());
    vec![
        test("crash: killed at any moment", own(), killed).without_gangline(),
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
