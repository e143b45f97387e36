//! Tests on real nodes: containers that run, end and fail by themselves, and nothing that stays of all this.

mod away;
mod beside;
mod exclusive;
mod losses;
mod release;
mod swaps;
mod walk;

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use gangline::api::names;
use k8s_openapi::api::core::v1::{ContainerState, Pod};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::context::{node, phase};
use crate::harness::words::status;
use crate::harness::{Context, Needs, Test, bare, test};
use crate::support::components::Options;
use crate::support::control_plane::ControlPlane;
use crate::support::error::{During, Error, Result};
use crate::support::real::WORKER;
use crate::support::real::site::Site;
use crate::support::tools::user_cache;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("real nodes: gangs of containers run, succeed and fail", on_nodes(3), run_and_end).anywhere(),
        bare("real nodes: nothing is left behind", nothing_left).on_real_nodes(),
        bare("real nodes: nothing is left behind of an owner that was killed", nothing_left_of_the_killed)
            .on_real_nodes(),
        of_image("real nodes: installed by helm: docs/install.md as it is written", on_nodes(2), walk::install_page)
            .anywhere(),
        of_image(
            "real nodes: installed by helm: containers run, succeed, fail, eat, go",
            on_nodes(3),
            release::containers,
        )
        .anywhere(),
        of_image(
            "real nodes: installed by helm: replicas die and are replaced",
            on_nodes(3),
            release::replicas_come_and_go,
        )
        .anywhere(),
        of_image("real nodes: installed by helm: swaps on nodes that are exactly full", on_nodes(3), swaps::full_nodes)
            .anywhere(),
        of_image(
            "real nodes: installed by helm: others fill the nodes meanwhile",
            on_nodes(3),
            beside::filled_meanwhile,
        )
        .anywhere(),
        of_image(
            "real nodes: installed by helm: CPUs that members have to themselves",
            exclusive::needs(),
            exclusive::cpus,
        ),
        of_image("real nodes: installed by helm: kubelets die and nodes go", on_nodes(5), losses::nodes_go),
        of_image("real nodes: installed by helm: a kubelet is away and returns", away::needs(), away::kubelet_returns),
        of_image("real nodes: installed by helm: the leader's node is cut off", on_nodes(3), away::leader_is_cut_off),
    ]
}

/// So many nodes.
fn on_nodes(count: u8) -> Needs {
    Needs::RealNodes(Options::real(count))
}

/// On nodes with the image, with Gangline as the test installs it.
fn of_image<F>(name: &'static str, needs: Needs, body: F) -> Test
where
    F: AsyncFnOnce(&mut Context) -> Result<()> + Send + 'static,
{
    test(name, needs, body).without_gangline().of_image()
}

async fn run_and_end(t: &mut Context) -> Result<()> {
    gang(t, "stays", &["1h"]).await?;
    let running = t.wait_running("stays", 3).await?;
    for pod in &running {
        assert!(t.taken().iter().any(|taken| taken == node(pod)), "{:?}", node(pod));
        assert!(state(pod).is_some_and(|state| state.running.is_some()), "{:?}", state(pod));
        let address = pod.status.as_ref().and_then(|status| status.pod_ip.clone()).unwrap_or_default();
        assert!(address.parse::<IpAddr>().is_ok(), "{address:?}");
    }
    t.groups().wait("stays", "says that three run", |group| status(group).counts.running == 3).await?;

    gang(t, "succeeds", &["2s"]).await?;
    assert_eq!(codes(&ended(t, "succeeds", "Succeeded").await?), [0, 0, 0]);
    t.wait_reason("succeeds", "WaitingForCompletion").await?;

    gang(t, "fails", &["2s", "3"]).await?;
    assert_eq!(codes(&ended(t, "fails", "Failed").await?), [3, 3, 3]);
    t.groups().wait("fails", "says that three failed", |group| status(group).counts.failed == 3).await?;

    // The containers of a gang that runs are not touched by what happens to others.
    assert_eq!(uids(&t.wait_running("stays", 3).await?), uids(&running));
    t.delete_members("stays", 0..3).await?;
    for number in 0..3 {
        t.pods().wait_gone(&format!("stays-{number}")).await?;
    }
    Ok(())
}

/// A container with these arguments (`e2e/tools/pause`).
fn container(args: &[&str]) -> Value {
    json!({"name": "main", "image": WORKER, "args": args, "resources": {"requests": {"cpu": "10m"}}})
}

/// A gang of three with placeholders, of such containers.
async fn gang(t: &Context, name: &str, args: &[&str]) -> Result<()> {
    t.group(name, 3, "10m", json!({"placeholderFor": "all"})).await?;
    let container = container(args);
    for number in 0..3 {
        t.member(name, number, "10m", json!({"spec": {"restartPolicy": "Never", "containers": [container]}})).await?;
    }
    Ok(())
}

async fn ended(t: &Context, group: &str, wanted: &str) -> Result<Vec<Pod>> {
    let members = format!("!{},{}={group}", names::PLACEHOLDER, names::TASK_GROUP);
    let all = |pods: &[&Pod]| pods.len() == 3 && pods.iter().all(|pod| phase(pod) == wanted);
    t.pods().wait_all(&members, &format!("three members of {group} have {wanted}"), all).await
}

fn state(pod: &Pod) -> Option<&ContainerState> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()?.state.as_ref()
}

fn codes(pods: &[Pod]) -> Vec<i32> {
    pods.iter().filter_map(|pod| state(pod)?.terminated.as_ref().map(|ended| ended.exit_code)).collect()
}

fn uids(pods: &[Pod]) -> Vec<Option<String>> {
    pods.iter().map(|pod| pod.metadata.uid.clone()).collect()
}

async fn nothing_left() -> Result<()> {
    let plane = ControlPlane::start(Options::real(2)).await?;
    let number = plane.site().expect("it has real nodes");
    assert!(Site::claim(number)?.is_none(), "nobody else gets its number");
    drop(plane);
    none_left(number)
}

/// Processes go with their owner; the rest the next `down` removes, or whoever starts real nodes next.
async fn nothing_left_of_the_killed() -> Result<()> {
    let name = format!("e2e-{}", std::process::id());
    let place = user_cache()?.join("gangline/lab").join(&name);
    lab(&["up", "--name", &name, "--nodes", "real:1"])?;
    let (pid, site) = (number(&place, "pid")?, number(&place, "site")?);
    let owner = Pid::from_raw(pid).expect("a process");
    kill_process(owner, Signal::KILL).during("killing the owner")?;
    let bridge = format!("/sys/class/net/gangline{site}");
    assert!(Path::new(&bridge).exists(), "the owner was killed, who else removed {bridge}?");
    lab(&["down", "--name", &name])?;
    fs::remove_dir_all(&place).during("removing the instance")?;
    none_left(u8::try_from(site).during("reading the site")?)
}

fn none_left(number: u8) -> Result<()> {
    let site = Site::claim(number)?.ok_or_else(|| Error::new("its number is still in use"))?;
    assert_eq!(site.left(), Vec::<String>::new());
    Ok(())
}

/// The lab that was built with the suite.
fn lab(words: &[&str]) -> Result<()> {
    let step = format!("lab {}", words.join(" "));
    let this = std::env::current_exe().during(&step)?;
    let lab = this.ancestors().nth(2).map(|profile| profile.join("examples/lab")).unwrap_or_default();
    let output = Command::new(lab).args(words).output().during(&step)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(Error::new(step).with_tail("it said", &said)) }
}

fn number(place: &Path, file: &str) -> Result<i32> {
    let step = format!("reading {file}");
    fs::read_to_string(place.join(file)).during(&step)?.trim().parse().during(&step)
}
