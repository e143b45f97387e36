//! The command line: flags, help and what they mean.

mod help;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use super::cli::{UNREADABLE, UNSEEN};
use super::settings::{Demand, LEASE_NAMESPACE, LogFormat, Words, is_dns_subdomain};
use super::text;
use crate::api::names;
use crate::core::model::lifecycle::AppState;
pub(super) use help::RUN_HELP;
use help::{
    ABOUT, EXIT_CODES, IMPORT_HELP, LIST_HELP, QUEUE_HELP, RELEASE_HELP, SIMULATE_HELP, VALIDATE_HELP, WHY_HELP,
};

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "gangline", version, about = "A gang scheduler for Kubernetes", long_about = ABOUT, after_help = EXIT_CODES)]
#[command(disable_help_subcommand = true, max_term_width = 110)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the scheduler
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// List gangs: what runs, what waits and for what
    #[command(after_help = LIST_HELP)]
    List(ListArgs),
    /// Say in a sentence why a pod or a gang runs or does not
    #[command(after_help = WHY_HELP)]
    Why(WhyArgs),
    /// Show the tree of queues with use, limits and problems
    #[command(after_help = QUEUE_HELP)]
    Queue(QueueArgs),
    /// Play manifests in virtual time, without a cluster: what would start when, and what waits for what
    #[command(after_help = SIMULATE_HELP)]
    Simulate(SimulateArgs),
    /// Say everything that is wrong with manifests before they are applied, without a cluster
    #[command(after_help = VALIDATE_HELP)]
    Validate(ValidateArgs),
    /// Turn what YuniKorn, Koordinator or scheduler-plugins is told into Queues and values of the chart, without a cluster
    #[command(after_help = IMPORT_HELP)]
    Import(ImportArgs),
    /// Delete the placeholders that an uninstalled scheduler has left, once nobody leads any more
    #[command(after_help = RELEASE_HELP)]
    ReleasePlaceholders(ReleaseArgs),
    /// Print the CustomResourceDefinitions as YAML
    #[command(after_help = "Example:\n  gangline crds | kubectl apply --server-side -f -")]
    Crds,
    /// Print the version
    Version(VersionArgs),
}

/// How to reach the cluster.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cluster")]
pub struct ClusterArgs {
    /// Kubeconfig file; default: $KUBECONFIG, ~/.kube/config, or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; default: its current context
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// Flags of `run`.
#[derive(Clone, Debug, Default, Args)]
pub struct RunArgs {
    /// Configuration file (YAML)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address of /livez, /readyz, /metrics and /state; port 0 = a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Whether /metrics and /state want a token whose owner may get these paths [default: auto]
    #[arg(long, value_name = "DEMAND")]
    pub http_auth: Option<Demand>,
    /// Whether HTTPS is spoken, and HTTP is not [default: auto]
    #[arg(long, value_name = "DEMAND")]
    pub http_tls: Option<Demand>,
    /// Directory of tls.crt and tls.key, which are read again when they change [default: none, a certificate of its own]
    #[arg(long, value_name = "DIRECTORY")]
    pub http_tls_directory: Option<PathBuf>,
    /// Pods with this spec.schedulerName are ours; may be repeated [default: gangline]
    #[arg(long = "scheduler-name", value_name = "NAME")]
    pub scheduler_names: Vec<String>,
    /// Image of placeholder pods [default: registry.k8s.io/pause:3.10, by digest]
    #[arg(long, value_name = "IMAGE")]
    pub placeholder_image: Option<String>,
    /// Place pods that belong to a gang of another system one by one, instead of refusing them (DialectNotSupported)
    #[arg(long)]
    pub ignore_foreign_markers: bool,
    /// Other systems whose words on pods are understood, separated by commas [default: yunikorn]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub dialects: Vec<Words>,
    /// Limits of users and groups count: only where the shipped admission policy (the chart's config.submitters) writes who
    /// submitted an object, since anybody could write it else
    #[arg(long)]
    pub submitters: bool,
    /// A gang that asks for more placeholders is refused (TooManyPlaceholders); those of a namespace that have not started may
    /// ask for ten times as many at a time [default: 5000]
    #[arg(long, value_name = "NUMBER")]
    pub max_placeholders: Option<u32>,
    /// Whether to schedule only while no other process with these scheduler names does (a Lease) [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub leader_elect: Option<bool>,
    /// How log lines look [default: auto, text on a terminal and json otherwise]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// What is logged: a level, or levels per module as in `info,gangline=debug` [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// States that `list` shows: those of applications, and two for objects that have none.
fn states() -> PossibleValuesParser {
    let applications = AppState::ALL.iter().map(|state| state.name());
    applications.chain([UNSEEN, UNREADABLE]).collect::<Vec<_>>().into()
}

/// Flags of `list`.
#[derive(Clone, Debug, Default, Args)]
pub struct ListArgs {
    /// Namespace; default: that of the context
    #[arg(short, long, value_name = "NAME", conflicts_with = "all_namespaces")]
    pub namespace: Option<String>,
    /// All namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Only objects with these labels, as in kubectl
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Only gangs of this queue and all below it
    #[arg(long, value_name = "QUEUE")]
    pub queue: Option<String>,
    /// Only gangs in this state
    #[arg(long, value_name = "STATE", value_parser = states(), ignore_case = true)]
    pub state: Option<String>,
    /// Form of the output
    #[arg(short, long, value_name = "FORM", default_value = "table")]
    pub output: TableOutput,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Flags of `why`.
#[derive(Clone, Debug, Default, Args)]
pub struct WhyArgs {
    /// pod/NAME, taskgroup/NAME (tg/NAME), or NAME alone
    #[arg(value_name = "[TYPE/]NAME")]
    pub target: String,
    /// Namespace; default: that of the context
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// A spec.schedulerName that Gangline serves here; may be repeated
    #[arg(long = "scheduler-name", value_name = "NAME", default_value = names::SCHEDULER)]
    pub scheduler_names: Vec<String>,
    /// Form of the output
    #[arg(short, long, value_name = "FORM", default_value = "table")]
    pub output: PlainOutput,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Flags of `queue`.
#[derive(Clone, Debug, Default, Args)]
pub struct QueueArgs {
    /// Only this queue and all below it
    pub name: Option<String>,
    /// Form of the output
    #[arg(short, long, value_name = "FORM", default_value = "table")]
    pub output: TableOutput,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Flags of `simulate`.
#[derive(Clone, Debug, Args)]
pub struct SimulateArgs {
    /// Manifests with Nodes, Queues, TaskGroups, PodGroups, Namespaces, Pods, Jobs and PriorityClasses; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Nodes besides those in the files, as in 20x32cpu,256Gi or 4x64cpu,512Gi,8nvidia.com/gpu; may be repeated
    #[arg(long, value_name = "NUMBERxRESOURCES")]
    pub nodes: Vec<String>,
    /// How long a pod runs if it does not say (annotation gangline.dev/simulated-run)
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration, allow_hyphen_values = true)]
    pub runs: Duration,
    /// Nothing later than this is played
    #[arg(long, value_name = "DURATION", default_value = "168h", value_parser = until, allow_hyphen_values = true)]
    pub until: Duration,
    /// Place pods that belong to a gang of another system one by one, instead of refusing them (DialectNotSupported)
    #[arg(long)]
    pub ignore_foreign_markers: bool,
    /// Other systems whose words on pods are understood, separated by commas [default: yunikorn]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub dialects: Vec<Words>,
    /// Form of the output
    #[arg(short, long, value_name = "FORM", default_value = "table")]
    pub output: PlainOutput,
}

/// Flags of `validate`.
#[derive(Clone, Debug, Args)]
pub struct ValidateArgs {
    /// Manifests; Queues, TaskGroups, PodGroups, Pods, Jobs, Nodes and PriorityClasses are looked at; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A spec.schedulerName that Gangline serves; may be repeated
    #[arg(long = "scheduler-name", value_name = "NAME", default_value = names::SCHEDULER)]
    pub scheduler_names: Vec<String>,
    /// Pods that belong to a gang of another system are placed one by one, instead of being refused (DialectNotSupported)
    #[arg(long)]
    pub ignore_foreign_markers: bool,
    /// Other systems whose words on pods are understood, separated by commas [default: yunikorn]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub dialects: Vec<Words>,
    /// Form of the output
    #[arg(short, long, value_name = "FORM", default_value = "table")]
    pub output: PlainOutput,
}

/// Flags of `import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// queues.yaml or the ConfigMaps yunikorn-defaults and yunikorn-configs; a KubeSchedulerConfiguration or the ConfigMap that holds
    /// it; PodGroups; ElasticQuotas; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What is printed
    #[arg(short, long, value_name = "FORM", default_value = "queues")]
    pub output: ImportOutput,
}

/// What `import` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ImportOutput {
    /// Queue objects for `kubectl apply`
    #[default]
    Queues,
    /// Values of the chart for `helm install --values`
    Values,
    /// Queues, values and the report, as JSON
    Json,
}

/// The longest play: beyond it no timeout of anything ends, and no clock of it overflows.
const UNTIL_MAX: Duration = Duration::from_secs(10 * 365 * 86_400);

fn until(text: &str) -> Result<Duration, String> {
    let most = format!("longer than {} days", UNTIL_MAX.as_secs() / 86_400);
    duration(text).and_then(|duration| if duration <= UNTIL_MAX { Ok(duration) } else { Err(most) })
}

fn duration(text: &str) -> Result<Duration, String> {
    text::duration(text).ok_or_else(|| "no duration as in 90s or 1h30m, from 0s on".to_owned())
}

/// Flags of `release-placeholders`.
#[derive(Clone, Debug, Default, Args)]
pub struct ReleaseArgs {
    /// Placeholders with this spec.schedulerName; may be repeated
    #[arg(long = "scheduler-name", value_name = "NAME", default_value = names::SCHEDULER, value_parser = subdomain)]
    pub scheduler_names: Vec<String>,
    /// Whether a Lease says who decides about them [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub leader_elect: Option<bool>,
    /// Namespace of the Leases
    #[arg(long, value_name = "NAME", default_value = LEASE_NAMESPACE, value_parser = subdomain)]
    pub lease_namespace: String,
    /// How long to wait for whoever leads to end, at most 1h
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = patience, allow_hyphen_values = true)]
    pub timeout: Duration,
    /// How to reach the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Longer than any scheduler takes to end.
const PATIENCE_MAX: Duration = Duration::from_secs(3_600);

fn patience(text: &str) -> Result<Duration, String> {
    let is_short = |duration: &Duration| *duration <= PATIENCE_MAX;
    duration(text).and_then(|duration| Some(duration).filter(is_short).ok_or_else(|| "longer than 1h".to_owned()))
}

fn subdomain(text: &str) -> Result<String, String> {
    if is_dns_subdomain(text) { Ok(text.to_owned()) } else { Err("no DNS subdomain name".to_owned()) }
}

/// Flags of `version`.
#[derive(Clone, Debug, Default, Args)]
pub struct VersionArgs {
    /// Form of the output
    #[arg(short, long, value_name = "FORM", default_value = "table")]
    pub output: PlainOutput,
}

/// Form of an answer that may be a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TableOutput {
    /// A table
    #[default]
    Table,
    /// A table with more columns
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// Form of an answer in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PlainOutput {
    /// Words
    #[default]
    Table,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// Reads a command line. The first argument is the program's name: `kubectl-gangline` is called `kubectl gangline` in
/// every help text.
///
/// # Errors
/// Wrong usage, and also requests for help or version: `clap::Error` prints itself and knows its exit code.
pub fn parse(arguments: Vec<OsString>) -> Result<CommandLine, clap::Error> {
    let mut command = CommandLine::command();
    if arguments.first().is_some_and(|program| is_plugin(Path::new(program))) {
        command = command.bin_name("kubectl gangline");
    }
    CommandLine::from_arg_matches(&command.try_get_matches_from(arguments)?)
}

fn is_plugin(program: &Path) -> bool {
    program.file_stem().is_some_and(|stem| stem == "kubectl-gangline")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(line: &[&str]) -> String {
        parse(line.iter().map(OsString::from).collect()).unwrap_err().to_string()
    }

    #[test]
    fn a_duration_below_zero_is_refused_as_one() {
        for flag in ["--runs", "--until"] {
            let refusal = help(&["gangline", "simulate", "f.yaml", flag, "-5s"]);
            assert!(refusal.contains(&format!("'-5s' for '{flag} <DURATION>': no duration as in 90s")), "{refusal}");
        }
    }

    #[test]
    fn the_hook_of_the_chart_is_understood_and_what_cannot_be_a_name_is_not() {
        let release = |words: &[&str]| {
            let line = ["gangline", "release-placeholders"].iter().chain(words).map(OsString::from);
            parse(line.collect()).map(|line| {
                let Command::ReleasePlaceholders(args) = line.command else { panic!("another command") };
                args
            })
        };
        let args = release(&["--scheduler-name=a", "--scheduler-name=b.c", "--leader-elect=false"]).unwrap();
        assert_eq!((args.scheduler_names, args.leader_elect), (vec!["a".to_owned(), "b.c".to_owned()], Some(false)));
        let args = release(&[]).unwrap();
        assert_eq!((&*args.scheduler_names[0], &*args.lease_namespace), (names::SCHEDULER, LEASE_NAMESPACE));
        for wrong in ["--scheduler-name=a/b", "--lease-namespace=..", "--timeout=61m", "--timeout=-1s"] {
            assert!(release(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_definition_is_sound() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn as_a_plugin_the_usage_says_kubectl() {
        assert!(help(&["/usr/bin/kubectl-gangline", "why", "--help"]).contains("Usage: kubectl gangline why"));
        assert!(help(&["gangline", "why", "--help"]).contains("Usage: gangline why"));
    }

    #[test]
    fn help_names_the_exit_codes_and_usage_errors_are_2() {
        let wrong = parse(vec!["gangline".into(), "lits".into()]).unwrap_err();
        assert_eq!(wrong.exit_code(), 2);
        assert!(wrong.to_string().contains("'list'"), "{wrong}");
        assert!(help(&["gangline", "--help"]).contains("Exit codes:"));
    }

    #[test]
    fn a_state_is_one_that_exists() {
        let list = |state: &str| parse(["gangline", "list", "--state", state].iter().map(OsString::from).collect());
        for state in AppState::ALL.map(AppState::name).into_iter().chain([UNSEEN, "unreadable", "RUNNING"]) {
            assert!(list(state).is_ok(), "{state}");
        }
        assert!(list("Pending").unwrap_err().to_string().contains("possible values: New, Accepted, Resuming, Running"));
    }

    #[test]
    fn a_namespace_and_all_of_them_contradict_each_other() {
        assert!(help(&["gangline", "list", "-A", "-n", "x"]).contains("cannot be used with"));
    }
}
