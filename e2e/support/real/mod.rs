//! Real nodes: kubelets and containerd in namespaces of their own, on a bridge that also the API server listens on.
//!
//! A node is one process tree (`node.sh`). It ends with its owner, and what it has ends with it, but for what a `Site`
//! removes. Verified with containerd 1.6 and control groups of version 1.

mod config;
mod image;
pub mod site;

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use site::{Link, Site};

use super::error::{During, Error, Result};
use super::nodes::TOPOLOGY;
use super::process::{Process, Spec, tail};
use super::tools::Program;

/// The first process of a node.
const SCRIPT: &str = include_str!("node.sh");

/// The image that pods and placeholders of the tests name; there is no registry, so that every node has it from the start.
/// Without arguments it waits; with a duration and an exit code it ends.
pub const PAUSE: &str = "registry.k8s.io/pause:3.10";
/// How a node looks for the image of placeholders, which is named by digest. The node takes our own for it: nothing compares
/// what a node holds with the name under which it was put there.
const PAUSE_BY_DIGEST: &str =
    "registry.k8s.io/pause@sha256:ee6521f290b2168b6e0935a181d4cff9be1ac3f505666ef0e3c98fae8199917a";
/// The same image under a name that no registry has: what containers of the tests run on whatever cluster.
pub const WORKER: &str = "e2e.gangline.dev/worker:1";

/// The service by which pods reach the API server: the first address of the range (`components.rs`).
const SERVICE: &str = "10.0.0.1";

/// Where programs are looked for besides PATH, as `node.sh` does.
const PLACES: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// What has to be there, and the Debian package that brings it.
const PROGRAMS: [(&str, &str); 9] = [
    ("containerd", "containerd"),
    ("containerd-shim-runc-v2", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("iptables", "iptables"),
    ("ip", "iproute2"),
    ("setpriv", "util-linux"),
    ("unshare", "util-linux"),
    ("mount", "mount"),
];

/// The Debian packages that bring what real nodes need and this machine has not.
pub fn packages() -> Vec<&'static str> {
    let is_there = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).chain(PLACES.map(PathBuf::from)).any(|dir| dir.join(program).is_file())
    };
    let mut packages: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| !is_there(program)).map(|(_, package)| *package).collect();
    if !Path::new(config::PLUGINS).join("bridge").is_file() {
        packages.push("containernetworking-plugins");
    }
    packages.dedup();
    packages
}

/// Why there can be no real nodes on this machine, and what to do about it.
pub fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("real nodes need root: run this as root".to_owned());
    }
    let packages = packages();
    if !packages.is_empty() {
        let packages = packages.join(" ");
        return Some(format!(
            "real nodes need programs that are not there: apt-get install --no-install-recommends {packages}"
        ));
    }
    let groups = site::hierarchies(&["cgroup"]).unwrap_or_default();
    let lacks =
        ["cpu", "cpuset", "memory", "pids"].into_iter().find(|name| !groups.iter().any(|dir| site::is_of(dir, name)));
    lacks.map(|name| format!("real nodes need control groups of version 1, and that of {name:?} is not mounted"))
}

/// How nodes reach the API server, and what they hold from the start.
pub struct Setting<'a> {
    /// Where this control plane's files are.
    pub dir: &'a Path,
    /// Where the API server listens.
    pub server: (Ipv4Addr, u16),
    /// Images as tar files (OCI image layout, or what `docker save` writes), besides the one that waits.
    pub images: &'a [PathBuf],
    /// Further settings of the kubelets.
    pub kubelet: &'a Value,
}

/// Names of so many nodes.
pub fn names(count: u8) -> Vec<String> {
    (0..count).map(|number| format!("node-{number}")).collect()
}

/// A node's user.
pub fn user(node: &str) -> String {
    format!("system:node:{node}")
}

/// Nodes that run. Dropping them kills everything that runs on them.
#[derive(Debug)]
pub struct RealNodes {
    nodes: Vec<(String, Process)>,
    /// Of those that are killed, too.
    places: Vec<Place>,
    dir: PathBuf,
}

/// What a node has on this machine.
#[derive(Debug)]
struct Place {
    node: String,
    /// Where its processes are listed.
    processes: PathBuf,
    /// Where it is said which CPUs its containers may use.
    cpus: PathBuf,
    /// What ties it to the others.
    link: Link,
}

impl RealNodes {
    /// Starts them; does not wait until they are Ready.
    pub fn start(site: &Site, count: u8, setting: &Setting<'_>) -> Result<Self> {
        put_images(setting)?;
        let mut started = Self { nodes: Vec::new(), places: Vec::new(), dir: setting.dir.to_path_buf() };
        for (number, name) in (0..count).zip(names(count)) {
            site.make_cgroups(&name)?;
            let (processes, cpus) = (site.group_of("pids", &name)?, site.group_of("cpuset", &name)?);
            started.places.push(Place { node: name.clone(), processes, cpus, link: site.link(number) });
            write_files(site, number, &name, setting)?;
            started.nodes.push((name.clone(), Process::start(&spec(site, count, number, &name, setting)?)?));
        }
        for (number, name) in (0..count).zip(names(count)) {
            started.wait_born(&name)?;
            site.tie(number, started.nodes[usize::from(number)].1.pid())?;
        }
        Ok(started)
    }

    /// An error with the last words of a node that has ended.
    pub fn check_running(&mut self) -> Result<()> {
        self.nodes.iter_mut().try_for_each(|(_, node)| node.check_running())
    }

    /// Ends a node as a power cut would: its object stays, and nobody says any more what became of its pods.
    pub fn kill(&mut self, name: &str) -> Result<()> {
        let number = self.nodes.iter().position(|(node, _)| node == name);
        let number = number.ok_or_else(|| Error::new(format!("there is no node {name} any more")))?;
        self.nodes.remove(number).1.kill()
    }

    fn place(&self, name: &str) -> Result<&Place> {
        let place = self.places.iter().find(|place| place.node == name);
        place.ok_or_else(|| Error::new(format!("there is no node {name}")))
    }

    /// Takes a node off the network, or ties it to the others again; all that runs there runs on.
    pub fn cut_off(&self, name: &str, cut: bool) -> Result<()> {
        self.place(name)?.link.set(!cut)
    }

    /// Ends the kubelet of a node; containers run on, and there is none until [`Self::let_kubelet_return`].
    pub fn take_kubelet_away(&self, name: &str) -> Result<()> {
        fs::write(self.away(name), "").during(format!("taking the kubelet of {name} away"))?;
        self.kill_kubelet(name)
    }

    /// Lets a kubelet start that was taken away.
    pub fn let_kubelet_return(&self, name: &str) -> Result<()> {
        fs::remove_file(self.away(name)).during(format!("letting the kubelet of {name} return"))
    }

    /// While this file is there no kubelet starts (`node.sh`).
    fn away(&self, name: &str) -> PathBuf {
        dir_of(&self.dir, name).join("away")
    }

    /// The CPUs that the kernel lets a container of a Guaranteed pod use, such as `1` or `0-3`.
    pub fn cpus_of(&self, node: &str, pod: &str, container: &str) -> Result<String> {
        let group = self.place(node)?.cpus.join(format!("kubepods/pod{pod}")).join(container);
        let cpus = fs::read_to_string(group.join("cpuset.cpus")).during(format!("reading the CPUs of {container}"))?;
        Ok(cpus.trim().to_owned())
    }

    /// Kills the kubelet of a node; containers run on, and another kubelet starts at once.
    pub fn kill_kubelet(&self, name: &str) -> Result<()> {
        let step = format!("killing the kubelet of {name}");
        let processes = fs::read_to_string(self.place(name)?.processes.join("cgroup.procs")).during(&step)?;
        let mut processes = processes.lines().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
        let kubelet = processes.find(|pid| is_kubelet(*pid)).ok_or_else(|| Error::new(format!("{step}: none runs")))?;
        fs::write(dir_of(&self.dir, name).join("killed"), "").during(&step)?;
        kill_process(kubelet, Signal::KILL).during(&step)
    }

    /// An error about all nodes, with what the first kubelet said.
    pub fn last_words(&self, what: &str) -> Error {
        let log = self.dir.join(format!("{}-kubelet.log", names(1)[0]));
        Error::new(what).with_tail(&format!("last lines of {}", log.display()), &tail(&log))
    }

    /// The namespaces of a process are there a moment after it.
    fn wait_born(&mut self, name: &str) -> Result<()> {
        let born = dir_of(&self.dir, name).join("born");
        while !born.exists() {
            self.check_running()?;
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Ok(())
    }
}

fn is_kubelet(pid: Pid) -> bool {
    let words = fs::read_to_string(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    words.split('\0').next().is_some_and(|program| program.ends_with("/kubelet"))
}

fn dir_of(dir: &Path, node: &str) -> PathBuf {
    dir.join("nodes").join(node)
}

fn images_of(dir: &Path) -> PathBuf {
    dir.join("nodes/images")
}

/// The image of what waits, under these names, as a tar file.
pub fn image_as(names: &[&str]) -> Result<Vec<u8>> {
    let program = fs::read(Program::Pause.find()?).during("reading the program of the image")?;
    Ok(image::of_program(names, "pause", &program))
}

/// Copies the images to where every node sees them, whatever it hides.
fn put_images(setting: &Setting<'_>) -> Result<()> {
    let (dir, step) = (images_of(setting.dir), "putting images where nodes find them");
    fs::create_dir_all(&dir).during(step)?;
    fs::write(dir.join("pause.tar"), image_as(&[PAUSE, PAUSE_BY_DIGEST, WORKER])?).during(step)?;
    for (number, image) in setting.images.iter().enumerate() {
        let name = image.file_name().unwrap_or_default().display();
        fs::copy(image, dir.join(format!("{number}-{name}"))).during(format!("copying {}", image.display()))?;
    }
    Ok(())
}

fn write_files(site: &Site, number: u8, name: &str, setting: &Setting<'_>) -> Result<()> {
    let (dir, step) = (dir_of(setting.dir, name), format!("writing the files of {name}"));
    fs::create_dir_all(dir.join("networks")).during(&step)?;
    for (file, text) in [
        ("node.sh", SCRIPT.to_owned()),
        ("containerd.toml", config::containerd(&dir, PAUSE)),
        ("networks/pods.conflist", config::network(&site.pods(number)).to_string()),
        ("kubelet.json", config::kubelet(site.address(number), &site.cgroup(name), setting.kubelet).to_string()),
    ] {
        fs::write(dir.join(file), text).during(&step)?;
    }
    Ok(())
}

fn spec(site: &Site, count: u8, number: u8, name: &str, setting: &Setting<'_>) -> Result<Spec> {
    let dir = dir_of(setting.dir, name);
    let text = |path: PathBuf| path.display().to_string();
    let others = (0..count).filter(|other| *other != number);
    let routes: Vec<String> = others.map(|other| format!("{}@{}", site.pods(other), site.address(other))).collect();
    let labels: Vec<String> = TOPOLOGY.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let env = [
        ("SITE", site.name()),
        ("NODE", name.to_owned()),
        ("ADDRESS", site.address(number).to_string()),
        ("GATEWAY", site.host().to_string()),
        ("ROUTES", routes.join(" ")),
        ("SERVICE", SERVICE.to_owned()),
        ("SERVER", format!("{}:{}", setting.server.0, setting.server.1)),
        ("LABELS", labels.join(",")),
        ("CGROUP", text(site.group_of("pids", name)?)),
        ("IMAGES", text(images_of(setting.dir))),
        ("KUBELET", text(Program::Kubelet.find()?)),
        ("KUBECONFIG", text(setting.dir.join(format!("{}.kubeconfig", user(name))))),
        ("LOG", text(setting.dir.join(name))),
        ("HOME", "/run".to_owned()),
        ("DIR", text(dir.clone())),
    ];
    // Its owner's end kills `unshare`, and that the first process of the node.
    let namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"];
    let args = namespaces.map(str::to_owned).into_iter().chain(["sh".to_owned(), text(dir.join("node.sh"))]);
    Ok(Spec {
        name: name.to_owned(),
        program: "unshare".into(),
        args: args.collect(),
        env: env.map(|(key, value)| (key.to_owned(), value)).to_vec(),
        log: setting.dir.join(format!("{name}.log")),
    })
}
