//! What a failed test leaves for its reader: objects, events and the scheduler's words about its namespaces.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::discovery::{self, Scope};
use kube::{Api, Client, ResourceExt};

use super::context::{Context, TEST, node, phase};
use crate::support::objects::Objects;
use crate::support::scheduler::log_about;

/// Limits of the report, so that it stays readable.
const MAX_PODS: usize = 60;
const MAX_EVENTS: usize = 40;
const LOG_LINES: usize = 60;

/// Our kinds that the cluster serves: the namespaced ones or the others.
pub(crate) async fn our_kinds(client: &Client, namespaced: bool) -> Vec<ApiResource> {
    let Ok(group) = discovery::group(client, "gangline.dev").await else {
        return Vec::new();
    };
    let all = group.recommended_resources().into_iter();
    all.filter(|(_, can)| (can.scope == Scope::Namespaced) == namespaced).map(|(kind, _)| kind).collect()
}

/// Everything worth knowing about the test's objects, as text.
pub(crate) async fn report(context: &Context) -> String {
    let mut text = String::new();
    for namespace in context.namespaces() {
        let _ = writeln!(text, "--- namespace {namespace}");
        pods(&mut text, context, namespace).await;
        for kind in our_kinds(&context.client, true).await {
            let api = Api::namespaced_with(context.client.clone(), namespace, &kind);
            objects(&mut text, &api, &ListParams::default(), &kind.kind).await;
        }
        events(&mut text, context, namespace).await;
    }
    let ours = ListParams::default().labels(&format!("{TEST}={}", context.id));
    for kind in our_kinds(&context.client, false).await {
        objects(&mut text, &Api::all_with(context.client.clone(), &kind), &ours, &kind.kind).await;
    }
    scheduler_logs(&mut text, context);
    text
}

async fn pods(text: &mut String, context: &Context, namespace: &str) {
    let Ok(pods) = Objects::<Pod>::of(&context.client, namespace).list("").await else {
        let _ = writeln!(text, "(pods cannot be listed)");
        return;
    };
    for pod in pods.iter().take(MAX_PODS) {
        let deleted = if pod.metadata.deletion_timestamp.is_some() { " deleted" } else { "" };
        let _ = write!(text, "pod {} {}{deleted} node={:?}", pod.name_any(), phase(pod), node(pod));
        let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        for condition in conditions.filter(|condition| condition.status != "True") {
            let (reason, message) = (condition.reason.as_deref(), condition.message.as_deref());
            let (reason, message) = (reason.unwrap_or_default(), message.unwrap_or_default());
            let _ = write!(text, " {}={} {reason}: {message}", condition.type_, condition.status);
        }
        text.push('\n');
    }
    if pods.len() > MAX_PODS {
        let _ = writeln!(text, "… and {} more pods", pods.len() - MAX_PODS);
    }
}

async fn objects(text: &mut String, api: &Api<DynamicObject>, which: &ListParams, kind: &str) {
    let found = match api.list(which).await {
        Ok(found) => found.items,
        Err(error) => {
            let _ = writeln!(text, "({kind} cannot be listed: {error})");
            return;
        }
    };
    for mut object in found {
        object.metadata.managed_fields = None;
        let yaml = serde_saphyr::to_string(&object).unwrap_or_else(|error| error.to_string());
        let _ = writeln!(text, "{kind} {}:\n{yaml}", object.name_any());
    }
}

async fn events(text: &mut String, context: &Context, namespace: &str) {
    let events = Objects::<Event>::of(&context.client, namespace).list("").await.unwrap_or_default();
    for event in &events[events.len().saturating_sub(MAX_EVENTS)..] {
        let object = &event.involved_object;
        let (kind, name) = (object.kind.as_deref().unwrap_or_default(), object.name.as_deref().unwrap_or_default());
        let (reason, message) = (event.reason.as_deref(), event.message.as_deref());
        let (reason, message) = (reason.unwrap_or_default(), message.unwrap_or_default());
        let _ = writeln!(text, "event {kind} {name} {reason}: {message}");
    }
}

fn scheduler_logs(text: &mut String, context: &Context) {
    for log in logs(context.cluster.work()) {
        let about = log_about(&log, &context.id, LOG_LINES).unwrap_or_default();
        let name = log.file_name().unwrap_or_default().display();
        let _ = writeln!(text, "--- {name}, last {LOG_LINES} lines about {}\n{about}", context.id);
    }
}

/// Copies the logs of schedulers and components to a place that outlives the run; where that is.
pub(crate) fn keep_logs(context: &Context) -> std::io::Result<PathBuf> {
    // Without what differs from run to run: the last failure of a test replaces the one before.
    let name = context.id.rsplit_once('-').map_or(context.id.as_str(), |(name, _)| name);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e").join(name);
    fs::create_dir_all(&target)?;
    let plane = context.cluster.plane.as_ref();
    for log in logs(context.cluster.work()).into_iter().chain(plane.map(|plane| logs(plane.dir())).unwrap_or_default())
    {
        fs::copy(&log, target.join(log.file_name().unwrap_or_default()))?;
    }
    Ok(target)
}

fn logs(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "log")).collect()
}
