//! docs/install.md, as it is written: every command that it marks as one is run by a shell, in its order.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::harness::Context;
use crate::harness::cluster::binary;
use crate::support::error::{During, Error, Result};
use crate::support::tools::Program;

/// From a cluster to a first gang: so many commands, in this time.
const FIRST: (usize, Duration) = (3, Duration::from_secs(120));

pub(super) async fn install_page(t: &mut Context) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/install.md")).during("reading docs/install.md")?;
    let path = programs(t)?;
    let begin = Instant::now();
    let commands = commands_of(&page);
    assert!(commands.len() > FIRST.0, "{commands:#?}");
    for (number, command) in commands.iter().enumerate() {
        run(t, root, &path, command)?;
        if number + 1 == FIRST.0 {
            let took = begin.elapsed();
            println!("docs/install.md: a first gang {:.1} s after the first command", took.as_secs_f64());
            assert!(took < FIRST.1, "{took:?}");
            t.everywhere::<k8s_openapi::api::core::v1::Pod>()
                .wait_all("gangline.dev/task-group=hello", "three run", |pods| {
                    pods.iter().filter(|pod| crate::harness::context::phase(pod) == "Running").count() == 3
                })
                .await?;
        }
    }
    run(t, root, &path, "kubectl delete -f examples/first-gang.yaml")
}

/// The blocks of a page that are to be run.
fn commands_of(page: &str) -> Vec<String> {
    page.split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("\n```").map(|(block, _)| block.to_owned()))
        .collect()
}

/// A directory with what the page takes to be on the PATH.
fn programs(t: &Context) -> Result<PathBuf> {
    let (dir, step) = (t.cluster.work().join("bin"), "gathering the programs of the page");
    fs::create_dir_all(&dir).during(step)?;
    for (name, program) in
        [("kubectl", Program::Kubectl.find()?), ("helm", Program::Helm.find()?), ("kubectl-gangline", binary())]
    {
        symlink(program, dir.join(name)).during(step)?;
    }
    Ok(dir)
}

fn run(t: &Context, root: &Path, programs: &Path, command: &str) -> Result<()> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("bash");
    shell.args(["-euc", command]).current_dir(root).env("PATH", format!("{}:{path}", programs.display()));
    shell.env("KUBECONFIG", &t.cluster.kubeconfig).env("HOME", t.cluster.work());
    let output = shell.output().during(command)?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(()) } else { Err(Error::new(command).with_tail("it said", &said)) }
}
