//! Reads manifests as `kubectl apply` takes them. Everything that is wrong is said at once, with its file, object and field.

use std::time::Duration;

use super::input::Input;
use super::nodes;
use super::object::{self, Given};
use crate::api::whole_numbers;
use crate::runtime::args::SimulateArgs;
use crate::runtime::cli::source::{self, Is, Place, SourceError};
use crate::shim::observation::Body;
use crate::sim::play::Thing;

/// What cannot be played.
#[derive(Debug, thiserror::Error)]
pub(in crate::runtime::cli) enum InputError {
    /// A file that cannot be had, or is no YAML.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// An object of a file, where it stands there (`document 2`), and where in the file the field does.
    #[error("{file}: {object}: {problem}")]
    Object { file: String, document: String, object: String, at: Place, problem: String },
    /// A flag.
    #[error("{0}")]
    Flag(String),
}

/// The field that a problem is about: `spec.max[cpu]: …`, or `unknown field "spec.max"`.
pub(in crate::runtime::cli) fn field_of(problem: &str) -> &str {
    match problem.strip_prefix("unknown field \"") {
        Some(field) => field.trim_end_matches('"'),
        None => problem.split_once(": ").map_or("", |(field, _)| field),
    }
}

/// Reads the files and flags of a command line.
pub(super) fn all(input: &mut Input, args: &SimulateArgs) {
    for (number, text) in args.nodes.iter().enumerate() {
        match nodes::of(text, number) {
            Ok(nodes) => input.take_nodes(nodes),
            Err(error) => input.errors.push(error),
        }
    }
    for path in &args.files {
        match source::text_of(path) {
            Ok(text) => add(input, &path.display().to_string(), &text, args.runs),
            Err(error) => input.errors.push(error.into()),
        }
    }
    let is_node = |what: &Thing| matches!(what, Thing::Object(Body::Node(_)));
    // One that is wrong may have been a node.
    if input.errors.is_empty() && !input.arrivals.iter().any(|arrival| is_node(&arrival.what)) {
        let problem = "there are no nodes: add --nodes, for example --nodes 20x32cpu,256Gi";
        input.errors.push(InputError::Flag(problem.to_owned()));
    }
    if input.errors.is_empty() {
        input.settle();
    }
}

/// Adds what one file says.
pub(in crate::runtime::cli) fn add(input: &mut Input, file: &str, text: &str, runs: Duration) {
    let (documents, errors) = source::documents(file, text);
    input.errors.extend(errors.into_iter().map(InputError::from));
    for (number, node) in documents.iter().enumerate() {
        let mut object = node.value();
        whole_numbers(&mut object);
        let place = format!("document {}", number + 1);
        match &node.is {
            Is::Map(_) => object::add(input, Given { file, place, node, object, runs }),
            Is::List(_) => not_an_object(input, file, place, node.at, "a list, not an object"),
            Is::Nothing | Is::Bool(_) | Is::Number(_) | Is::Text(_) => {
                not_an_object(input, file, place, node.at, "a single value, not an object");
            }
        }
    }
}

fn not_an_object(input: &mut Input, file: &str, place: String, at: Place, problem: &str) {
    let (file, problem) = (file.to_owned(), problem.to_owned());
    input.errors.push(InputError::Object { file, document: place.clone(), object: place, at, problem });
}
