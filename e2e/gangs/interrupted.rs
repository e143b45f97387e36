//! The scheduler dies when some of a gang are bound. In whose words ever it is declared: the next one completes it before anybody
//! else gets into its seats.

use gangline::api::task_group::TaskGroup;
use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::declared::{Gang, Words};
use super::yunikorn_apps::on_node;
use crate::breakage::{Request, SCHEDULER, none_bound_twice, requests, until};
use crate::harness::cluster::ARGS;
use crate::harness::context::{merge, phase};
use crate::harness::operators::STOCK;
use crate::harness::words::{is_bound, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::components::Options;
use crate::support::error::{Error, Result};

pub(crate) fn tests() -> Vec<Test> {
    let words = [
        ("crash: a TaskGroup of which 1, 3 or 5 of 6 are bound is completed first", Words::Gangline),
        ("crash: a gang of YuniKorn of which 1, 3 or 5 of 6 are bound is completed first", Words::YuniKorn),
        ("crash: a PodGroup of Koordinator of which 1, 3 or 5 of 6 are bound is completed first", Words::Koordinator),
        (
            "crash: a gang of Koordinator's annotations of which 1, 3 or 5 of 6 are bound is completed first",
            Words::KoordinatorAnnotations,
        ),
        (
            "crash: a PodGroup of scheduler-plugins of which 1, 3 or 5 of 6 are bound is completed first",
            Words::Coscheduling,
        ),
        ("crash: a PodGroup of Volcano of which 1, 3 or 5 of 6 are bound is completed first", Words::Volcano),
        ("crash: a PodGroup of Kubernetes of which 1, 3 or 5 of 6 are bound is completed first", Words::Kubernetes),
    ];
    let ours = words.into_iter().map(|(name, words)| {
        let body = async move |t: &mut Context| completed_first(t, words).await;
        test(name, Needs::OwnControlPlane(Options::default()), body).without_gangline()
    });
    let stock = test(
        "stock kube-scheduler: killed when 1, 3 or 5 of 6 are bound, it lets others into the room",
        Needs::OwnControlPlane(Options::default()),
        of_kube_scheduler,
    );
    ours.chain([stock.without_gangline()]).collect()
}

/// Members of each gang.
const MEMBERS: u32 = 6;
/// So many of them are bound when the scheduler dies; a gang each.
const BOUND: [u32; 3] = [1, MEMBERS / 2, MEMBERS - 1];
/// Members of each gang that wants the same room.
const RIVALS: u32 = 2;
/// CPUs of each node: one more than a gang needs, so that there is room for either rival when one member has no node.
const CPUS: u32 = MEMBERS + 1;
/// Label of everybody who wants the room of a gang.
const RIVAL: &str = "e2e.gangline.dev/rival";

/// A gang on a node of its own, of which so many members are bound.
struct Start<'a> {
    gang: Gang<'a>,
    bound: u32,
}

impl Start<'_> {
    /// The members whose Bindings are refused.
    fn late(&self) -> impl Iterator<Item = String> {
        (self.bound..MEMBERS).map(move |number| self.gang.member(number))
    }

    /// Waits until so many are bound, and the Bindings of all others were refused to this user.
    async fn wait_interrupted(&self, t: &Context, user: &str) -> Result<()> {
        self.gang.wait_bound(t, self.bound).await?;
        let log = t.cluster.plane.as_ref().expect("of its own").audit_log();
        let refused = async || {
            let all = requests(&log)?;
            Ok(self.late().all(|name| {
                let of_pod = |one: &&Request| {
                    one.resource == "pods/binding" && one.object.contains(&format!("/{name} ")) && one.user == user
                };
                all.iter().filter(of_pod).any(|one| one.code >= 400)
            }))
        };
        until("the other Bindings were refused", refused).await
    }

    /// A gang, in the same words, that wants the same room.
    fn rivals(&self, patch: Value) -> Gang<'_> {
        let Gang { words, cpu, node, .. } = self.gang;
        let name = format!("rivals-{}", self.gang.name);
        Gang { name, node, patch, ..Gang::new(words, "", RIVALS, cpu) }
    }

    /// A gang and a pod come that want the same room; `patch` is merged into them.
    async fn add_rivals(&self, t: &Context, patch: &Value) -> Result<()> {
        let rivals = self.rivals(patch.clone());
        rivals.declare(t).await?;
        rivals.create(t, 0..RIVALS).await?;
        let mut pod = t.pod(&self.stranger(), &RIVALS.to_string(), patch.clone());
        merge(&mut pod, json!({"spec": {"nodeSelector": self.gang.node.map(on_node)}}));
        t.pods().create(pod).await.map(drop)
    }

    /// Name of the pod that wants the same room.
    fn stranger(&self) -> String {
        format!("stranger-{}", self.gang.name)
    }

    /// CPUs of the gang's node that pods use.
    fn used(&self, pods: &[&Pod]) -> u32 {
        let here = pods.iter().filter(|pod| is_bound(pod) && pod.name_any().contains(&self.gang.name));
        here.map(|pod| if pod.name_any() == self.stranger() { RIVALS } else { 1 }).sum()
    }
}

/// Three gangs side by side; everybody who wants their room is more urgent than they.
async fn completed_first(t: &mut Context, words: Words) -> Result<()> {
    words.define(t).await?;
    let mut scheduler = t.start_scheduler("gangline", &ARGS).await?;
    let nodes = add_nodes(t).await?;
    let starts = starts(words, &nodes, &json!({}));
    begin(t, &starts, SCHEDULER).await?;
    scheduler.kill9()?;

    let rival = rival_patch(t).await?;
    for start in &starts {
        start.add_rivals(t, &rival).await?;
    }
    let completed = async {
        allow_bindings(t).await?;
        scheduler.restart().await?;
        for start in &starts {
            start.gang.wait_running(t, MEMBERS).await?;
            start.gang.wait_said(t, MEMBERS).await?;
            t.wait_pod_reason(&start.stranger(), "Unschedulable").await?;
        }
        wait_say(t, MEMBERS, "Running").await?;
        wait_say(t, RIVALS, "WaitingForCapacity").await
    };
    let nobody = |pods: &[&Pod]| !pods.iter().any(|pod| is_bound(pod));
    t.pods().always(RIVAL, "nobody else gets into their seats", nobody, completed).await?;
    rivals_follow(t, &starts, &rival).await?;
    none_bound_twice(t)
}

/// With room for them, too, they run.
async fn rivals_follow(t: &Context, starts: &[Start<'_>], rival: &Value) -> Result<()> {
    let cpus = (MEMBERS + 2 * RIVALS).to_string();
    for node in starts.iter().filter_map(|start| start.gang.node) {
        t.everywhere::<Node>().patch_status(node, json!({"allocatable": {"cpu": cpus}})).await?;
    }
    for start in starts {
        let rivals = start.rivals(rival.clone());
        rivals.wait_running(t, RIVALS).await?;
        rivals.wait_said(t, RIVALS).await?;
        t.pods().wait(&start.stranger(), "runs", |pod| phase(pod) == "Running").await?;
        start.gang.wait_running(t, MEMBERS).await?;
    }
    t.wait_no_placeholders().await
}

/// The same with Kubernetes' own scheduler, to which all of these are pods: the more urgent ones get the room, and the gangs run in part.
async fn of_kube_scheduler(t: &mut Context) -> Result<()> {
    Words::Koordinator.define(t).await?;
    let mut scheduler = t.cluster.start_kube_scheduler()?;
    let nodes = add_nodes(t).await?;
    let stock = json!({"spec": {"schedulerName": STOCK}});
    let starts = starts(Words::Koordinator, &nodes, &stock);
    begin(t, &starts, "kube-scheduler").await?;
    scheduler.kill()?;

    let mut rival = rival_patch(t).await?;
    merge(&mut rival, stock);
    for start in &starts {
        start.add_rivals(t, &rival).await?;
    }
    allow_bindings(t).await?;
    let _next = t.cluster.start_kube_scheduler()?;
    for start in &starts {
        t.pods().wait_all("", "its node is full", |pods| start.used(pods) == CPUS).await?;
        let members = t.pods().list(&start.gang.selector()).await?;
        let bound = members.iter().filter(|pod| is_bound(pod)).count();
        assert!(bound < MEMBERS as usize, "all of {} have nodes", start.gang.name);
    }
    Ok(())
}

/// A node for each gang, and one for those that nobody misses.
async fn add_nodes(t: &mut Context) -> Result<Vec<String>> {
    t.add_nodes("probe", 1, |_| ()).await?;
    t.add_nodes("room", BOUND.len() as u32, |nodes| nodes.cpu = CPUS.to_string()).await
}

/// The gangs; `patch` is merged into their pods.
fn starts<'a>(words: Words, nodes: &'a [String], patch: &Value) -> Vec<Start<'a>> {
    let of = |(bound, node): (u32, &'a String)| {
        let (name, node) = (format!("after-{bound}"), Some(node.as_str()));
        let patch = patch.clone();
        Start { gang: Gang { name, node, patch, ..Gang::new(words, "", MEMBERS, "1") }, bound }
    };
    BOUND.into_iter().zip(nodes).map(of).collect()
}

/// The gangs come, and start as far as they can.
async fn begin(t: &Context, starts: &[Start<'_>], user: &str) -> Result<()> {
    refuse_bindings(t, &starts.iter().flat_map(|start| start.late()).collect::<Vec<_>>()).await?;
    for start in starts {
        start.gang.declare(t).await?;
        start.gang.create(t, 0..MEMBERS).await?;
    }
    for start in starts {
        start.wait_interrupted(t, user).await?;
    }
    Ok(())
}

/// What makes a pod more urgent than a gang, and known as who wants its room.
async fn rival_patch(t: &Context) -> Result<Value> {
    let urgent = format!("urgent-{}", t.id);
    t.everywhere::<PriorityClass>().create(json!({"metadata": {"name": urgent}, "value": 1_000_000})).await?;
    Ok(json!({"metadata": {"labels": {RIVAL: "true"}}, "spec": {"priorityClassName": urgent}}))
}

/// Waits until the TaskGroups of so many all say so.
async fn wait_say(t: &Context, min: u32, reason: &str) -> Result<()> {
    let say = |groups: &[&TaskGroup]| {
        let those = groups.iter().filter(|group| group.spec.min_member == min && status(group).reason == reason);
        those.count() == BOUND.len()
    };
    t.groups().wait_all("", &format!("those of {min} say {reason}"), say).await.map(drop)
}

/// Pods by which it is tried whether a policy is in force: it takes a second or so, each a few milliseconds.
const PROBES: u32 = 2_000;

/// An admission policy that refuses the Bindings of these pods; returns when it is in force.
async fn refuse_bindings(t: &Context, pods: &[String]) -> Result<()> {
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
    let target = format!("{}-probe-0", t.id);
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
