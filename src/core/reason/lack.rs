//! What is said of nodes that are too few, and of placeholders that were lost on them.

use std::fmt;

use crate::core::base::ids::Text;

/// Of whom a gang's plan finds too few nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Short {
    /// The task groups whose members they are; none: pods outside task groups, which start with the gang.
    pub who: Vec<Text>,
    /// How many find a node.
    pub fit: u32,
    /// How many need one.
    pub need: u32,
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { who, fit, need } = self;
        let of = match &who[..] {
            [] => "outside its task groups".to_owned(),
            [names @ .., last] if !names.is_empty() => format!("of {} and {last}", names.join(", ")),
            names => format!("of {}", names.concat()),
        };
        let what = if who.is_empty() { ("pod", "pods") } else { ("member", "members") };
        match (fit, need) {
            (0, 1) => write!(f, "the one {} {of} finds no node", what.0),
            (0, need) => write!(f, "none of the {need} {} {of} finds a node", what.1),
            (1, need) => write!(f, "1 of {need} {} {of} finds a node", what.1),
            (fit, need) => write!(f, "{fit} of {need} {} {of} find a node", what.1),
        }
    }
}

/// What a sentence says without its numbers, and without the node that comes nearest: if that differs, it is about
/// something else.
pub fn without_numbers(sentence: &str) -> impl Iterator<Item = char> {
    let (before, nearest) = sentence.split_once(NEAREST).unwrap_or((sentence, ""));
    let after = nearest.split_once(" short").map_or("", |(_, after)| after);
    before.chars().chain(after.chars()).filter(|character| !character.is_ascii_digit())
}

/// Begins the part of a sentence that names the node which comes nearest; it ends with what the node is short of.
pub const NEAREST: &str = "; nearest is ";

/// How a placeholder was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its node refused or evicted it.
    Refused {
        /// The node; empty if it is not known.
        node: Text,
        /// The kubelet's word for it (`OutOfcpu`, `Evicted`); may be empty.
        reason: Text,
    },
    /// Somebody else deleted it.
    Deleted,
    /// Somebody else deleted or changed it while it was being bound.
    Changed,
    /// It ended by itself, without a failure.
    Ended,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { node, reason } => {
                let why = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
                match &**node {
                    "" => write!(f, "a seat's placeholder failed{why}"),
                    node => write!(f, "a seat's placeholder was refused or put off by node {node}{why}"),
                }
            }
            Self::Deleted => f.write_str("a seat's placeholder was deleted by somebody else"),
            Self::Changed => {
                f.write_str("a seat's placeholder was deleted or changed by somebody else while it was being bound")
            }
            Self::Ended => f.write_str("a seat's placeholder ended by itself"),
        }
    }
}
