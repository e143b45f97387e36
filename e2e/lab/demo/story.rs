//! The story: `examples/`, one after the other, and what is to be seen of each.

use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};

use super::show::Show;
use crate::support::error::{During, Result};
use crate::support::manifests;

/// With this annotation the pretended nodes let a pod succeed after a while.
const RUN_FOR: &str = "gangline.dev/demo-run-for";

/// Where the examples are played: two of them name it.
const NAMESPACE: &str = "default";

/// How long Spark's driver takes to start its executors.
const DRIVER_START: Duration = Duration::from_millis(2_500);

/// Plays everything. With `keep` the last gang runs on.
pub(super) async fn play(client: &Client, show: &mut Show, keep: bool) -> Result<()> {
    spark(client, show).await?;
    mpi(client, show).await?;
    quota(client, show, keep).await?;
    never(client, show).await?;
    the_end(show).await
}

async fn spark(client: &Client, show: &mut Show) -> Result<()> {
    show.say("\n1. Spark (examples/spark.yaml): a driver, and four executors that it starts later.");
    let example = Example::read(include_str!("../../../examples/spark.yaml"), "7s")?;
    let (executors, rest): (Vec<_>, Vec<_>) = example.0.into_iter().partition(|object| object["kind"] == "Job");
    Example(rest).apply(client).await?;
    let seats_held = "the driver runs and its executors' seats are held";
    show.until(seats_held, |scene| scene.is_bound("spark-pi-driver") && scene.gang("spark-pi-executors").held == 4)
        .await?;
    show.say("   The driver runs: room for all four executors is held by placeholders.");
    show.pause(DRIVER_START).await?;
    Example(executors).apply(client).await?;
    show.until("the executors run", |scene| scene.gang("spark-pi-executors").bound() == 4).await?;
    show.say("   The executors came: each took the seat of a placeholder, which is gone.");
    Ok(())
}

async fn mpi(client: &Client, show: &mut Show) -> Result<()> {
    show.say("\n2. MPI (examples/mpi.yaml): a launcher and four workers, two task groups that start together.");
    Example::read(include_str!("../../../examples/mpi.yaml"), "6s")?.apply(client).await?;
    show.until("launcher and workers run", |scene| {
        scene.gang("pi-launcher").bound() == 1 && scene.gang("pi-workers").bound() == 4
    })
    .await?;
    show.say("   All five run.");
    Ok(())
}

async fn quota(client: &Client, show: &mut Show, keep: bool) -> Result<()> {
    show.say("\n3. Quota (examples/waits-for-quota.yaml): two gangs of 3 cpu in a queue of 4 cpu.");
    let mut example = Example::read(include_str!("../../../examples/waits-for-quota.yaml"), "6s")?;
    if keep {
        example.run_for("second", "24h");
    }
    example.apply(client).await?;
    let scene = show
        .until("one gang runs and the other one says what it waits for", |scene| {
            scene.gang("first").bound() == 3 && scene.gang("second").reason == "WaitingForQuota"
        })
        .await?;
    show.say(&format!("   first runs. second holds nothing meanwhile: {}", scene.gang("second").message));
    Ok(())
}

async fn never(client: &Client, show: &mut Show) -> Result<()> {
    show.say("\n4. Too big (examples/never-fits.yaml): a gang of 8 cpu in a queue of 4 cpu.");
    Example::read(include_str!("../../../examples/never-fits.yaml"), "1s")?.apply(client).await?;
    let scene =
        show.until("the gang that can never run is rejected", |scene| scene.gang("too-big").state == "Rejected");
    let message = scene.await?.gang("too-big").message;
    show.say(&format!("   Rejected at once, not left waiting: {message}"));
    Ok(())
}

async fn the_end(show: &mut Show) -> Result<()> {
    show.until("the second gang runs", |scene| scene.gang("second").bound() == 3).await?;
    show.say("\n   first is done and its quota free: second runs, all of it.");
    show.pause(Duration::from_secs(1)).await
}

/// The objects of an example.
struct Example(Vec<Value>);

impl Example {
    /// Reads it, and lets its pods succeed after a while.
    fn read(yaml: &str, run_for: &str) -> Result<Self> {
        let objects: Vec<Value> = serde_saphyr::from_multiple(yaml).during("reading an example")?;
        let mut example = Self(objects.into_iter().filter(|object| !object.is_null()).collect());
        let names: Vec<String> =
            example.0.iter().filter_map(|object| object["metadata"]["name"].as_str()).map(str::to_owned).collect();
        names.iter().for_each(|name| example.run_for(name, run_for));
        Ok(example)
    }

    /// Sets how long the pods of the Job or Pod of this name run.
    fn run_for(&mut self, name: &str, run_for: &str) {
        for object in self.0.iter_mut().filter(|object| object["metadata"]["name"] == name) {
            let pod = match object["kind"].as_str() {
                Some("Job") => &mut object["spec"]["template"],
                Some("Pod") => object,
                _ => continue,
            };
            pod["metadata"]["annotations"] = json!({RUN_FOR: run_for});
        }
    }

    async fn apply(self, client: &Client) -> Result<()> {
        manifests::apply_objects(client, self.0, NAMESPACE, &[]).await.map(drop)
    }
}
