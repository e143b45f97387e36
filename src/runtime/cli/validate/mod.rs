//! `validate`: what is wrong with manifests, before a cluster is asked. API server and scheduler are asked as they are in
//! `simulate`, so that both say the same.

mod finding;
mod gangs;
mod pods;
mod queues;
mod room;

use std::time::Duration;

use serde::Serialize;

use super::output::{json, yaml};
use super::simulate::input::{Input, Origin};
use super::simulate::read::{InputError, add};
use super::simulate::settings;
use super::source::{self, SourceError};
use super::{FAILED, NO, Reply};
use crate::core::time::Millis;
use crate::runtime::args::{PlainOutput, ValidateArgs};
use crate::runtime::settings::{default_dialects, dialects};
use crate::runtime::text::count as count_of;
use crate::shim::node::node_spec;
use crate::shim::observation::Body;
use crate::shim::pod::Served;
use crate::sim::play::{Arrival, Play, Thing};
use crate::sim::priority::Classes;
use crate::sim::story::Story;
use finding::{Finding, Severity};
use pods::Pods;
use room::Nodes;

/// So long the scheduler is asked: until everything is known to it, and judged.
const JUDGES_MS: Millis = 2_000;

/// Everything that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    findings: Vec<Finding>,
    objects: usize,
    errors: usize,
    warnings: usize,
}

/// The answer to `validate`.
pub(super) fn validate(args: &ValidateArgs) -> Reply {
    let mut input = Input::remembering();
    for path in &args.files {
        match source::text_of(path) {
            Ok(text) => add(&mut input, &path.display().to_string(), &text, Duration::ZERO),
            Err(error) => input.errors.push(error.into()),
        }
    }
    let is_unreadable = |error: &InputError| matches!(error, InputError::Source(SourceError::Unreadable { .. }));
    let unreadable = input.errors.iter().any(is_unreadable);
    let served = Served::new(args.scheduler_names.iter().map(String::as_str))
        .ignoring_foreign_markers(args.ignore_foreign_markers)
        .speaking(dialects(&args.dialects).unwrap_or_else(default_dialects));
    let files: Vec<String> = args.files.iter().map(|path| path.display().to_string()).collect();
    let answer = answer(&input, &served, &files);
    let code = match answer.errors {
        _ if unreadable => FAILED,
        0 => 0,
        _ => NO,
    };
    Reply { out: answer.text(args.output), note: left_out(&input), code }
}

fn answer(input: &Input, served: &Served, files: &[String]) -> Answer {
    let mut findings = findings(input, served);
    if findings.is_empty() && input.known.is_empty() && input.left_out().next().is_none() {
        let file = files.first().map_or("-", String::as_str);
        findings.push(Finding::of_file(file, "there is no object in it".to_owned()));
    }
    let file = |finding: &Finding| files.iter().position(|file| *file == finding.file);
    findings.sort_by_key(|finding| (file(finding), finding.line, finding.column));
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    Answer { objects: input.known.len(), errors, warnings: findings.len() - errors, findings }
}

/// Everything that is wrong, or may be.
fn findings(input: &Input, served: &Served) -> Vec<Finding> {
    let pods = |arrival: &Arrival| Pods::of(arrival, Site::of(input, arrival)?, served);
    let pods: Vec<Pods> = input.arrivals.iter().filter_map(pods).collect();
    let nodes = Nodes(input.arrivals.iter().filter_map(node).collect());
    let unknown = input.ignored.iter().filter_map(|(title, field)| {
        let message = "unknown field, which an API server leaves out or refuses".to_owned();
        Some(Site::named(input, title)?.finding(Severity::Warning, field, message))
    });
    let mut found: Vec<Finding> = input.errors.iter().map(Finding::from).chain(unknown).collect();
    found.extend(pods.iter().flat_map(Pods::findings));
    for pods in pods.iter().filter(|pods| pods.are_to_be_placed() && pods.group().is_none()) {
        let lack = nodes.lack_for(&pods.ask.shape, 1);
        found.extend(lack.map(|lack| pods.finding(Severity::Warning, "spec", lack)));
    }
    found.extend(queues::findings(input, &pods));
    found.extend(gangs::findings(input, &pods, &nodes));
    found
}

fn node(arrival: &Arrival) -> Option<(crate::core::base::ids::Text, crate::core::shape::NodeSpec)> {
    let Thing::Object(Body::Node(node)) = &arrival.what else { return None };
    Some((arrival.key.name.clone(), node_spec(node)))
}

/// An object of the files, where findings about it point.
#[derive(Clone)]
struct Site<'a> {
    origin: &'a Origin,
}

impl<'a> Site<'a> {
    fn of(input: &'a Input, arrival: &Arrival) -> Option<Self> {
        Self::named(input, &arrival.title())
    }

    fn named(input: &'a Input, title: &str) -> Option<Self> {
        let origin = input.known.get(title)?.as_ref()?;
        Some(Self { origin })
    }

    fn finding(&self, severity: Severity, field: &str, message: String) -> Finding {
        Finding::of(severity, self.origin, field, message)
    }
}

/// What the scheduler makes of these objects in its first seconds.
fn played(arrivals: impl Iterator<Item = Arrival>) -> Story {
    let mut play = Play::new(settings(false, &[]), Classes::default());
    arrivals.for_each(|arrival| play.expect(arrival));
    play.run(JUDGES_MS, |_, _| {})
}

fn left_out(input: &Input) -> String {
    let kinds: Vec<String> = input.left_out().map(|(kind, count)| format!("{count} {kind}")).collect();
    if kinds.is_empty() {
        String::new()
    } else {
        format!("Not looked at, as kinds that are not known here: {}.", kinds.join(", "))
    }
}

impl Answer {
    fn text(&self, form: PlainOutput) -> String {
        match form {
            PlainOutput::Table => self.findings.iter().map(Finding::text).chain([self.summary()]).collect(),
            PlainOutput::Json => json(self),
            PlainOutput::Yaml => yaml(self),
        }
    }

    fn summary(&self) -> String {
        let objects = count_of(self.objects, "object");
        let numbers = [count_of(self.errors, "error"), count_of(self.warnings, "warning")].join(", ");
        format!("{objects}: {numbers}\n")
    }
}

/// Everything that is wrong with a text, a line each.
#[cfg(test)]
pub(super) fn errors_of(text: &str) -> Vec<String> {
    let mut input = Input::remembering();
    add(&mut input, "-", text, Duration::ZERO);
    let found = findings(&input, &Served::default());
    found.iter().filter(|finding| finding.severity == Severity::Error).map(Finding::text).collect()
}

#[cfg(test)]
mod tests;
