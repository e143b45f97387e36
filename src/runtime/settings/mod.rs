//! What `run` is told: configuration file, flags over it, defaults under it; checked as a whole.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::filter::EnvFilter;

use super::args::RunArgs;
use super::text::escape_lines;
use crate::api::names;
use crate::controller::lease::{DURATION_MAX_MS, Timing};
use crate::core::model::bound::MostPlaceholders;
use crate::core::model::countdown::Deadline;
use crate::core::reason::SpecError;
use crate::shim::dialect::{Dialect, WAIT_TIMEOUT_SECONDS};
use crate::shim::{go_duration, group_check};

/// Default image of placeholders: Kubernetes' own, for all its architectures.
pub const PLACEHOLDER_IMAGE: &str =
    "registry.k8s.io/pause:3.10@sha256:ee6521f290b2168b6e0935a181d4cff9be1ac3f505666ef0e3c98fae8199917a";
/// Default address of the HTTP server: of this machine alone, which is why it is plain and open there.
pub const HTTP_ADDRESS: &str = "127.0.0.1:8080";
/// Default log level.
pub const LOG_LEVEL: &str = "info";

/// Default namespace of Leases.
pub const LEASE_NAMESPACE: &str = "kube-system";
/// Default times of an election: those of kube-scheduler.
pub const ELECTION: Timing = Timing { duration_ms: 15_000, renew_ms: 10_000, retry_ms: 2_000 };

/// Everything that `run` can be told, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Pods with these `spec.schedulerName` are ours; never empty.
    pub scheduler_names: Vec<String>,
    /// Image of placeholder pods.
    pub placeholder_image: String,
    /// Pods that a marker of another system makes a gang's are placed one by one.
    pub ignore_foreign_markers: bool,
    /// Other systems whose words on pods are understood.
    pub dialects: Vec<Dialect>,
    /// Seconds that a gang in such words waits, where these have a default for that and its pods do not say it.
    pub default_wait_timeout_seconds: u32,
    /// The shipped admission policy writes who submitted an object: limits of users and groups count.
    pub submitters: bool,
    /// The most placeholders that a gang may ask for; those of a namespace that have not started may for ten
    /// times as many at a time.
    pub max_placeholders: u32,
    /// Who of several decides.
    pub leader_election: LeaderElection,
    /// The HTTP server.
    pub http: Http,
    /// How log lines look.
    pub log_format: LogFormat,
    /// Directives of the log filter.
    pub log_level: String,
}

/// Who of several processes with the same scheduler names decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderElection {
    /// Whether that matters; otherwise there is one.
    pub enabled: bool,
    /// Namespace of the Leases.
    pub namespace: String,
    /// How long everything takes.
    pub timing: Timing,
}

/// Where the HTTP server listens, and who may ask it for what tells of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    /// Port 0 = a free one.
    pub address: SocketAddr,
    /// Whether `/metrics` and `/state` want a token whose owner may get them.
    pub auth: bool,
    /// HTTPS with this certificate; none = plain HTTP.
    pub tls: Option<Certificate>,
}

impl Http {
    /// What is open to whom, where that is not this machine alone.
    pub fn warning(&self) -> Option<&'static str> {
        match (is_loopback(self.address), self.auth, &self.tls) {
            (true, _, _) | (false, true, Some(_)) => None,
            (false, false, _) => Some(
                "Anybody who reaches this address reads names of namespaces, queues and pods: /metrics and /state want no \
                 token (http.auth)",
            ),
            (false, true, None) => Some("Tokens come to this address unencrypted (http.tls)"),
        }
    }
}

/// Which certificate is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// One of our own making.
    Own,
    /// `tls.crt` and `tls.key` of this directory.
    Directory(PathBuf),
}

/// Whether something is wanted of whoever asks the HTTP server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Demand {
    /// On every address but loopback
    #[default]
    Auto,
    /// On any address
    Always,
    /// On none
    Never,
}

impl Demand {
    fn on(self, address: SocketAddr) -> bool {
        match self {
            Self::Auto => !is_loopback(address),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise
    #[default]
    Auto,
    /// Text
    Text,
    /// JSON, one object a line
    Json,
}

/// The words of another system on pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Words {
    /// Of none
    None,
    /// Those of Kubernetes itself
    Kubernetes,
    /// Koordinator's
    Koordinator,
    /// Those of kube-scheduler's Coscheduling plugin
    Coscheduling,
    /// Volcano's
    Volcano,
    /// Apache YuniKorn's
    #[value(name = "yunikorn")]
    YuniKorn,
}

/// The systems that a flag names; none if it is not there.
pub fn dialects(flag: &[Words]) -> Option<Vec<Dialect>> {
    (!flag.is_empty()).then(|| understood(flag.to_vec()))
}

/// What is understood where nobody says it. Not Koordinator's words: of these only a part is, and pods that have them said what
/// to do before.
pub fn default_dialects() -> Vec<Dialect> {
    vec![Dialect::YuniKorn]
}

fn understood(words: Vec<Words>) -> Vec<Dialect> {
    let dialect = |words| match words {
        Words::None => None,
        Words::Kubernetes => Some(Dialect::Kubernetes),
        Words::Koordinator => Some(Dialect::Koordinator),
        Words::Coscheduling => Some(Dialect::Coscheduling),
        Words::Volcano => Some(Dialect::Volcano),
        Words::YuniKorn => Some(Dialect::YuniKorn),
    };
    words.into_iter().filter_map(dialect).collect()
}

/// The configuration file. Nothing in it is optional to honour: an unknown field is an error.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct File {
    scheduler_names: Option<Vec<String>>,
    placeholder_image: Option<String>,
    ignore_foreign_markers: bool,
    dialects: Option<Vec<Words>>,
    default_wait_timeout: Option<String>,
    submitters: bool,
    max_placeholders: Option<u32>,
    leader_election: Election,
    http: HttpFile,
    log: Log,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Election {
    enabled: Option<bool>,
    namespace: Option<String>,
    lease_duration_seconds: Option<u32>,
    renew_deadline_seconds: Option<u32>,
    retry_period_seconds: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct HttpFile {
    address: Option<String>,
    auth: Demand,
    tls: Demand,
    tls_directory: PathBuf,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Log {
    format: Option<LogFormat>,
    level: Option<String>,
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// The file is no YAML, or has other fields than it may have; with line and column.
    #[error("{}: {}", .0.display(), escape_lines(.1))]
    Parse(PathBuf, String),
    /// Fields have values that cannot be used; all of them.
    #[error("{}", Problems(.0))]
    Values(Vec<(Source, SpecError)>),
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The configuration file.
    File(PathBuf),
    /// A flag.
    Flag,
}

struct Problems<'a>(&'a [(Source, SpecError)]);

impl fmt::Display for Problems<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (source, problem)) in self.0.iter().enumerate() {
            let line_end = if number == 0 { "" } else { "\n" };
            match source {
                Source::File(path) => write!(f, "{line_end}{}: {problem}", path.display())?,
                Source::Flag => write!(f, "{line_end}{problem}")?,
            }
        }
        Ok(())
    }
}

impl Settings {
    /// Reads and checks everything.
    ///
    /// # Errors
    /// An unreadable file, or every value that cannot be used.
    pub fn load(args: &RunArgs) -> Result<Self, SettingsError> {
        let Some(path) = &args.config else { return Self::resolve(args, File::default(), Path::new("")) };
        let text = std::fs::read_to_string(path).map_err(|error| SettingsError::Read(path.clone(), error))?;
        Self::resolve(args, parse(&text, path)?, path)
    }

    fn resolve(args: &RunArgs, file: File, path: &Path) -> Result<Self, SettingsError> {
        let mut check = Check { path, problems: Vec::new() };
        let MostPlaceholders(default_most) = MostPlaceholders::default();
        let settings = Self {
            scheduler_names: check.scheduler_names(&args.scheduler_names, file.scheduler_names),
            placeholder_image: check.image(args.placeholder_image.as_deref(), file.placeholder_image),
            ignore_foreign_markers: args.ignore_foreign_markers || file.ignore_foreign_markers,
            dialects: dialects(&args.dialects)
                .or_else(|| file.dialects.map(understood))
                .unwrap_or_else(default_dialects),
            default_wait_timeout_seconds: check.wait_timeout(file.default_wait_timeout),
            submitters: args.submitters || file.submitters,
            max_placeholders: args.max_placeholders.or(file.max_placeholders).unwrap_or(default_most),
            leader_election: check.election(args.leader_elect, file.leader_election),
            http: check.http(args, file.http),
            log_format: args.log_format.or(file.log.format).unwrap_or_default(),
            log_level: check.level(args.log_level.as_deref(), file.log.level),
        };
        if check.problems.is_empty() { Ok(settings) } else { Err(SettingsError::Values(check.problems)) }
    }
}

fn parse(text: &str, path: &Path) -> Result<File, SettingsError> {
    let file: Result<Option<File>, _> = serde_saphyr::from_str(text);
    // An empty file, or one of comments only, is YAML's null.
    file.map(Option::unwrap_or_default).map_err(|error| {
        let problem = error.to_string();
        let problem = problem.strip_prefix("error: ").unwrap_or(&problem);
        SettingsError::Parse(path.to_owned(), problem.replace("<input>", &path.to_string_lossy()))
    })
}

/// Takes each value from flag, file or default, and collects what is wrong with the one taken.
struct Check<'a> {
    path: &'a Path,
    problems: Vec<(Source, SpecError)>,
}

impl Check<'_> {
    fn scheduler_names(&mut self, flags: &[String], file: Option<Vec<String>>) -> Vec<String> {
        let from_flags = !flags.is_empty();
        let names = if from_flags { flags.to_vec() } else { file.unwrap_or_else(|| vec![names::SCHEDULER.into()]) };
        if names.is_empty() {
            self.wrong(false, "schedulerNames", "must not be empty: no pod would be ours");
        }
        for (index, name) in names.iter().enumerate().filter(|(_, name)| !is_dns_subdomain(name)) {
            let field = if from_flags { "--scheduler-name".to_owned() } else { format!("schedulerNames[{index}]") };
            self.wrong(from_flags, &field, &format!("`{}` is no DNS subdomain name", name.escape_debug()));
        }
        names
    }

    fn image(&mut self, flag: Option<&str>, file: Option<String>) -> String {
        let image = flag.map(str::to_owned).or(file).unwrap_or_else(|| PLACEHOLDER_IMAGE.into());
        if image.is_empty() || image.chars().any(|character| character.is_whitespace() || character.is_control()) {
            let field = if flag.is_some() { "--placeholder-image" } else { "placeholderImage" };
            self.wrong(flag.is_some(), field, &format!("`{}` is no image reference", image.escape_debug()));
        }
        image
    }

    /// A text with its unit, as Koordinator's configuration has it.
    fn wait_timeout(&mut self, file: Option<String>) -> u32 {
        let Some(text) = file else { return WAIT_TIMEOUT_SECONDS };
        let (least, most) = group_check::range_of(Deadline::Wait);
        let seconds = go_duration::seconds(&text).and_then(|seconds| u32::try_from(seconds).ok());
        seconds.filter(|seconds| (least..=most).contains(seconds)).unwrap_or_else(|| {
            let problem =
                format!("`{}` must be a time of {least}s to {most}s, such as 600s or 1h30m", text.escape_debug());
            self.wrong(false, "defaultWaitTimeout", &problem);
            WAIT_TIMEOUT_SECONDS
        })
    }

    fn election(&mut self, flag: Option<bool>, file: Election) -> LeaderElection {
        let namespace = file.namespace.unwrap_or_else(|| LEASE_NAMESPACE.into());
        if !is_dns_subdomain(&namespace) {
            self.wrong(false, "leaderElection.namespace", &format!("`{}` is no namespace", namespace.escape_debug()));
        }
        let millis = |seconds: Option<u32>, default| seconds.map_or(default, |seconds| u64::from(seconds) * 1_000);
        let timing = Timing {
            duration_ms: millis(file.lease_duration_seconds, ELECTION.duration_ms),
            renew_ms: millis(file.renew_deadline_seconds, ELECTION.renew_ms),
            retry_ms: millis(file.retry_period_seconds, ELECTION.retry_ms),
        };
        for (field, problem, is_wrong) in [
            ("leaseDurationSeconds", "must be at most 600", timing.duration_ms > DURATION_MAX_MS),
            ("renewDeadlineSeconds", "must be less than leaseDurationSeconds", timing.renew_ms >= timing.duration_ms),
            (
                "retryPeriodSeconds",
                "must be less than half of renewDeadlineSeconds",
                timing.retry_ms * 2 >= timing.renew_ms,
            ),
            ("retryPeriodSeconds", "must be at least 1", timing.retry_ms == 0),
        ] {
            if is_wrong {
                self.wrong(false, &format!("leaderElection.{field}"), problem);
            }
        }
        LeaderElection { enabled: flag.or(file.enabled).unwrap_or(true), namespace, timing }
    }

    fn http(&mut self, args: &RunArgs, file: HttpFile) -> Http {
        let address = self.address(args.http, file.address);
        let (auth, tls) = (args.http_auth.unwrap_or(file.auth), args.http_tls.unwrap_or(file.tls));
        let from_flag = args.http_tls_directory.is_some();
        let directory = args.http_tls_directory.clone().unwrap_or(file.tls_directory);
        // Whoever has a certificate wants it to be shown.
        let tls = match (directory.as_os_str().is_empty(), tls) {
            (true, demand) => demand.on(address).then_some(Certificate::Own),
            (false, Demand::Auto | Demand::Always) => Some(Certificate::Directory(directory)),
            (false, Demand::Never) => {
                let field = if from_flag { "--http-tls-directory" } else { "http.tlsDirectory" };
                self.wrong(from_flag, field, "is of no use without TLS, which is switched off");
                None
            }
        };
        Http { address, auth: auth.on(address), tls }
    }

    fn address(&mut self, flag: Option<SocketAddr>, file: Option<String>) -> SocketAddr {
        let text = file.unwrap_or_else(|| HTTP_ADDRESS.into());
        let parsed = text.parse().map_err(|_| {
            let problem = format!("`{}` is no IP address with port, such as 127.0.0.1:8080", text.escape_debug());
            self.wrong(false, "http.address", &problem);
        });
        // The fallback is never used: a problem is recorded, so that no Settings come out.
        flag.or(parsed.ok()).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    fn level(&mut self, flag: Option<&str>, file: Option<String>) -> String {
        let level = flag.map(str::to_owned).or(file).unwrap_or_else(|| LOG_LEVEL.into());
        if let Err(error) = EnvFilter::builder().parse(&level) {
            let field = if flag.is_some() { "--log-level" } else { "log.level" };
            self.wrong(flag.is_some(), field, &format!("`{}`: {error}", level.escape_debug()));
        }
        level
    }

    fn wrong(&mut self, flag: bool, field: &str, problem: &str) {
        let source = if flag { Source::Flag } else { Source::File(self.path.to_owned()) };
        self.problems.push((source, SpecError { field: field.into(), problem: problem.into() }));
    }
}

/// RFC 1123 subdomain, as the API server demands of `spec.schedulerName`.
pub(super) fn is_dns_subdomain(name: &str) -> bool {
    let is_label = |label: &str| {
        let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        !label.is_empty() && label.as_bytes().iter().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests;
