//! What tests that break things share: gangs of numbered members, what the scheduler says of itself, who asked for what.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::harness::Context;
use crate::harness::context::phase;
use crate::harness::words::{is_bound, status};
use crate::support::error::{During, Error, Result};
use crate::support::objects::DEADLINE;
use crate::support::scheduler::Scheduler;

/// How often a file or the scheduler's HTTP is looked at: nothing tells when they change.
const POLL: Duration = Duration::from_millis(50);

/// The scheduler's user in the audit log.
pub(crate) const SCHEDULER: &str = "system:serviceaccount:gangline-system:gangline";

/// Waits until something that no watch shows is as expected.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let give_up = Instant::now() + DEADLINE;
    while !holds().await? {
        if Instant::now() > give_up {
            return Err(Error::new(format!("not within {} s: {what}", DEADLINE.as_secs())));
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// A TaskGroup whose members ask for 1 CPU each; `spec` is merged into its spec.
pub(crate) async fn make_group(t: &Context, name: &str, members: u32, spec: Value) -> Result<TaskGroup> {
    t.group(name, members, "1", spec).await
}

/// A member of a TaskGroup, named after it and a number.
pub(crate) fn member(t: &Context, group: &str, number: u32) -> Value {
    t.pod(&format!("{group}-{number}"), "1", json!({"metadata": {"labels": {"gangline.dev/task-group": group}}}))
}

/// Members with the numbers from 0.
pub(crate) async fn make_members(t: &Context, group: &str, count: u32) -> Result<()> {
    t.members(group, 0..count, "1").await
}

/// A TaskGroup and all of its members.
pub(crate) async fn make_gang(t: &Context, name: &str, members: u32, spec: Value) -> Result<()> {
    make_group(t, name, members, spec).await?;
    make_members(t, name, members).await
}

/// Members of each gang.
pub(crate) const MEMBERS: u32 = 4;

/// How a gang reserves.
pub(crate) fn kinds() -> [(&'static str, Value); 3] {
    [
        ("direct", json!({"reservation": "Direct"})),
        ("missing", json!({"placeholderFor": "missing"})),
        ("all", json!({"placeholderFor": "all"})),
    ]
}

/// A gang of which half the members come with the TaskGroup, and the others once something is held for them; each asks for
/// so much CPU.
pub(crate) async fn make_in_halves(t: &Context, gang: &str, spec: &Value, cpu: &str) -> Result<()> {
    t.group(gang, MEMBERS, cpu, spec.clone()).await?;
    t.members(gang, 0..MEMBERS / 2, cpu).await?;
    if spec["reservation"] != "Direct" {
        let held = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod)).count() >= 2;
        t.pods().wait_all(&placeholders_of(gang), &format!("places of {gang} are held"), held).await?;
    }
    t.members(gang, MEMBERS / 2..MEMBERS, cpu).await
}

/// Waits until the pods of a gang changed this often, or the gang runs.
pub(crate) async fn count_changes(t: &Context, gang: &str, wanted: u32) -> Result<()> {
    let seen = std::cell::Cell::new(0);
    let enough = |pods: &[&Pod]| {
        seen.set(seen.get() + 1);
        let running = pods.iter().filter(|pod| phase(pod) == "Running" && is_member(pod)).count();
        seen.get() > wanted || running == MEMBERS as usize
    };
    let selector = format!("gangline.dev/task-group={gang}");
    t.pods().wait_all(&selector, &format!("{gang} changed {wanted} times"), enough).await.map(drop)
}

fn is_member(pod: &Pod) -> bool {
    !pod.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key("gangline.dev/placeholder"))
}

/// Does something while gangs of each kind start, of members that ask for so much CPU: from when the first of them has begun.
pub(crate) async fn in_the_middle_of_gangs(
    t: &Context,
    name: &str,
    cpu: &str,
    work: impl Future<Output = Result<()>>,
) -> Result<()> {
    let gangs = kinds().map(|(kind, spec)| (format!("{name}-{kind}"), spec));
    let make = async {
        for (gang, spec) in &gangs {
            make_in_halves(t, gang, spec, cpu).await?;
            wait_whole(t, gang, MEMBERS).await?;
        }
        Ok(())
    };
    let work = async {
        count_changes(t, &gangs[0].0, 1).await?;
        work.await
    };
    let step = |error: Error| Error::new(format!("{name}: {error}"));
    tokio::try_join!(make, work).map(drop).map_err(step)
}

/// Selects everything of a TaskGroup that is no placeholder.
pub(crate) fn members_of(group: &str) -> String {
    format!("gangline.dev/task-group={group},!gangline.dev/placeholder")
}

/// Selects the placeholders of a TaskGroup.
pub(crate) fn placeholders_of(group: &str) -> String {
    format!("gangline.dev/task-group={group},gangline.dev/placeholder")
}

/// Waits until a gang runs with this many members, and no placeholder of it is left.
pub(crate) async fn wait_whole(t: &Context, group: &str, members: u32) -> Result<()> {
    let all_run = |pods: &[&Pod]| pods.len() == members as usize && pods.iter().all(|pod| phase(pod) == "Running");
    t.pods().wait_all(&members_of(group), &format!("all of {group} run"), all_run).await?;
    let what = format!("no placeholder of {group} is left");
    t.pods().wait_all(&placeholders_of(group), &what, |pods| pods.is_empty()).await.map(drop)
}

/// Waits until this many placeholders of a group have a node.
pub(crate) async fn wait_held(t: &Context, group: &str, count: u32) -> Result<Vec<Pod>> {
    let held = |pods: &[&Pod]| pods.iter().filter(|pod| is_bound(pod)).count() == count as usize;
    t.pods().wait_all(&placeholders_of(group), &format!("{count} placeholders of {group} are bound"), held).await
}

/// Waits until a TaskGroup shows this reason for its present spec; its message.
pub(crate) async fn wait_reason(t: &Context, group: &str, reason: &str) -> Result<String> {
    Ok(status(&t.wait_reason(group, reason).await?).message)
}

/// The scheduler's `/state`.
pub(crate) fn state(scheduler: &Scheduler) -> Result<Value> {
    let (code, body) = scheduler.get("/state").unwrap_or_default();
    if code != 200 {
        return Err(Error::new(format!("/state answered {code}: {body}")));
    }
    serde_json::from_str(&body).during("reading /state")
}

/// Whether `/state` lists this verb and resource as denied.
pub(crate) fn says_denied(scheduler: &Scheduler, verb: &str, resource: &str) -> Result<bool> {
    let state = state(scheduler)?;
    let denied = state["denied"].as_array().into_iter().flatten();
    Ok(denied.into_iter().any(|one| one["verb"] == verb && one["resource"] == resource))
}

/// Sum of a metric's samples whose labels contain all of these texts.
pub(crate) fn metric(scheduler: &Scheduler, name: &str, labels: &[&str]) -> f64 {
    let (_, text) = scheduler.get("/metrics").unwrap_or_default();
    let samples = text.lines().filter(|line| line.starts_with(name) && labels.iter().all(|label| line.contains(label)));
    samples.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

/// A request in the audit log.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) user: String,
    pub(crate) verb: String,
    /// With the subresource: `pods/binding`.
    pub(crate) resource: String,
    /// Namespace, name, and UID where the request named one.
    pub(crate) object: String,
    pub(crate) code: u64,
}

/// The requests answered so far. The last line may be on its way.
pub(crate) fn requests(audit_log: &Path) -> Result<Vec<Request>> {
    requests_about(audit_log, "")
}

/// Those of them in whose record a text is, such as a namespace.
pub(crate) fn requests_about(audit_log: &Path, text: &str) -> Result<Vec<Request>> {
    let all = fs::read_to_string(audit_log).during("reading the audit log")?;
    let about = all.lines().filter(|line| line.contains(text));
    Ok(about.filter_map(|line| serde_json::from_str(line).ok()).map(|line| request(&line)).collect())
}

fn request(line: &Value) -> Request {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = &line["objectRef"];
    let (resource, sub) = (text(&object["resource"]), text(&object["subresource"]));
    Request {
        user: text(&line["user"]["username"]),
        verb: text(&line["verb"]),
        resource: if sub.is_empty() { resource } else { format!("{resource}/{sub}") },
        object: format!("{}/{} {}", text(&object["namespace"]), text(&object["name"]), text(&object["uid"])),
        code: line["responseStatus"]["code"].as_u64().unwrap_or(0),
    }
}

/// How many requests of the scheduler were denied for lack of this right.
pub(crate) fn denials(t: &mut Context, verb: &str, resource: &str) -> Result<usize> {
    let all = requests(&t.plane()?.audit_log())?;
    let denied = all.iter().filter(|one| one.user == SCHEDULER && one.code == 403);
    Ok(denied.filter(|one| one.verb == verb && one.resource == resource).count())
}

/// An error if a pod was bound more than once, whoever asked. The scheduler's Bindings name the pod's UID.
pub(crate) fn none_bound_twice(t: &mut Context) -> Result<()> {
    let mut bindings: BTreeMap<String, usize> = BTreeMap::new();
    for one in requests(&t.plane()?.audit_log())? {
        if one.resource == "pods/binding" && one.verb == "create" && one.code == 201 {
            *bindings.entry(one.object).or_default() += 1;
        }
    }
    let twice: Vec<_> = bindings.iter().filter(|(_, count)| **count > 1).collect();
    if bindings.is_empty() { Err(Error::new("the audit log shows no binding at all")) } else { Ok(()) }?;
    if twice.is_empty() { Ok(()) } else { Err(Error::new(format!("bound more than once: {twice:?}"))) }
}
