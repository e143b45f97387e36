//! The names and addresses that one set of real nodes has on this machine, and that nothing of them is left in the end.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::error::{During, Error, Result};

/// Sites on a machine, and nodes of a site: what the addresses have room for.
const SITES: u8 = 16;
pub const NODES: u8 = 16;

/// How long killed processes may take to be gone, with the groups that they were in.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// How often it is looked.
const POLL: Duration = Duration::from_millis(50);

/// Where this machine's interfaces are listed.
const LINKS: &str = "/sys/class/net";

/// A number on this machine that nobody else has while this lives, and with it `ganglineNUMBER` as the name of a bridge and
/// of a control group. Dropping it removes both.
#[derive(Debug)]
pub struct Site {
    number: u8,
    ended: bool,
    // Gone with the process, however that ends, and it leaves no file.
    _claim: UnixListener,
}

impl Site {
    /// The first number that nobody has. What a killed owner left under it is removed.
    pub fn take() -> Result<Self> {
        for number in 0..SITES {
            if let Some(site) = Self::claim(number)? {
                let left = site.sweep();
                return if left.is_empty() { Ok(site) } else { Err(behind(&left)) };
            }
        }
        Err(Error::new(format!("{SITES} control planes with real nodes run already")))
    }

    /// Takes a number that somebody had, if nobody has it.
    pub fn claim(number: u8) -> Result<Option<Self>> {
        let step = format!("claiming {}", name(number));
        let address = SocketAddr::from_abstract_name(format!("{}.gangline.dev", name(number))).during(&step)?;
        match UnixListener::bind_addr(&address) {
            Ok(claim) => Ok(Some(Self { number, ended: false, _claim: claim })),
            Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error).during(&step),
        }
    }

    /// Its number.
    pub const fn number(&self) -> u8 {
        self.number
    }

    /// Its name, and that of its bridge.
    pub fn name(&self) -> String {
        name(self.number)
    }

    /// This machine's address on the bridge.
    pub const fn host(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 210, self.number, 1)
    }

    /// A node's address on the bridge.
    pub const fn address(&self, node: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 210, self.number, 10 + node)
    }

    /// The range of a node's pods.
    pub fn pods(&self, node: u8) -> String {
        format!("10.212.{}.0/24", self.number * NODES + node)
    }

    /// The control group of a node, as a kubelet names it.
    pub fn cgroup(&self, node: &str) -> String {
        format!("/{}/{node}", self.name())
    }

    /// The directory of a node's control group in the hierarchy of a controller.
    pub fn group_of(&self, controller: &str, node: &str) -> Result<PathBuf> {
        Ok(hierarchy_of(controller)?.join(self.name()).join(node))
    }

    /// What ties a node to the bridge.
    pub fn link(&self, node: u8) -> Link {
        Link(format!("{}n{node}", self.name()))
    }

    /// Makes the bridge.
    pub fn make_bridge(&self) -> Result<()> {
        let name = self.name();
        ip(&["link", "add", &name, "type", "bridge"])?;
        ip(&["address", "add", &format!("{}/24", self.host()), "dev", &name])?;
        ip(&["link", "set", &name, "up"])
    }

    /// Ties the network namespace of a process to the bridge, as its `eth0`.
    pub fn tie(&self, node: u8, pid: u32) -> Result<()> {
        let (bridge, Link(end)) = (self.name(), self.link(node));
        let peer = ["peer", "name", "eth0", "netns", &pid.to_string()];
        ip(&[&["link", "add", &end, "type", "veth"], &peer[..]].concat())?;
        ip(&["link", "set", &end, "master", &bridge, "up"])?;
        let (pods, address) = (self.pods(node), self.address(node).to_string());
        ip(&["route", "add", &pods, "via", &address, "dev", &bridge])
    }

    /// Makes the control groups of a node.
    pub fn make_cgroups(&self, node: &str) -> Result<()> {
        for hierarchy in hierarchies(&["cgroup"])? {
            let mut group = hierarchy.clone();
            for part in [&*self.name(), node] {
                let above = group.clone();
                group.push(part);
                let step = format!("making {}", group.display());
                fs::create_dir_all(&group).during(&step)?;
                // A new group has none of either, and takes no process.
                for given in ["cpuset.cpus", "cpuset.mems"].into_iter().filter(|file| group.join(file).exists()) {
                    fs::read(above.join(given)).and_then(|all| fs::write(group.join(given), all)).during(&step)?;
                }
            }
        }
        Ok(())
    }

    /// Removes everything of its name, and says what could not be removed.
    pub fn end(mut self) -> Vec<String> {
        self.ended = true;
        self.sweep()
    }

    fn sweep(&self) -> Vec<String> {
        let give_up = Instant::now() + GONE_WITHIN;
        while Instant::now() < give_up && !self.try_sweep() {
            thread::sleep(POLL);
        }
        self.left()
    }

    /// What there is of its name. Mounts are there if a node's did not stay its own. Namespaces have no names here, and are gone with
    /// the last process in them and the last mount of them.
    pub fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = self.processes().iter().map(|pid| format!("process {pid}")).collect();
        left.extend(self.links().into_iter().map(|link| format!("interface {link}")));
        left.extend(self.groups().into_iter().map(|group| format!("control group {}", group.display())));
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mounts = mounts.lines().filter(|line| line.split(' ').next() == Some(&self.name()));
        left.extend(mounts.map(|line| format!("mount {line}")));
        left
    }

    /// Whether nothing is left.
    fn try_sweep(&self) -> bool {
        for pid in self.processes() {
            // It may have ended meanwhile.
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
        }
        if !self.processes().is_empty() {
            return false;
        }
        for link in self.links() {
            // An end whose other end is gone goes by itself.
            let _ = ip(&["link", "delete", &link]);
        }
        self.groups().iter().for_each(|group| remove_group(group));
        self.links().is_empty() && self.groups().is_empty()
    }

    /// Processes of its nodes: their programs', and those in containers.
    fn processes(&self) -> Vec<i32> {
        let mut found = Vec::new();
        if let Ok(top) = hierarchy_of("pids") {
            processes_below(&top.join(self.name()), &mut found);
        }
        found
    }

    /// Its bridge, and the ends of links to its nodes.
    fn links(&self) -> Vec<String> {
        let (name, ends) = (self.name(), format!("{}n", self.name()));
        let links = fs::read_dir(LINKS).into_iter().flatten().flatten();
        let links = links.map(|link| link.file_name().to_string_lossy().into_owned());
        links.filter(|link| *link == name || link.starts_with(&ends)).collect()
    }

    /// Its control groups; where both kinds are mounted, containers leave some in the newer one too.
    fn groups(&self) -> Vec<PathBuf> {
        let all = hierarchies(&["cgroup", "cgroup2"]).unwrap_or_default();
        all.into_iter().map(|hierarchy| hierarchy.join(self.name())).filter(|group| group.exists()).collect()
    }
}

/// The end of a node's link that is on the bridge.
#[derive(Debug)]
pub struct Link(String);

impl Link {
    /// Lets pass what is sent, or nothing.
    pub fn set(&self, up: bool) -> Result<()> {
        ip(&["link", "set", &self.0, if up { "up" } else { "down" }])
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let left = self.sweep();
        if !left.is_empty() {
            eprintln!("{}", behind(&left));
        }
    }
}

/// The error that this much is left.
pub fn behind(left: &[String]) -> Error {
    Error::new(format!("real nodes left behind: {}", left.join(", ")))
}

fn name(number: u8) -> String {
    format!("gangline{number}")
}

/// Where the control groups of a controller are.
fn hierarchy_of(controller: &str) -> Result<PathBuf> {
    let found = hierarchies(&["cgroup"])?.into_iter().find(|hierarchy| is_of(hierarchy, controller));
    found.ok_or_else(|| Error::new(format!("no control groups of version 1 for {controller:?}")))
}

/// Hierarchies can be mounted together, as `cpu,cpuacct`.
pub fn is_of(hierarchy: &Path, controller: &str) -> bool {
    let name = hierarchy.file_name().unwrap_or_default().to_string_lossy();
    name.split(',').any(|part| part == controller)
}

/// Where control groups of these versions are mounted.
pub fn hierarchies(kinds: &[&str]) -> Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mounts").during("reading what is mounted")?;
    let of_kind = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (place, kind) = (words.next()?, words.next()?);
        kinds.contains(&kind).then(|| PathBuf::from(place))
    };
    Ok(mounts.lines().filter_map(of_kind).collect())
}

fn processes_below(group: &Path, found: &mut Vec<i32>) {
    let listed = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    found.extend(listed.lines().filter_map(|pid| pid.parse::<i32>().ok()));
    for below in directories(group) {
        processes_below(&below, found);
    }
}

/// Depth first; what is still busy stays.
fn remove_group(group: &Path) {
    for below in directories(group) {
        remove_group(&below);
    }
    let _ = fs::remove_dir(group);
}

fn directories(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

/// `ip` (iproute2).
fn ip(arguments: &[&str]) -> Result<()> {
    let step = format!("ip {}", arguments.join(" "));
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output().during(&step)?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(io::Error::other(said)).during(&step) }
}
