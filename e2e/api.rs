//! Tests of our kinds at a real API server: what it takes and refuses, and how they read.

use std::process::Command;
use std::time::Duration;

use gangline::api::task_group::TaskGroup;
use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};

use crate::harness::words::{condition, status};
use crate::harness::{Context, Needs, Test, test};
use crate::support::error::{During, Error, Result};
use crate::support::tools::Program;

const QUANTITIES: &str = include_str!("../tests/golden/quantities.txt");

/// How long the schema of a new kind may take to be published.
pub(crate) const PUBLISHED_WITHIN: Duration = Duration::from_secs(60);
/// How often somebody looks whether a definition is in effect: nothing tells.
pub(crate) const POLL: Duration = Duration::from_millis(300);

/// Containers of one pod that carries quantities to the server.
const BATCH: usize = 100;

pub(crate) fn tests() -> Vec<Test> {
    vec![
        test("api: the server reads quantities as we do", Needs::Shared, quantities).without_gangline(),
        test("api: kubectl explains and lists TaskGroups and Queues", Needs::Nodes(1), kubectl),
    ]
}

/// Code and message of a refusal.
pub(crate) type Answer = std::result::Result<Value, (u16, String)>;

pub(crate) async fn ask(client: &Client, method: Method, path: &str, body: &Value) -> Result<Answer> {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let step = format!("{method} {path}");
    let request = Request::builder().method(method).uri(path).header("Content-Type", kind);
    let request = request.body(body.to_string().into_bytes()).during(&step)?;
    match client.request::<Value>(request).await {
        Ok(object) => Ok(Ok(object)),
        Err(kube::Error::Api(status)) => Ok(Err((status.code, status.message))),
        Err(error) => Err(error).during(step),
    }
}

pub(crate) fn refused((code, message): (u16, String)) -> Error {
    Error::new(format!("{code}: {message}"))
}

/// The golden vectors of our own reader, given to the server in pods of many containers.
async fn quantities(t: &mut Context) -> Result<()> {
    let rows = QUANTITIES.lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<Vec<&str>> = rows.map(|line| line.split('\t').collect()).collect();
    // The server's decoder trims spaces, which our reader never sees.
    let (bad, good): (Vec<_>, Vec<_>) =
        rows.into_iter().filter(|row| row[0] == row[0].trim()).partition(|row| row[1].starts_with('!'));
    // Below zero is read, and refused by validation.
    let (negative, good): (Vec<_>, Vec<_>) = good.into_iter().partition(|row| row[4].starts_with('-'));
    assert!(
        good.len() > 500 && bad.len() > 40 && negative.len() > 50,
        "{} {} {}",
        good.len(),
        bad.len(),
        negative.len()
    );
    let mut wrong = Vec::new();
    for batch in good.chunks(BATCH) {
        let pod = carry(t, batch).await?.map_err(refused)?;
        for (index, row) in batch.iter().enumerate() {
            let read = &pod["spec"]["containers"][index]["resources"]["requests"]["memory"];
            if read != row[4] {
                wrong.push(format!("{row:?}: the server says {read}"));
            }
        }
    }
    for batch in negative.chunks(BATCH) {
        let Err((422, message)) = carry(t, batch).await? else {
            return Err(Error::new(format!("taken: {batch:?}")));
        };
        for (index, row) in batch.iter().enumerate() {
            let field = format!("spec.containers[{index}].resources.requests[memory]: Invalid value: \"{}\"", row[4]);
            if !message.contains(&field) {
                wrong.push(format!("{row:?}: not refused"));
            }
        }
    }
    for row in &bad {
        match carry(t, std::slice::from_ref(row)).await? {
            Err((400, message)) if message.contains("quantit") || message.contains("suffix") => {}
            other => wrong.push(format!("{row:?}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} vectors:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// Creates (dry run) a pod whose containers request these amounts of memory.
async fn carry(t: &Context, rows: &[Vec<&str>]) -> Result<Answer> {
    let container = |(index, row): (usize, &Vec<&str>)| json!({"name": format!("c{index}"), "image": "i", "resources": {"requests": {"memory": row[0]}}});
    let containers: Vec<Value> = rows.iter().enumerate().map(container).collect();
    let pod =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "carrier"}, "spec": {"containers": containers}});
    ask(&t.client, Method::POST, &format!("/api/v1/namespaces/{}/pods?dryRun=All", t.namespace), &pod).await
}

async fn kubectl(t: &mut Context) -> Result<()> {
    let said = explain(t, "tg.spec.minResource").await?;
    assert!(
        said.contains("GROUP:      gangline.dev") && said.contains("What one member requests, such as cpu: 500m"),
        "{said}"
    );
    let said = explain(t, "gq.spec").await?;
    assert!(said.contains("maxApplications") && said.contains("How many applications of the queue"), "{said}");

    let queue = t.queue(json!({"cpu": "4", "memory": "1Gi"})).await?;
    t.group("work", 2, "1", json!({"queue": queue, "reservation": "Direct"})).await?;
    t.members("work", 0..2, "1").await?;
    t.wait_running("work", 2).await?;
    t.groups().wait("work", "is placed", |group| condition(group, "Placed").0 == "True").await?;
    let table = run(t, &["get", "tg", "work"])?;
    assert_eq!(column_names(&table), ["NAME", "QUEUE", "MIN", "HELD", "RUNNING", "STATE", "REASON", "AGE"]);
    let row: Vec<&str> = table.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert_eq!(row[..7], ["work", &queue, "2", "0", "2", "Running", "Running"], "{table}");
    let table = run(t, &["get", "tg", "work", "-o", "wide"])?;
    let more = ["PENDING", "SCHEDULED", "PLACEHOLDERS", "REPLACED", "RESERVATION", "DEADLINE", "MESSAGE"];
    assert_eq!(column_names(&table)[8..], more);
    assert!(table.contains("Direct") && table.contains("2 of 2 members run"), "{table}");
    t.group("held", 1, "1", json!({"queue": queue, "placeholderFor": "all"})).await?;
    let counts_down = |group: &TaskGroup| status(group).next_deadline.is_some();
    t.groups().wait("held", "says what comes next", counts_down).await?;
    let table = run(t, &["get", "tg", "held", "-o", "wide"])?;
    assert!(table.contains("Z: Resuming") && table.contains("(placeholderTimeoutSeconds)"), "{table}");
    t.groups().delete("held").await?;
    let table = run(t, &["get", "gq", &queue])?;
    assert_eq!(
        column_names(&table),
        ["NAME", "PARENT", "RUNNING", "ACCEPTED", "CPU", "MAX", "CPU", "MEMORY", "MAX", "MEMORY", "ACTIVE", "AGE"]
    );
    let table = run(t, &["get", "gq", &queue, "-o", "wide"])?;
    let more = "MESSAGE GUARANTEED CPU GUARANTEED USED FIRST IN LINE HOLDS CPU LEFT MEMORY LEFT";
    assert_eq!(column_names(&table)[11..24].join(" "), more, "{table}");
    let both = run(t, &["get", "gangline"])?;
    assert!(
        both.contains("taskgroup.gangline.dev/work") && both.contains(&format!("queue.gangline.dev/{queue}")),
        "{both}"
    );
    // The scale subresource.
    let scale = run(
        t,
        &["get", "--raw", &format!("/apis/gangline.dev/v1alpha1/namespaces/{}/taskgroups/work/scale", t.namespace)],
    )?;
    let scale: Value = serde_json::from_str(&scale).during("reading a scale")?;
    assert_eq!((&scale["spec"]["replicas"], &scale["status"]["replicas"]), (&json!(2), &json!(2)));
    let selector = scale["status"]["selector"].as_str().unwrap_or_default();
    assert_eq!(t.pods().list(selector).await?.len(), 2, "{selector} selects the members");
    Ok(())
}

/// The server publishes the schema of a new kind a moment after it serves the kind.
async fn explain(t: &Context, field: &str) -> Result<String> {
    let give_up = tokio::time::Instant::now() + PUBLISHED_WITHIN;
    loop {
        match run(t, &["explain", field]) {
            Err(_) if tokio::time::Instant::now() < give_up => tokio::time::sleep(POLL).await,
            said => return said,
        }
    }
}

fn run(t: &Context, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(Program::Kubectl.find()?);
    command.arg("--kubeconfig").arg(&t.cluster.kubeconfig).args(["--namespace", &t.namespace]).args(arguments);
    let output = command.output().during("running kubectl")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(Error::new(format!("kubectl {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr))))
}

fn column_names(table: &str) -> Vec<&str> {
    table.lines().next().unwrap_or_default().split_whitespace().collect()
}
