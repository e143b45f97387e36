//! A large gang in YuniKorn's words on many nodes, and what it costs the API server. (Gangs of 1000 are measured by `lab perf`.)

use std::collections::BTreeMap;

use super::middles::{Middle, Scenario};
use super::yunikorn_apps::{App, held};
use crate::breakage::{SCHEDULER, requests_about, until};
use crate::harness::Context;
use crate::support::error::Result;

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![Scenario::new("yunikorn S16: 200 members on 500 nodes, and the writes", NODES, |t, middle| {
        Box::pin(many(t, middle))
    })]
}

const NODES: u32 = 500;
const MEMBERS: u32 = 200;
/// Writes beside one Binding for each member: the TaskGroup and its status, and events.
const OTHER_WRITES: usize = 20;

/// All members at once, so that no placeholder is needed; where the scheduler dies, half of them, and the other half meanwhile.
async fn many(t: &mut Context, middle: &Middle) -> Result<()> {
    let app = App::new(t, "many", MEMBERS, "1");
    let first = if middle.kills() { MEMBERS / 2 } else { MEMBERS };
    app.members(0..first).await?;
    if middle.kills() {
        held(t, (MEMBERS - first) as usize).await?;
    }
    middle.during(app.members(first..MEMBERS)).await?;
    app.wait_run(MEMBERS as usize).await?;
    t.wait_no_placeholders().await?;
    if middle.kills() { Ok(()) } else { few_writes(t).await }
}

/// What the scheduler has written for the test's objects, by verb and resource, once all Bindings are in the audit log.
async fn few_writes(t: &Context) -> Result<()> {
    let plane = t.cluster.plane.as_ref().expect("the test is left out where there is no audit log");
    let mut writes = BTreeMap::<String, usize>::new();
    let all_bound = async || {
        let asked = requests_about(&plane.audit_log(), &t.namespace)?;
        let written =
            asked.iter().filter(|one| one.user == SCHEDULER && !matches!(&*one.verb, "get" | "list" | "watch"));
        writes.clear();
        written.for_each(|one| *writes.entry(format!("{} {}", one.verb, one.resource)).or_default() += 1);
        Ok(writes.get("create pods/binding").is_some_and(|count| *count >= MEMBERS as usize))
    };
    until("all Bindings are recorded", all_bound).await?;
    println!("S16: {MEMBERS} members on {NODES} nodes: {writes:?}");
    let all = writes.values().sum::<usize>();
    assert!(all <= MEMBERS as usize + OTHER_WRITES, "{all} writes: {writes:?}");
    Ok(())
}
