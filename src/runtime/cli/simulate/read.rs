//! Reads manifests as `kubectl apply` takes them. What is wrong is said with its file, object and field.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use serde_saphyr::{UserMessageFormatter, render_options};

use super::input::Input;
use super::nodes;
use super::object::{self, Given};
use crate::api::whole_numbers;
use crate::runtime::args::SimulateArgs;
use crate::shim::observation::Body;
use crate::sim::play::Thing;

/// Most bytes of one file: an etcd value is smaller by far, and a file holds a workload, not a cluster.
const FILE_MAX: u64 = 64 << 20;

/// Most documents of one file, and keys and values in all of them.
const DOCUMENTS_MAX: usize = 200_000;
const NODES_MAX: usize = 20_000_000;

/// What cannot be played.
#[derive(Debug, thiserror::Error)]
pub(super) enum InputError {
    /// A file that cannot be had.
    #[error("cannot read {file}")]
    File { file: String, source: std::io::Error },
    /// A file that is no YAML.
    #[error("{file}: {problem}")]
    Text { file: String, problem: String },
    /// An object of it.
    #[error("{file}: {object}: {problem}")]
    Object { file: String, object: String, problem: String },
    /// A flag.
    #[error("{0}")]
    Flag(String),
}

/// Reads the files and flags of a command line.
pub(super) fn all(input: &mut Input, args: &SimulateArgs) -> Result<(), InputError> {
    for (number, text) in args.nodes.iter().enumerate() {
        input.take_nodes(nodes::of(text, number)?);
    }
    for path in &args.files {
        let text = text_of(path)?;
        add(input, &path.display().to_string(), &text, args.runs)?;
    }
    if !input.arrivals.iter().any(|arrival| matches!(arrival.what, Thing::Object(Body::Node(_)))) {
        return Err(InputError::Flag("there are no nodes: add --nodes, for example --nodes 20x32cpu,256Gi".to_owned()));
    }
    input.settle();
    Ok(())
}

/// `-` is standard input.
fn text_of(path: &Path) -> Result<String, InputError> {
    let file = || path.display().to_string();
    let wrong = |source| InputError::File { file: file(), source };
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(FILE_MAX + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|opened| opened.take(FILE_MAX + 1).read_to_string(&mut text))
    };
    if read.map_err(wrong)? as u64 > FILE_MAX {
        return Err(InputError::Text { file: file(), problem: format!("more than {} MiB", FILE_MAX >> 20) });
    }
    Ok(text)
}

/// Adds what one file says.
pub(super) fn add(input: &mut Input, file: &str, text: &str, runs: Duration) -> Result<(), InputError> {
    // The library's own limits are for settings: a workload has thousands of pods, each a document.
    let budget =
        serde_saphyr::budget! { max_documents: DOCUMENTS_MAX, max_nodes: NODES_MAX, max_events: 2 * NODES_MAX };
    let wrong = |problem: String| InputError::Text { file: file.to_owned(), problem };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, serde_saphyr::options! { budget: budget })
            .map_err(|error| wrong(in_words(&error)))?;
    for (number, mut object) in documents.into_iter().enumerate().filter(|(_, document)| !document.is_null()) {
        let place = format!("document {}", number + 1);
        if !object.is_object() {
            let what = if object.is_array() { "a list" } else { "a single value" };
            return Err(wrong(format!("{place}: {what}, not an object")));
        }
        whole_numbers(&mut object);
        object::add(input, Given { file, place, object, runs })?;
    }
    Ok(())
}

/// What is wrong with a text, for those who write it; that it is an error is said already.
fn in_words(error: &serde_saphyr::Error) -> String {
    let text = error.render_with_options(render_options! { formatter: &UserMessageFormatter });
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}
