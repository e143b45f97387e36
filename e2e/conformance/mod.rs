//! The simulation's model of the API server against a real one: the same random requests, made and read by what ships
//! (`shim/wire.rs`), must have the same outcomes and leave the same pod (issue 4; design 04, 4.2).
//!
//! `CONFORMANCE=5000 cargo test --test e2e -- conformance` plays so many sequences.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

use futures::{StreamExt, TryStreamExt, stream};
use gangline::core::ids::{Key, Uid};
use gangline::core::time::Wall;
use gangline::shim::observation::{Body, Outcome};
use gangline::shim::op::{Kind, Op};
use gangline::shim::wire;
use gangline::sim::api::{Api, condition};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{Pod, PodCondition};
use kube::Client;
use kube::api::DeleteParams;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::harness::{Context, Needs, Test, test};
use crate::support::components::Options;
use crate::support::error::{During, Error, Result};
use crate::support::objects::Objects;

/// How many sequences every run plays.
const SEQUENCES: usize = 300;
/// Requests of a sequence.
const LENGTH: usize = 16;
/// Sequences at a time.
const AT_ONCE: usize = 16;
/// When everything happens, to the model.
const NOW: Wall = Wall(5_000);
/// What keeps a pod.
const FINALIZER: &str = "e2e.gangline.dev/keep";

pub(crate) fn tests() -> Vec<Test> {
    let needs = Needs::OwnControlPlane(Options::bare());
    vec![test("conformance: the model answers as the API server does", needs, conforms).without_gangline()]
}

/// Whose UID a request names.
#[derive(Clone, Copy, Debug)]
enum Whose {
    /// The pod's that is there, or was last.
    Own,
    /// Another one's.
    Other,
}

/// What a new pod is like.
#[derive(Clone, Copy, Debug)]
struct Form {
    gated: bool,
    held: bool,
    /// Seconds, where it says.
    grace: Option<i64>,
}

/// What is asked, always about one name.
#[derive(Clone, Copy, Debug)]
enum Step {
    Create(Form),
    Bind(Whose),
    Delete(Whose),
    Get,
    Condition(Whose, bool),
    /// Somebody deletes it.
    Drop,
    /// Its node ends it.
    End,
    /// It is said to have ended by itself.
    Finish(bool),
    /// Whoever held it lets it go.
    LetGo,
}

fn step() -> impl Strategy<Value = Step> {
    let whose = || prop_oneof![4 => Just(Whose::Own), 1 => Just(Whose::Other)];
    let grace = prop_oneof![4 => Just(None), 1 => Just(Some(0)), 1 => Just(Some(7))];
    let form = (prop::bool::weighted(0.15), prop::bool::weighted(0.2), grace);
    let form = form.prop_map(|(gated, held, grace)| Form { gated, held, grace });
    prop_oneof![
        4 => form.prop_map(Step::Create),
        4 => whose().prop_map(Step::Bind),
        3 => whose().prop_map(Step::Delete),
        1 => Just(Step::Get),
        2 => (whose(), any::<bool>()).prop_map(|(whose, is)| Step::Condition(whose, is)),
        1 => Just(Step::Drop),
        2 => Just(Step::End),
        2 => any::<bool>().prop_map(Step::Finish),
        1 => Just(Step::LetGo),
    ]
}

/// The sequences: the same in each run.
fn sequences(count: usize) -> Result<Vec<Vec<Step>>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let one = prop::collection::vec(step(), LENGTH);
    let draw =
        |_| one.new_tree(&mut runner).map(|tree| tree.current()).map_err(|problem| Error::new(problem.to_string()));
    (0..count).map(draw).collect()
}

async fn conforms(t: &mut Context) -> Result<()> {
    let count = std::env::var("CONFORMANCE").ok().map_or(Ok(SEQUENCES), |text| text.parse()).during("CONFORMANCE")?;
    let begun = Instant::now();
    let plays = sequences(count)?.into_iter().enumerate().map(|(number, steps)| {
        let server = Server { client: t.client.clone(), key: Key::new(t.namespace.as_str(), format!("p{number}")) };
        async move { play(&server, &steps).await }
    });
    stream::iter(plays).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    println!("{count} sequences of {LENGTH} requests in {:.1?}: the model answered as the server did", begun.elapsed());
    Ok(())
}

/// Plays a sequence on both, and compares after each request.
async fn play(server: &Server, steps: &[Step]) -> Result<()> {
    let mut model = Api::default();
    let (mut here, mut there) = (Life::default(), Life::default());
    for (number, step) in steps.iter().enumerate() {
        let said = (on_model(&mut model, &server.key, &here, *step), server.ask(&there, *step).await?);
        let there_now = server.pod().await?;
        if there_now.is_none() && matches!(step, Step::Delete(_) | Step::Drop) && said == (200, 200) {
            // Seen about once in fifty thousand requests: a deletion right after a Binding reads the pod as it was before
            // it, and takes it away without grace. To the scheduler it is a node that was quick.
            model.end_pod(&server.key, NOW).ok();
        }
        let left = (model_pod(&model, &server.key), there_now);
        here.look(left.0.as_ref());
        there.look(left.1.as_ref());
        let seen = (View::of(left.0.as_ref(), here.count), View::of(left.1.as_ref(), there.count));
        if said.0 != said.1 || seen.0 != seen.1 {
            return Err(Error::new(format!(
                "after {:?}\nthe model says {} and has {}\nthe server says {} and has {}",
                &steps[..=number],
                said.0,
                seen.0,
                said.1,
                seen.1
            )));
        }
    }
    Ok(())
}

/// The pods that one name stood for, one after the other.
#[derive(Debug, Default)]
struct Life {
    uid: Option<String>,
    count: u32,
}

impl Life {
    fn look(&mut self, pod: Option<&Pod>) {
        let uid = pod.and_then(|pod| pod.metadata.uid.clone());
        if uid.is_some() && uid != self.uid {
            (self.uid, self.count) = (uid, self.count + 1);
        }
    }

    fn uid(&self, whose: Whose) -> Uid {
        let own = self.uid.as_deref().filter(|_| matches!(whose, Whose::Own));
        Uid::new(own.unwrap_or("5d1e2f3a-0000-4000-8000-000000000000"))
    }
}

/// What the scheduler would send for a step; `None` for what others do.
fn op(key: &Key, life: &Life, step: Step) -> Option<Op> {
    match step {
        Step::Create(form) => Some(Op::CreatePod(Box::new(pod(key, form)))),
        Step::Bind(whose) => Some(Op::Bind {
            pod: key.clone(),
            uid: life.uid(whose),
            node: "nowhere".into(),
            annotations: BTreeMap::from([("gangline.dev/binding".to_owned(), "queue=root.q".to_owned())]),
        }),
        Step::Delete(whose) => Some(Op::DeletePod { pod: key.clone(), uid: life.uid(whose) }),
        Step::Get => Some(Op::GetPod { pod: key.clone() }),
        Step::Condition(whose, is) => {
            let condition = PodCondition {
                reason: Some("Why".to_owned()),
                ..condition("PodScheduled", if is { "True" } else { "False" })
            };
            Some(Op::PatchPodCondition { pod: key.clone(), uid: life.uid(whose), condition: Box::new(condition) })
        }
        Step::Drop | Step::End | Step::Finish(_) | Step::LetGo => None,
    }
}

fn pod(key: &Key, form: Form) -> Pod {
    let mut spec = json!({"schedulerName": "nobody", "containers": [{"name": "main", "image": "i"}]});
    if form.gated {
        spec["schedulingGates"] = json!([{"name": "e2e.gangline.dev/gate"}]);
    }
    form.grace.iter().for_each(|grace| spec["terminationGracePeriodSeconds"] = json!(grace));
    let finalizers: &[&str] = if form.held { &[FINALIZER] } else { &[] };
    let metadata = json!({"name": &*key.name, "namespace": &*key.namespace, "finalizers": finalizers});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a pod")
}

fn on_model(api: &mut Api, key: &Key, life: &Life, step: Step) -> u16 {
    if let Some(op) = op(key, life, step) {
        return code(&api.call(&op, NOW));
    }
    let answer = match step {
        Step::Drop => api.delete_pod(key, None, NOW),
        Step::End => api.end_pod(key, NOW),
        Step::LetGo => api.let_go(key),
        Step::Finish(well) => api.change_pod(key, |pod| {
            pod.status.get_or_insert_default().phase = Some(phase(well).to_owned());
            Ok(())
        }),
        Step::Create(_) | Step::Bind(_) | Step::Delete(_) | Step::Get | Step::Condition(..) => unreachable!("an op"),
    };
    answer.map_or_else(|refusal| code(&refusal), |_| 200)
}

const fn phase(well: bool) -> &'static str {
    if well { "Succeeded" } else { "Failed" }
}

fn model_pod(api: &Api, key: &Key) -> Option<Pod> {
    match api.store.get(Kind::Pod, key)? {
        Body::Pod(pod) => Some((**pod).clone()),
        Body::Node(_) | Body::TaskGroup(_) | Body::Queue(_) | Body::ResourceQuota(_) => None,
    }
}

/// Successes are one.
fn code(outcome: &Outcome) -> u16 {
    match outcome {
        Outcome::Ok(_) => 200,
        Outcome::Refused { code, .. } => *code,
        Outcome::Pruned | Outcome::Unknown | Outcome::NotSent => 0,
    }
}

/// The real one.
struct Server {
    client: Client,
    key: Key,
}

impl Server {
    async fn ask(&self, life: &Life, step: Step) -> Result<u16> {
        if let Some(op) = op(&self.key, life, step) {
            return self.send(&op).await;
        }
        let (pods, name) = (Objects::<Pod>::of(&self.client, &self.key.namespace), &*self.key.name);
        let pods = pods.untyped();
        let params = kube::api::PatchParams::default();
        let merge = |patch: Value| kube::api::Patch::Merge(patch);
        let answer = match step {
            Step::Drop => pods.delete(name, &DeleteParams::default()).await.map(drop),
            Step::End => pods.delete(name, &DeleteParams::default().grace_period(0)).await.map(drop),
            Step::LetGo => pods.patch(name, &params, &merge(json!({"metadata": {"finalizers": null}}))).await.map(drop),
            Step::Finish(well) => {
                pods.patch_status(name, &params, &merge(json!({"status": {"phase": phase(well)}}))).await.map(drop)
            }
            Step::Create(_) | Step::Bind(_) | Step::Delete(_) | Step::Get | Step::Condition(..) => {
                unreachable!("an op")
            }
        };
        match answer {
            Ok(()) => Ok(200),
            Err(kube::Error::Api(status)) => Ok(status.code),
            Err(error) => Err(error).during(format!("{step:?}")),
        }
    }

    /// As the executor does it.
    async fn send(&self, op: &Op) -> Result<u16> {
        let step = format!("{:?}", op.rule());
        let request = wire::request(op).map(kube::client::Body::from);
        let (head, body) = self.client.send(request).await.during(&step)?.into_parts();
        let body = body.collect().await.during(&step)?.to_bytes();
        Ok(code(&wire::response(op, head.status.as_u16(), &head.headers, &body)))
    }

    async fn pod(&self) -> Result<Option<Pod>> {
        Objects::<Pod>::of(&self.client, &self.key.namespace).get(&self.key.name).await
    }
}

/// What is compared of a pod.
#[derive(Debug, PartialEq)]
struct View(Option<Value>);

impl View {
    fn of(pod: Option<&Pod>, life: u32) -> Self {
        Self(pod.map(|pod| {
            let (meta, spec, status) = (&pod.metadata, pod.spec.as_ref(), pod.status.as_ref());
            let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
            let scheduled =
                conditions.filter(|one| one.type_ == "PodScheduled").map(|one| json!([one.status, one.reason]));
            json!({
                "life": life,
                "node": spec.and_then(|spec| spec.node_name.as_ref()),
                "annotations": meta.annotations,
                "finalizers": meta.finalizers.as_ref().filter(|all| !all.is_empty()),
                "leaves": meta.deletion_timestamp.is_some(),
                "grace": meta.deletion_grace_period_seconds,
                "phase": status.and_then(|status| status.phase.as_ref()),
                "scheduled": scheduled.collect::<Vec<_>>(),
            })
        }))
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(pod) => write!(f, "{pod}"),
            None => f.write_str("no pod"),
        }
    }
}
