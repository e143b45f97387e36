//! YAML as values that know where they stand, so that what is wrong is said with line and column.

use std::fmt;
use std::io::{self, Cursor, Read};
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{DuplicateKeyPolicy, Location, MessageFormatter, Options, Spanned, UserMessageFormatter};

/// Most bytes of one file: an etcd value is smaller by far, and a file holds a workload, not a cluster.
const FILE_MAX: u64 = 64 << 20;
/// Most documents of one file.
const DOCUMENTS_MAX: usize = 200_000;
/// Most keys and values in all of them.
const NODES_MAX: usize = 20_000_000;

/// Line and column, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A file that is none, or whose text is no YAML.
#[derive(Debug, thiserror::Error)]
pub(super) enum SourceError {
    /// It cannot be had.
    #[error("cannot read {file}")]
    Unreadable { file: String, source: io::Error },
    /// It says nothing that can be understood there.
    #[error("{file}: {}{problem}", before(.at))]
    Text { file: String, at: Option<Place>, problem: String },
}

fn before(at: &Option<Place>) -> String {
    at.map(|at| format!("{at}: ")).unwrap_or_default()
}

/// The text of a file; `-` is standard input.
pub(super) fn text_of(path: &Path) -> Result<String, SourceError> {
    let file = path.display().to_string();
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(FILE_MAX + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|opened| opened.take(FILE_MAX + 1).read_to_end(&mut bytes))
    };
    match read {
        Err(source) => Err(SourceError::Unreadable { file, source }),
        Ok(length) if length as u64 > FILE_MAX => {
            Err(SourceError::Text { file, at: None, problem: format!("more than {} MiB", FILE_MAX >> 20) })
        }
        Ok(_) => decoded(file, bytes),
    }
}

/// Bytes as text.
pub(super) fn decoded(file: String, bytes: Vec<u8>) -> Result<String, SourceError> {
    String::from_utf8(bytes).map_err(|error| {
        let right = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = right.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let start = right.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let column = String::from_utf8_lossy(&right[start..]).chars().count() as u64 + 1;
        SourceError::Text { file, at: Some(Place { line, column }), problem: "no UTF-8".to_owned() }
    })
}

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) at: Place,
    pub(super) is: Is,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Is {
    Nothing,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A field of a map, and where its name stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: Place,
    pub(super) value: Node,
}

/// The documents of a text that are not empty, and everything that is wrong with it as YAML, as Kubernetes reads it. After a
/// mistake of syntax nobody knows what follows.
pub(super) fn documents(file: &str, text: &str) -> (Vec<Node>, Vec<SourceError>) {
    read(file, text, options())
}

/// The same, where `yes`, `no`, `on` and `off` are words: a queue may be called so.
pub(super) fn documents_in_words(file: &str, text: &str) -> (Vec<Node>, Vec<SourceError>) {
    let mut options = options();
    options.strict_booleans = true;
    read(file, text, options)
}

fn options() -> Options {
    // The library's own limits are for settings: a workload has thousands of pods, each a document.
    let budget =
        serde_saphyr::budget! { max_documents: DOCUMENTS_MAX, max_nodes: NODES_MAX, max_events: 2 * NODES_MAX };
    serde_saphyr::options! { budget: budget, duplicate_keys: DuplicateKeyPolicy::PassThrough }
}

fn read(file: &str, text: &str, options: Options) -> (Vec<Node>, Vec<SourceError>) {
    let wrong = |at, problem| SourceError::Text { file: file.to_owned(), at, problem };
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for document in serde_saphyr::read_with_options::<_, Node>(&mut Cursor::new(text.as_bytes()), options) {
        match document {
            Ok(node) => {
                node.twice(&mut |entry| {
                    errors.push(wrong(Some(entry.at), format!("duplicate mapping key: {}", entry.key)));
                });
                found.push(node);
            }
            Err(error) => {
                let at = error.location().filter(|at| *at != Location::UNKNOWN).map(Place::from);
                errors.push(wrong(at, UserMessageFormatter.format_message(error.without_snippet()).into_owned()));
            }
        }
    }
    (found, errors)
}

impl Node {
    /// As JSON. Of a key that is there twice the last counts.
    pub(super) fn value(&self) -> Value {
        match &self.is {
            Is::Nothing => Value::Null,
            Is::Bool(value) => Value::Bool(*value),
            Is::Number(number) => Value::Number(number.clone()),
            Is::Text(text) => Value::String(text.clone()),
            Is::List(items) => items.iter().map(Self::value).collect(),
            Is::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.value())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// The fields, if it is a map.
    pub(super) fn entries(&self) -> &[Entry] {
        if let Is::Map(entries) = &self.is { entries } else { &[] }
    }

    /// The items, if it is a list.
    pub(super) fn items(&self) -> &[Self] {
        if let Is::List(items) = &self.is { items } else { &[] }
    }

    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        if let Is::Text(text) = &self.is { Some(text) } else { None }
    }

    /// A field of a map.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().rfind(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Every field that is there already.
    fn twice(&self, said: &mut impl FnMut(&Entry)) {
        let mut seen = std::collections::BTreeSet::new();
        for entry in self.entries() {
            if !seen.insert(&*entry.key) {
                said(entry);
            }
            entry.value.twice(said);
        }
        self.items().iter().for_each(|item| item.twice(said));
    }

    /// Where a field stands, or what of the way to it there is: `spec.max[cpu]`, `spec.containers[main].name`, `items[0]`.
    pub(super) fn place_of(&self, field: &str) -> Place {
        let (mut node, mut rest, mut at) = (self, field, self.at);
        while let Some((place, below, left)) = node.step(rest) {
            (at, node, rest) = (place, below, left);
        }
        at
    }

    /// One step of the way: where it leads, and what is left of the way.
    fn step<'a, 'b>(&'a self, way: &'b str) -> Option<(Place, &'a Self, &'b str)> {
        match &self.is {
            Is::Map(entries) => {
                let way = way.trim_start_matches(['.', '[']);
                let is_next = |entry: &&Entry| {
                    let left = way.strip_prefix(&*entry.key).filter(|_| !entry.key.is_empty());
                    left.is_some_and(|left| left.is_empty() || left.starts_with(['.', '[', ']']))
                };
                // Keys may have dots.
                let entry = entries.iter().filter(is_next).max_by_key(|entry| entry.key.len())?;
                let left = &way[entry.key.len()..];
                let at = if entry.value.is_single() { entry.value.at } else { entry.at };
                Some((at, &entry.value, left.strip_prefix(']').unwrap_or(left)))
            }
            Is::List(items) => {
                let (name, left) = way.strip_prefix('[')?.split_once(']')?;
                let named = |item: &&Self| item.get("name").and_then(Self::text) == Some(name);
                let by_number = name.parse::<usize>().ok().and_then(|number| items.get(number));
                let item = by_number.or_else(|| items.iter().find(named))?;
                Some((item.at, item, left))
            }
            Is::Nothing | Is::Bool(_) | Is::Number(_) | Is::Text(_) => None,
        }
    }

    const fn is_single(&self) -> bool {
        match &self.is {
            Is::Bool(_) | Is::Number(_) | Is::Text(_) => true,
            Is::Nothing | Is::List(_) | Is::Map(_) => false,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<Is>::deserialize(from)?;
        Ok(Self { at: referenced.into(), is: value })
    }
}

impl<'de> Deserialize<'de> for Is {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Anything)
    }
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Is;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Is, E> {
        Ok(Is::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Is, E> {
        Ok(Is::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Is, E> {
        Ok(Is::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Is, E> {
        Ok(Is::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Is, E> {
        Number::from_f64(value).map(Is::Number).ok_or_else(|| E::custom("no finite number"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Is, E> {
        Ok(Is::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Is, E> {
        Ok(Is::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Is, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Is::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Is, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            entries.push(Entry { key: key.value, at: key.referenced.into(), value: map.next_value()? });
        }
        Ok(Is::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Node {
        let (mut found, errors) = documents("f.yaml", text);
        assert!(errors.is_empty() && found.len() == 1, "{errors:?}");
        found.remove(0)
    }

    fn errors(text: &str) -> Vec<String> {
        documents("f.yaml", text).1.iter().map(ToString::to_string).collect()
    }

    const TEXT: &str = "\
kind: Pod
spec:
  max: {cpu: 1, a.b/gpu: '2'}
  containers:
  - name: main
    image: x
  - name: 1
metadata:
  annotations:
    a.b/c: d
";

    #[test]
    fn a_field_is_where_it_is_written_and_one_that_is_not_there_where_it_would_be() {
        let node = one(TEXT);
        for (field, line, column) in [
            ("kind", 1, 7),
            ("spec.max[cpu]", 3, 14),
            ("spec.max.a.b/gpu", 3, 26),
            ("spec.containers[main].image", 6, 12),
            ("spec.containers[1].name", 7, 11),
            ("spec.containers[1].image", 7, 5),
            ("spec.containers", 4, 3),
            ("spec.minMember", 2, 1),
            ("metadata.annotations[a.b/c]", 10, 12),
            ("metadata.annotations[a.b/c][0].name", 10, 12),
            ("", 1, 1),
            ("nothing", 1, 1),
        ] {
            assert_eq!(node.place_of(field), Place { line, column }, "{field}");
        }
    }

    #[test]
    fn the_value_is_the_same_that_the_library_reads() {
        let plain: Value = serde_saphyr::from_str(TEXT).expect("it reads");
        assert_eq!(one(TEXT).value(), plain);
        let odd = "a: &x [1, -2, 2.5, y, 0x10, '1', null, ~, 2026-01-01]\nb: *x\nc: {<<: {d: 1}}\n\"e\": |\n  text\n";
        assert_eq!(one(odd).value(), serde_saphyr::from_str::<Value>(odd).expect("it reads"));
    }

    #[test]
    fn what_is_no_yaml_is_said_where_it_stands_and_what_came_before_is_kept() {
        assert_eq!(
            errors("a: 1\nb: {c: 1,\n  c: 2}\na: 3\n"),
            [
                "f.yaml: line 3, column 3: duplicate mapping key: c",
                "f.yaml: line 4, column 1: duplicate mapping key: a",
            ]
        );
        let (found, errors) = documents("f.yaml", "a: 1\n---\nb: [\n");
        assert_eq!((found.len(), errors.len()), (1, 1), "{errors:?}");
        assert!(errors[0].to_string().starts_with("f.yaml: line "), "{errors:?}");
    }

    /// Each is an answer, and soon.
    #[test]
    fn hostile_text_is_an_error_or_nothing() {
        let bomb = (1..40).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, level| {
            let alias = vec![format!("*a{}", level - 1); 9].join(", ");
            text + &format!("a{level}: &a{level} [{alias}]\n")
        });
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        let steps = (0..5_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<String>();
        for text in [&*bomb, &deep, &steps, "a: *b", "a: &a [*a]", "? {a: b}\n: c", "a: !!int x", "}", "a: b: c"] {
            assert_eq!(errors(text).len(), 1, "{}", &text[..text.len().min(40)]);
        }
        for text in ["", "---\n---\n", "# nothing\n", "~", "\u{feff}"] {
            assert_eq!(documents("f.yaml", text).0, [], "{text:?}");
        }
        let long = format!("a: {}", "x".repeat(1 << 20));
        assert_eq!(one(&long).get("a").and_then(Node::text).map(str::len), Some(1 << 20));
    }

    #[test]
    fn bytes_that_are_no_text_are_named_where_they_stand() {
        let error = decoded("f.yaml".to_owned(), b"a: b\n\xc3\xa4: \xff".to_vec()).expect_err("no text");
        assert_eq!(error.to_string(), "f.yaml: line 2, column 4: no UTF-8");
        let missing = text_of(Path::new("/there/is/no/such/file")).expect_err("no file");
        assert!(matches!(missing, SourceError::Unreadable { .. }));
    }
}
