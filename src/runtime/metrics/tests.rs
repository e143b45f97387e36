//! The metrics against their own rules, and `docs/metrics.md` against the metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use super::*;
use crate::controller::access::Page;
use crate::shim::op::Kind;

fn used(queue: &str, resource: &str, allocated: i128, max: Option<i128>) -> QueueUse {
    QueueUse { queue: queue.into(), resource: resource.into(), allocated, max }
}

/// Everything occurs, so that every metric has a series.
fn busy() -> (Stats, ShellCounters) {
    let stats = Stats {
        leads: true,
        synced: true,
        decisions: [("allocate", 7)].into(),
        calls: [(("create", "pods/binding", 201), 6), (("create", "pods/binding", 0), 1)].into(),
        events_dropped: 2,
        outbox_waiting: 3,
        outbox_in_flight: 2,
        outbox_window: 64,
        objects: [("pods", 10)].into(),
        malformed: [("taskgroups", 1)].into(),
        seats: [("held", 4)].into(),
        applications: [("Running", 1)].into(),
        pending_pods: 5,
        denied: vec![("events", "create")],
        audits: 4,
        violations: 0,
        queues: vec![used("root.data", "cpu", 2500, Some(10_000)), used("root.data", "memory", 1 << 30, None)],
    };
    let shell = ShellCounters::default();
    shell.stepped(Duration::from_micros(50));
    shell.requested("create", "pods/binding", 201, Duration::from_millis(7));
    shell.broke(Kind::Pod, 410);
    shell.turned_away(Page::State, 403);
    shell.watch(Kind::Node).waited(Duration::from_millis(1500));
    (stats, shell)
}

fn busy_text() -> String {
    let (stats, shell) = busy();
    text(Some(&stats), &shell).unwrap()
}

#[test]
fn amounts_are_in_base_units() {
    let text = busy_text();
    for line in [
        r#"gangline_queue_allocated{queue="root.data",resource="cpu"} 2.5"#,
        r#"gangline_queue_max{queue="root.data",resource="cpu"} 10.0"#,
        r#"gangline_queue_allocated{queue="root.data",resource="memory"} 1073741824.0"#,
        r#"gangline_calls_total{verb="create",resource="pods/binding",code="0"} 1"#,
        r#"gangline_watch_lag_seconds{kind="nodes"} 1.5"#,
        r#"gangline_watch_errors_total{kind="pods",code="410"} 1"#,
        r#"gangline_http_refused_total{path="/state",code="403"} 1"#,
        "gangline_invariant_audits_total 4",
        "gangline_invariant_violations_total 0",
        "gangline_answering 1.0",
        "gangline_leader 1.0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} not in\n{text}");
    }
    assert!(!text.contains(r#"gangline_queue_max{queue="root.data",resource="memory"}"#), "{text}");
}

#[test]
fn queues_beyond_the_bound_are_added_up() {
    let (mut stats, shell) = busy();
    stats.queues = (0..QUEUES + 3).map(|number| used(&format!("root.q{number:04}"), "pods", 2, None)).collect();
    let text = text(Some(&stats), &shell).unwrap();
    assert!(text.contains(r#"gangline_queue_allocated{queue="overflow",resource="pods"} 6.0"#), "{text}");
    assert_eq!(text.matches("gangline_queue_allocated{").count(), QUEUES + 1);
}

#[test]
fn a_silent_owner_leaves_the_shell_its_metrics() {
    let text = text(None, &busy().1).unwrap();
    assert!(text.contains("gangline_answering 0.0") && text.contains("gangline_step_duration_seconds_count 1"));
    assert!(!text.contains("gangline_decisions"), "{text}");
}

#[test]
fn names_and_helps_keep_the_rules() {
    for metric in metrics(&busy_text()) {
        let Metric { name, help, kind, .. } = &metric;
        assert!(name.starts_with("gangline_"), "{name}");
        assert!(!["milli", "percent", "kilo", "mib"].iter().any(|unit| name.contains(unit)), "{name}");
        assert_eq!(name.ends_with("_total"), kind == "counter", "{name} is a {kind}");
        assert!(help.starts_with(char::is_uppercase) && help.ends_with('.') && !help.ends_with(".."), "{name}: {help}");
    }
}

/// What one metric is, as its exposition says.
struct Metric {
    name: String,
    kind: String,
    help: String,
    labels: BTreeSet<String>,
}

fn metrics(text: &str) -> Vec<Metric> {
    let (mut helps, mut found) = (BTreeMap::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, help] => drop(helps.insert(name, help)),
            ["#", "TYPE", name, kind] => {
                let labels = labels(text, name, kind);
                let suffix = match kind {
                    "counter" => "_total",
                    "info" => "_info",
                    _ => "",
                };
                let (name, help) = (format!("{name}{suffix}"), helps[name].to_owned());
                found.push(Metric { name, kind: kind.to_owned(), help, labels });
            }
            _ => {}
        }
    }
    found
}

fn labels(text: &str, name: &str, kind: &str) -> BTreeSet<String> {
    let series = text.lines().filter_map(|line| line.strip_prefix(name)?.split_once('{')?.1.split_once('}'));
    let of_this = series.flat_map(|(labels, _)| labels.split(','));
    let names = of_this.filter_map(|label| Some(label.split_once('=')?.0.to_owned()));
    names.filter(|label| kind != "histogram" || label != "le").collect()
}

/// How they are read.
const READING: &str = "\
## Reading them

As the chart installs it, `/metrics` is served over HTTPS to whoever has a token whose owner may get that path. Prometheus
has one where it runs in the cluster, that of its ServiceAccount; let it in:

```
kubectl create clusterrolebinding prometheus-reads-gangline \\
  --clusterrole=gangline-metrics-reader --serviceaccount=MONITORING:PROMETHEUS
```

and tell it so:

```yaml
scrape_configs:
  - job_name: gangline
    scheme: https
    authorization: {credentials_file: /var/run/secrets/kubernetes.io/serviceaccount/token}
    # The certificate is of the program's own making unless the chart's value tls.secretName names one; then give its
    # ca_file, and a server_name that it is for.
    tls_config: {insecure_skip_verify: true}
    # Each replica has numbers of its own; gangline_leader says which one decides.
    kubernetes_sd_configs: [{role: pod, namespaces: {names: [gangline-system]}}]
    relabel_configs:
      - {source_labels: [__meta_kubernetes_pod_container_port_name], regex: http, action: keep}
```

| answer | means |
|---|---|
| 401 | no token, or one that the API server does not know, or that has expired |
| 403 | a user, who is named, may not get the path: bind the role |
| 429 | too many unknown tokens come at the moment |
| 503 | the API server cannot be asked, and why; or the scheduler does not answer; or too many ask at once |
| 400 `this port speaks HTTPS` | it was asked in plain HTTP |

An answer of the API server is kept for a minute, a refusal for ten seconds. `/state` is another path and wants another
role, `gangline-state-reader`: Prometheus has no use for it. With `config.http.auth: never` anybody may read both, with
`config.http.tls: never` they are served over plain HTTP; so they are, too, on loopback where nothing else is said.
";

fn page() -> String {
    let mut page = String::from(
        "# Metrics\n\n`GET /metrics` serves these as OpenMetrics. Generated from the code by `UPDATE=1 cargo test metrics_page`.\n\n",
    );
    page.push_str(READING);
    page.push_str(
        "\n## What there is\n\n\
         Labels are bounded: kinds, verbs, resources, codes and states are fixed sets; the first 256 queues have series of\n\
         their own and the rest is added up as `overflow`. There are no names of pods, gangs or applications.\n\n\
         | metric | type | labels | meaning |\n|---|---|---|---|\n",
    );
    for Metric { name, kind, help, labels } in metrics(&busy_text()) {
        let labels = labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(" ");
        writeln!(page, "| `{name}` | {kind} | {labels} | {help} |").unwrap();
    }
    page
}

#[test]
fn metrics_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page(), "docs/metrics.md differs from the code: UPDATE=1 cargo test metrics_page");
}
