//! A control plane of our own: etcd, API server, controllers and pretended nodes, on loopback, gone with its owner.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::Client;
use serde_json::json;

use super::components::{self, Component, Options, Ports};
use super::error::{During, Error, Result};
use super::http_probe;
use super::kubeconfig;
use super::nodes::{self, NodeSet};
use super::objects::Objects;
use super::process::Process;
use super::real::site::Site;
use super::real::{self, RealNodes, Setting};
use super::state_dir::StateDir;

/// How long a component may take to be ready. Alone it is 3 s; a machine may be busy.
const READY_WITHIN: Duration = Duration::from_secs(90);

/// How often a component that is not up yet is asked.
const POLL: Duration = Duration::from_millis(50);

/// Who has all rights, by a token of its own.
const USERS: [&str; 8] = [
    "admin",
    "kube-controller-manager",
    "kwok",
    "kube-scheduler",
    "kuberay-operator",
    "spark-operator",
    "mpi-operator",
    "training-operator",
];

/// A running control plane. Dropping it ends its programs and removes its state.
pub struct ControlPlane {
    // The order matters when dropped: clients of the server first, the directory last.
    real_nodes: Option<RealNodes>,
    processes: BTreeMap<std::cmp::Reverse<Component>, Process>,
    client: Client,
    options: Options,
    ports: Ports,
    site: Option<Site>,
    dir: StateDir,
}

impl ControlPlane {
    /// Starts one and waits until it is ready.
    pub async fn start(options: Options) -> Result<Self> {
        Self::start_telling(options, |_| ()).await
    }

    /// Starts one, telling which step has been reached.
    pub async fn start_telling(options: Options, tell: impl Fn(&str)) -> Result<Self> {
        let (dir, site) = (StateDir::create()?, site(&options)?);
        let ports = Ports::take(site.as_ref().map_or(Ipv4Addr::LOCALHOST, Site::host))?;
        write_files(&dir, &ports, &options)?;
        let mut processes = BTreeMap::new();
        for component in [Component::Etcd, Component::ApiServer] {
            tell(&format!("starting {}", component.name()));
            let process = Process::start(&components::spec(component, &dir, &ports, &options)?)?;
            processes.insert(std::cmp::Reverse(component), process);
        }
        let client = connect(&dir, processes.values_mut()).await?;
        let mut plane = Self { real_nodes: None, processes, client, options, ports, site, dir };
        plane.ready(Component::ApiServer).await?;
        for component in plane.optional() {
            tell(&format!("starting {}", component.name()));
            plane.spawn(component)?;
        }
        for component in plane.optional() {
            plane.ready(component).await?;
        }
        plane.make_nodes().await?;
        plane.start_real_nodes(tell).await?;
        Ok(plane)
    }

    /// A client with all rights, under the name `admin` in the audit log.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A client of the store's own HTTP gateway.
    pub fn store(&self) -> Result<Client> {
        let address = self.ports.store().parse().during("the store's address")?;
        Client::try_from(kube::Config::new(address)).during("a client of the store")
    }

    /// The kubeconfig of that client.
    pub fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig_of("admin")
    }

    /// The kubeconfig of one more user with all rights: a component.
    pub fn kubeconfig_of(&self, user: &str) -> PathBuf {
        kubeconfig_path(&self.dir, user)
    }

    /// The directory with logs, data and kubeconfigs; it is gone when the control plane is.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The audit log, one JSON object a line.
    pub fn audit_log(&self) -> PathBuf {
        self.dir.path().join("audit.log")
    }

    /// The number by which what real nodes have on this machine is named.
    pub fn site(&self) -> Option<u8> {
        self.site.as_ref().map(Site::number)
    }

    /// The nodes that run containers.
    pub fn real_nodes(&self) -> Result<&RealNodes> {
        self.real_nodes.as_ref().ok_or_else(|| Error::new("this control plane has no real nodes"))
    }

    /// Ends such a node as a power cut would: its object stays, and nobody says any more what became of its pods.
    pub fn kill_node(&mut self, name: &str) -> Result<()> {
        let nodes = self.real_nodes.as_mut();
        nodes.ok_or_else(|| Error::new("this control plane has no real nodes"))?.kill(name)
    }

    /// Process ids of the components that run.
    pub fn pids(&self) -> BTreeMap<Component, u32> {
        self.processes.iter().map(|(component, process)| (component.0, process.pid())).collect()
    }

    /// Ends a component as a crash would.
    pub fn kill(&mut self, component: Component) -> Result<()> {
        self.process(component)?.kill()
    }

    /// Starts a killed component again, on its port and data, and waits until it is ready.
    pub async fn revive(&mut self, component: Component) -> Result<()> {
        self.spawn(component)?;
        self.ready(component).await
    }

    /// Kills a component and starts it again.
    pub async fn restart(&mut self, component: Component) -> Result<()> {
        self.kill(component)?;
        self.revive(component).await
    }

    /// Stops a component from running without ending it: requests to it hang.
    pub fn pause(&mut self, component: Component) -> Result<()> {
        self.process(component)?.pause()
    }

    /// Lets a paused component run on.
    pub fn resume(&mut self, component: Component) -> Result<()> {
        self.process(component)?.resume()
    }

    /// Makes nodes and waits until they are Ready (kwok makes them so; without kwok they are born so).
    pub async fn add_nodes(&self, nodes: &NodeSet) -> Result<()> {
        let nodes = NodeSet { ready: !self.options.kwok, ..nodes.clone() };
        nodes.create(&self.client).await?;
        nodes.wait_ready(&self.client).await
    }

    /// Whether every namespace gets a `default` ServiceAccount, without which pods would be refused.
    pub fn makes_accounts(&self) -> bool {
        self.options.controllers
    }

    /// Whether kwok plays the nodes.
    pub fn plays_nodes(&self) -> bool {
        self.options.kwok
    }

    async fn make_nodes(&self) -> Result<()> {
        if self.options.nodes == 0 {
            return Ok(());
        }
        self.add_nodes(&NodeSet::new("node", self.options.nodes)).await
    }

    async fn start_real_nodes(&mut self, tell: impl Fn(&str)) -> Result<()> {
        let Some(site) = &self.site else { return Ok(()) };
        let count = self.options.real_nodes;
        tell(&format!("starting {count} nodes"));
        let server = (self.ports.host, self.ports.api_server);
        let (images, kubelet) = (&self.options.images, &self.options.kubelet);
        let setting = Setting { dir: self.dir.path(), server, images, kubelet };
        self.real_nodes = Some(RealNodes::start(site, count, &setting)?);
        self.real_nodes_ready(&real::names(count)).await
    }

    /// They are when pods that tolerate nothing can go there.
    async fn real_nodes_ready(&mut self, names: &[String]) -> Result<()> {
        let Some(real) = &mut self.real_nodes else { return Ok(()) };
        let (all, give_up) = (Objects::<Node>::all(&self.client), Instant::now() + READY_WITHIN);
        loop {
            real.check_running()?;
            let seen = all.list("").await?;
            let ready = seen.iter().filter(|node| nodes::is_ready(node) && !nodes::is_tainted(node)).count();
            if ready == names.len() {
                return Ok(());
            }
            if Instant::now() > give_up {
                return Err(real.last_words(&format!("{ready} of {} nodes are Ready", names.len())));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The components besides store and server that were asked for.
    fn optional(&self) -> Vec<Component> {
        let wanted = [
            (Component::ControllerManager, self.options.controllers),
            (Component::Kwok, self.options.kwok),
            (Component::KubeScheduler, self.options.real_nodes > 0),
        ];
        wanted.into_iter().filter_map(|(component, wanted)| wanted.then_some(component)).collect()
    }

    fn spawn(&mut self, component: Component) -> Result<()> {
        let process = Process::start(&components::spec(component, &self.dir, &self.ports, &self.options)?)?;
        self.processes.insert(std::cmp::Reverse(component), process);
        Ok(())
    }

    fn process(&mut self, component: Component) -> Result<&mut Process> {
        let process = self.processes.get_mut(&std::cmp::Reverse(component));
        process.ok_or_else(|| Error::new(format!("this control plane runs no {}", component.name())))
    }

    /// Waits until a component does its work.
    async fn ready(&mut self, component: Component) -> Result<()> {
        match component {
            // The server is ready only if the store is.
            Component::Etcd | Component::ApiServer => self.api_server_ready().await,
            Component::ControllerManager => self.controllers_ready().await,
            Component::Kwok => self.kwok_ready().await,
            // Nobody has to wait for it: pods do.
            Component::KubeScheduler => self.process(component)?.check_running(),
        }
    }

    async fn api_server_ready(&mut self) -> Result<()> {
        let give_up = Instant::now() + READY_WITHIN;
        loop {
            self.processes.values_mut().try_for_each(Process::check_running)?;
            match readyz(&self.client).await {
                Ok(()) => return Ok(()),
                Err(_) if Instant::now() < give_up => tokio::time::sleep(POLL).await,
                Err(error) => {
                    let text = format!("kube-apiserver is not ready: {error}");
                    return Err(self.process(Component::ApiServer)?.last_words(&text));
                }
            }
        }
    }

    /// They are at work when they have made the account that every namespace gets.
    async fn controllers_ready(&mut self) -> Result<()> {
        let accounts = Objects::<ServiceAccount>::of(&self.client, "default").within(READY_WITHIN);
        let made = accounts.wait("default", "is made by the controllers", |_| true).await;
        let process = self.process(Component::ControllerManager)?;
        made.map_err(|error| process.last_words(&format!("kube-controller-manager is not ready: {error}")))?;
        process.check_running()
    }

    async fn kwok_ready(&mut self) -> Result<()> {
        let port = self.ports.kwok;
        let process = self.process(Component::Kwok)?;
        let give_up = Instant::now() + READY_WITHIN;
        while !matches!(http_probe::get(port, "/healthz"), Some((200, _))) {
            process.check_running()?;
            if Instant::now() > give_up {
                return Err(process.last_words("kwok is not ready"));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }
}

/// Where real nodes are, and the bridge on which the API server will listen.
fn site(options: &Options) -> Result<Option<Site>> {
    if options.real_nodes == 0 {
        return Ok(None);
    }
    if let Some(why) = real::missing() {
        return Err(Error::new(why));
    }
    let site = Site::take()?;
    site.make_bridge()?;
    Ok(Some(site))
}

/// Writes what the programs read: users, kubeconfigs, the audit policy and kwok's stages.
fn write_files(dir: &StateDir, ports: &Ports, options: &Options) -> Result<()> {
    let ca = dir.join("pki/apiserver.crt");
    let server = json!({"server": format!("https://{}:{}", ports.host, ports.api_server), "certificate-authority": ca});
    let mut tokens = String::new();
    // A user each, so that the audit log says who asked.
    let components = USERS.into_iter().map(|user| (user.to_owned(), "system:masters"));
    let nodes = real::names(options.real_nodes).into_iter().map(|node| (real::user(&node), "system:nodes"));
    for (user, group) in components.chain(nodes) {
        let token = random_token()?;
        tokens.push_str(&format!("{token},{user},{user},\"{group}\"\n"));
        kubeconfig::write(&kubeconfig_path(dir, &user), &server, &user, &token, "default")?;
    }
    let files = [
        ("tokens.csv", tokens.as_str()),
        ("audit-policy.yaml", include_str!("audit-policy.yaml")),
        ("stages.yaml", include_str!("stages.yaml")),
    ];
    for (name, text) in files {
        fs::write(dir.path().join(name), text).during(format!("writing {name}"))?;
    }
    Ok(())
}

fn kubeconfig_path(dir: &StateDir, user: &str) -> PathBuf {
    dir.path().join(format!("{user}.kubeconfig"))
}

/// Loopback is open to every user of the machine, so the tokens must not be guessable.
fn random_token() -> Result<String> {
    let mut bytes = [0_u8; 16];
    let step = "reading random bytes";
    File::open("/dev/urandom").during(step)?.read_exact(&mut bytes).during(step)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A client as soon as the server has made its certificate, which is the client's authority.
async fn connect<'a>(dir: &StateDir, processes: impl Iterator<Item = &'a mut Process>) -> Result<Client> {
    let mut processes: Vec<&mut Process> = processes.collect();
    let give_up = Instant::now() + READY_WITHIN;
    let written = |name: &str| fs::metadata(dir.path().join(name)).is_ok_and(|file| file.len() > 0);
    // The key is written last.
    while !(written("pki/apiserver.crt") && written("pki/apiserver.key")) {
        processes.iter_mut().try_for_each(|process| process.check_running())?;
        if Instant::now() > give_up {
            return Err(Error::new("kube-apiserver made no certificate"));
        }
        tokio::time::sleep(POLL).await;
    }
    kubeconfig::client(&kubeconfig_path(dir, "admin")).await
}

/// Asks the server whether it is ready.
async fn readyz(client: &Client) -> Result<()> {
    let request = http::Request::get("/readyz").body(Vec::new()).during("asking /readyz")?;
    let answer = tokio::time::timeout(Duration::from_secs(5), client.request_text(request)).await;
    answer.during("asking /readyz")?.during("asking /readyz").map(drop)
}
