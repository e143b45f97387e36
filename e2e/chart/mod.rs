//! Tests of the chart: it renders to the manifests, installs, upgrades, and its policies hold.

mod digests;
mod life;
mod objects;
mod people;
mod second;

use crate::harness::{Context, Needs, Test, test};
use crate::support::chart;
use crate::support::components::Options;
use crate::support::error::Result;
use crate::support::policies;
use crate::support::tools::Program;
use crate::support::values;

pub(crate) fn tests() -> Vec<Test> {
    let own = || Needs::OwnControlPlane(Options::default());
    let mut tests = vec![
        test("chart: helm finds nothing wrong", Needs::Shared, lint).without_gangline(),
        test("chart: the manifests are what it renders to", Needs::Shared, manifests).without_gangline(),
        test("chart: every value is honoured, and no other accepted", Needs::Shared, honoured).without_gangline(),
        test("chart: policies hold the scheduler to placeholders and others off them", Needs::Shared, attacked)
            .without_gangline(),
        test("chart: installs, upgrades, rolls back, and leaves the kinds behind", own(), release).without_gangline(),
    ];
    tests.extend(objects::tests());
    tests.extend(people::tests());
    tests.extend(life::tests());
    tests.extend(second::tests());
    tests.extend(digests::tests());
    tests
}

async fn lint(_: &mut Context) -> Result<()> {
    chart::lint(&Program::Helm.find()?)
}

async fn manifests(_: &mut Context) -> Result<()> {
    chart::manifests_are_current(&Program::Helm.find()?)
}

async fn honoured(_: &mut Context) -> Result<()> {
    values::are_honoured(&Program::Helm.find()?)
}

async fn attacked(t: &mut Context) -> Result<()> {
    t.cluster.install().await?;
    policies::hold(&t.cluster.kubeconfig).await
}

async fn release(t: &mut Context) -> Result<()> {
    let helm = Program::Helm.find()?;
    chart::install(&helm, &t.cluster.kubeconfig)?;
    policies::hold(&t.cluster.kubeconfig).await?;
    chart::upgrade(&helm, &t.cluster.kubeconfig)?;
    chart::other_policies(&helm, &t.cluster.kubeconfig)?;
    policies::injection_is_allowed_and_no_more(&t.cluster.kubeconfig).await?;
    policies::makers_are_let_in(&t.cluster.kubeconfig).await?;
    policies::bindings_are_judged(&t.cluster.kubeconfig).await?;
    chart::uninstall(&helm, &t.cluster.kubeconfig).await
}
