//! I14: what follows from a plan follows each time: from the same objects and answers the same calls, each with every
//! choice in it, in whatever process, and whatever order lists come in.

use std::collections::BTreeMap;
use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use gangline::shim::op::Op;

use super::acts::Act;
use super::draw::draw;
use super::plan::{Faults, Head, Plan};
use super::run::play_in;
use super::sweep::each;
use super::world::World;
use crate::circle::size;

/// Tells another process to say what it does.
const OTHER: &str = "PLANS_OF_ANOTHER_PROCESS";
/// Begins a line that says it: a seed, and all calls as one number.
const SAYS: &str = "calls of plan ";

/// Every call of a play as it left.
fn calls(world: World, plan: &Plan) -> Vec<Op> {
    play_in(world.noting_calls(), plan).calls
}

fn world(head: &Head) -> World {
    World::new(head.seed, head.faults, None)
}

/// All calls of a plan, as one number. The hasher of the standard library has the same keys each time if it is made so.
pub(crate) fn digest(seed: u64) -> u64 {
    let plan = draw(seed);
    let mut hasher = DefaultHasher::new();
    calls(world(&plan.head), &plan).iter().for_each(|op| format!("{op:?}").hash(&mut hasher));
    hasher.finish()
}

/// Which nodes and seats pods are given, and which are made and deleted. Of calls that leave in one step, which comes first
/// is told by nobody. When a call that failed is tried again goes by when it was first made, and how long a step is put off
/// by how many there were before: here none fails, and none is put off.
pub(crate) fn deeds(plan: &Plan, order: Option<u64>) -> Vec<String> {
    let faults = Faults {
        refused: 0,
        answer_lost: 0,
        lost: 0,
        late: 0,
        slow_ms: 0,
        stall_ms: 0,
        crash: 0,
        unfit: 0,
        stale: 0,
        denied: None,
        prunes: false,
        taken: 0,
        ..plan.head.faults
    };
    let mut acts = plan.acts.clone();
    acts.retain(|(_, act)| !matches!(act, Act::Storm { .. }));
    let calm = Plan { head: Head { faults, ..plan.head.clone() }, acts };
    let world = world(&calm.head);
    let world = match order {
        Some(order) => world.listing_in_order(order),
        None => world,
    };
    let deed = |op: &Op| match op {
        Op::Bind { pod, node, annotations, .. } => Some(format!("bind {pod} to {node} as {annotations:?}")),
        Op::CreatePod(pod) => Some(format!("create {:?}", pod.metadata.name)),
        Op::DeletePod { pod, .. } => Some(format!("delete {pod}")),
        Op::FailPod { pod, .. } => Some(format!("fail {pod}")),
        Op::GetPod { .. }
        | Op::CreateTaskGroup(_)
        | Op::EditTaskGroup { .. }
        | Op::PatchPodCondition { .. }
        | Op::AnnotateTimeout { .. }
        | Op::PatchTaskGroupStatus { .. }
        | Op::PatchQueueStatus { .. }
        | Op::PatchPodGroupStatus { .. }
        | Op::CreateEvent(_) => None,
    };
    let mut deeds: Vec<String> = calls(world, &calm).iter().filter_map(deed).collect();
    deeds.sort_unstable();
    deeds
}

/// What is told of each plan, in their order.
fn told(plans: u64, of: impl Fn(u64) -> Option<String> + Sync) -> Vec<String> {
    let told = Mutex::new(BTreeMap::new());
    each(
        0..plans,
        |_| {},
        |seed| {
            let one = of(seed);
            told.lock().expect("nobody fails over a map").insert(seed, one);
        },
    );
    told.into_inner().expect("as above").into_values().flatten().collect()
}

/// A number, an address or an order that nothing promises, and that gets into a decision, is another one in another process.
#[test]
fn the_same_plan_is_played_the_same_in_another_process() {
    let calls = || told(size().twice, |seed| Some(format!("{SAYS}{seed}: {:x}", digest(seed))));
    if env::var_os(OTHER).is_some() {
        return println!("\n{}", calls().join("\n"));
    }
    let other = Command::new(env::current_exe().expect("this one runs"))
        .args(["--exact", "--nocapture", "sim::same::the_same_plan_is_played_the_same_in_another_process"])
        .env(OTHER, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs once more");
    let own = calls();
    let said = String::from_utf8(other.wait_with_output().expect("it ends").stdout).expect("text");
    let said: Vec<&str> = said.lines().filter(|line| line.starts_with(SAYS)).collect();
    assert_eq!(said, own);
}

/// As [`the_same_plan_is_played_the_same_in_another_process`], where lists come in other orders.
#[test]
fn the_same_plan_is_played_the_same_whatever_order_lists_come_in() {
    let differ = told(size().twice, |seed| {
        let plan = draw(seed);
        (deeds(&plan, None) != deeds(&plan, Some(seed))).then(|| format!("seed {seed}"))
    });
    assert_eq!(differ, Vec::<String>::new());
}
