//! The end-to-end harness: what a test asks for, gets, and leaves behind.

pub(crate) mod cluster;
pub(crate) mod context;
pub(crate) mod operators;
pub(crate) mod report;
pub(crate) mod runner;
pub(crate) mod words;

use std::path::PathBuf;
use std::pin::Pin;

use tokio::runtime::Runtime;

pub(crate) use context::Context;

use crate::support::components::Options;
use crate::support::error::Result;

/// Names the file of the image to install, as `make image` packs it.
pub(crate) const IMAGE: &str = "E2E_IMAGE";

/// The image to install.
pub(crate) fn image() -> Option<PathBuf> {
    std::env::var_os(IMAGE).map(PathBuf::from)
}

/// What nodes have that run containers: this image, and that of placeholders, which is packed beside it.
fn images() -> Vec<PathBuf> {
    let of_both = |image: PathBuf| {
        let name = image.file_name().map(|name| name.to_string_lossy().replacen("gangline-", "gangline-pause-", 1));
        let pause = image.with_file_name(name.unwrap_or_default());
        [image, pause]
    };
    image().into_iter().flat_map(of_both).collect()
}

/// What a test runs on.
#[derive(Clone, Debug)]
pub(crate) enum Needs {
    /// A cluster that others use at the same time. Runs on any cluster.
    Shared,
    /// That, and this many nodes of its own, which pretend to run its pods (16 CPUs, 64 GiB, 110 pods each).
    Nodes(u32),
    /// A control plane of its own with nodes that run containers, and no other test meanwhile.
    RealNodes(Options),
    /// A control plane of its own, and no other test meanwhile: for tests that break things.
    OwnControlPlane(Options),
}

/// A test: name, and what it does on what.
pub(crate) struct Test {
    name: &'static str,
    body: Body,
    last: bool,
    audited: bool,
    real: bool,
    packed: bool,
    anywhere: bool,
    operated: bool,
}

type OnCluster = Box<dyn FnOnce(&Runtime, &mut Context) -> Result<()> + Send>;
type OnNothing = Box<dyn FnOnce(&Runtime) -> Result<()> + Send>;

enum Body {
    /// On a cluster, with Gangline or without.
    On { needs: Needs, gangline: bool, run: OnCluster },
    /// Alone, starting what it needs itself.
    Bare(OnNothing),
}

/// A test. Gangline runs on its cluster unless [`Test::without_gangline`] says otherwise.
pub(crate) fn test<F>(name: &'static str, needs: Needs, body: F) -> Test
where
    F: AsyncFnOnce(&mut Context) -> Result<()> + Send + 'static,
{
    let run = Box::new(move |runtime: &Runtime, context: &mut Context| {
        let body: Pin<Box<dyn Future<Output = Result<()>> + '_>> = Box::pin(body(context));
        runtime.block_on(body)
    });
    let real = matches!(needs, Needs::RealNodes(_));
    Test { real, ..Test::new(name, Body::On { needs, gangline: true, run }) }
}

/// A test that gets nothing but to be alone: it starts what it needs itself.
pub(crate) fn bare<F>(name: &'static str, body: F) -> Test
where
    F: AsyncFnOnce() -> Result<()> + Send + 'static,
{
    let run = Box::new(move |runtime: &Runtime| {
        let body: Pin<Box<dyn Future<Output = Result<()>>>> = Box::pin(body());
        runtime.block_on(body)
    });
    Test::new(name, Body::Bare(run))
}

impl Test {
    fn new(name: &'static str, body: Body) -> Self {
        Self { name, body, last: false, audited: false, real: false, packed: false, anywhere: false, operated: false }
    }

    /// What it is called.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// The test needs no scheduler, or starts it itself.
    pub(crate) fn without_gangline(mut self) -> Self {
        if let Body::On { gangline, .. } = &mut self.body {
            *gangline = false;
        }
        self
    }

    /// The test runs after all others that share its cluster, which it looks back on.
    pub(crate) fn last(mut self) -> Self {
        self.last = true;
        self
    }

    /// The test reads the audit log, which only a control plane of ours keeps for it.
    pub(crate) fn audited(mut self) -> Self {
        self.audited = true;
        self
    }

    /// The test starts real nodes itself.
    pub(crate) fn on_real_nodes(mut self) -> Self {
        self.real = true;
        self
    }

    /// The test installs the packed image ([`image`]).
    pub(crate) fn of_image(mut self) -> Self {
        self.packed = true;
        self
    }

    /// Of the nodes the test needs no more than that they run containers: a cluster that is there has such, too.
    pub(crate) fn anywhere(mut self) -> Self {
        self.anywhere = true;
        self
    }

    /// The test defines kinds of others, or runs an operator of theirs, beside a control plane of ours.
    pub(crate) fn operated(mut self) -> Self {
        self.operated = true;
        self
    }

    /// Whether no other test may run at the same time.
    fn alone(&self) -> bool {
        match &self.body {
            Body::On { needs: Needs::Shared | Needs::Nodes(_), .. } => false,
            Body::On { needs: Needs::RealNodes(_) | Needs::OwnControlPlane(_), .. } | Body::Bare(_) => true,
        }
    }
}
