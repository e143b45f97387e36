//! Shows that the fields which are left out of a pod when it is read decide nothing: a pod with any fields that the API
//! has is the same to the rest of the shim read whole, read from JSON (`shim/lean.rs`) and read from protobuf
//! (`fields.rs`).

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use super::MAGIC;
use super::fields::{Field, Kind, POD};
use super::json::to_json;
use crate::api::names;
use crate::core::base::ids::{Key, Uid};
use crate::core::event::{AskSpec, PlaceholderName};
use crate::shim::decode;
use crate::shim::dialect::Dialect;
use crate::shim::kinds::{self, Body};
use crate::shim::ledger::Ledger;
use crate::shim::observation::Seen;
use crate::shim::placeholder::{self, Blueprint, PlaceholderConfig};
use crate::shim::pod::{Served, ask_spec, key};

/// All that the rest of the shim makes of a pod.
#[derive(Debug, PartialEq)]
struct Meaning {
    uid: Uid,
    version: u64,
    spec: AskSpec,
    /// Its name in the ledger, with what its condition said; none of a pod that does not matter.
    kept: Option<String>,
}

fn meaning(seen: Seen) -> Meaning {
    let Ok(Body::Pod(pod)) = &seen.body else { panic!("{:?}", seen.body) };
    // The one system whose words are fields.
    let served = Served::default().speaking([Dialect::Kubernetes]);
    let spec = ask_spec(pod, &served, served.spoken(pod).as_ref());
    let (uid, version) = (seen.uid.clone(), seen.rv);
    let (key, mut ledger) = (seen.key.clone(), Ledger::new(served));
    ledger.see(kinds::Kind::Pod, seen);
    let kept = ledger.ask(&key).and_then(|ask| ledger.pod(ask)).map(|pod| format!("{pod:?}"));
    Meaning { uid, version, spec, kept }
}

fn read_whole(json: &Value) -> Meaning {
    let pod = serde_json::from_value::<Pod>(json.clone()).expect("it follows the schema");
    let metadata = &pod.metadata;
    let rv = metadata.resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0);
    let uid = Uid::new(metadata.uid.as_deref().unwrap_or_default());
    meaning(Seen { key: key(metadata), uid, rv, body: Ok(Body::Pod(Arc::new(pod))) })
}

fn read_from_json(json: &str) -> Meaning {
    meaning(decode::seen(kinds::Kind::Pod, json).expect("it has a name"))
}

fn read_from_protobuf(json: &Value) -> Meaning {
    let type_meta = [bytes(1, b"v1"), bytes(2, b"Pod")].concat();
    let body = [MAGIC.to_vec(), bytes(1, &type_meta), bytes(2, &encoded(POD, json))].concat();
    read_from_json(&String::from_utf8(to_json(&body).expect("it is a pod")).expect("UTF-8"))
}

proptest! {
    #[test]
    fn what_is_left_out_decides_nothing(dice in dice()) {
        let pod = pod(&mut Dice::new(&dice), &[]);
        let whole = read_whole(&pod);
        prop_assert_eq!(&read_from_json(&pod.to_string()), &whole, "{}", pod);
        prop_assert_eq!(&read_from_protobuf(&pod), &whole, "{}", pod);
    }
}

/// The same of each field that is left out, in pods that have it: by chance alone many would be too rare beside those
/// that make them matter.
#[test]
fn no_field_that_is_left_out_decides_anything() {
    let mut pods = Pods::default();
    let paths = unread(&SCHEMA, POD);
    assert!(paths.len() > 150, "only {}", paths.len());
    for path in paths {
        for _ in 0..25 {
            let pod = pods.next(&path);
            assert_eq!(read_from_protobuf(&pod), read_whole(&pod), "{path:?} decides something: {pod}");
        }
    }
}

/// Fields that are in the table although no decision depends on them: they make sure that an element of a list is
/// there, or they are read because another field of the same type needs them, or the answer to a DELETE does (`wire.rs`).
const DECIDE_NOTHING: &[&str] = &[
    "metadata.deletionGracePeriodSeconds",
    "metadata.finalizers",
    "metadata.generation",
    "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution.topologyKey",
    "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.topologyKey",
    "spec.containers.restartPolicy",
    "spec.resourceClaims.name",
    "spec.schedulingGates.name",
];

/// For every field that is read there is a pod among these that means something else without it. So the properties
/// above hold because the fields are read, and not because no pod has them in a way that matters.
#[test]
fn every_field_that_is_read_decides_something() {
    let mut pods = Pods::default();
    let mut decides = |path: &[&str]| (0..1_000).any(|_| means_less(&pods.next(path), path));
    let silent = paths(POD).into_iter().filter(|path| !decides(path)).map(|path| path.join("."));
    assert_eq!(silent.collect::<BTreeSet<_>>(), DECIDE_NOTHING.iter().map(|path| (*path).to_owned()).collect());
}

/// The same pods each time.
struct Pods(TestRunner);

impl Default for Pods {
    fn default() -> Self {
        Self(TestRunner::deterministic())
    }
}

impl Pods {
    /// One that has something at a path.
    fn next(&mut self, path: &[&str]) -> Value {
        let dice = dice().new_tree(&mut self.0).expect("nothing is filtered").current();
        pod(&mut Dice::new(&dice), path)
    }
}

/// Whether a pod means something else, or cannot be read, without what is at a path.
fn means_less(pod: &Value, path: &[&str]) -> bool {
    let mut without = pod.clone();
    remove(&mut without, path) && (without["metadata"]["name"].is_null() || read_whole(&without) != read_whole(pod))
}

/// The fields of a message that are not read, and those of the messages in it that are.
fn unread(schema: &'static Value, read: &'static [Field]) -> Vec<Vec<&'static str>> {
    let properties = item(schema)["properties"].as_object().into_iter().flatten();
    let below = |(field, schema): (&'static String, &'static Value)| {
        let Some(fields) = inside(read, field) else { return vec![vec![&**field]] };
        unread(schema, fields).into_iter().map(|path| [vec![&**field], path].concat()).collect()
    };
    properties.flat_map(below).collect()
}

/// The schema of what a list holds, or of what is no list.
fn item(schema: &Value) -> &Value {
    resolved(schema.get("items").unwrap_or(schema))
}

/// Every field of a table and of the tables in it, by its path.
fn paths(fields: &'static [Field]) -> Vec<Vec<&'static str>> {
    let below = |field: &'static Field| {
        let deeper = inner(&field.kind).map(paths).unwrap_or_default();
        let inline = matches!(field.kind, Kind::Inline(_));
        let own = (!inline).then(|| vec![field.name]);
        let deeper = deeper.into_iter().map(move |path| if inline { path } else { [vec![field.name], path].concat() });
        own.into_iter().chain(deeper).collect::<Vec<_>>()
    };
    fields.iter().flat_map(below).collect()
}

/// The fields of what a field holds.
fn inner(kind: &'static Kind) -> Option<&'static [Field]> {
    match kind {
        Kind::Object(fields) | Kind::Inline(fields) => Some(fields),
        Kind::List(kind) => inner(kind),
        Kind::Text | Kind::Number | Kind::Flag | Kind::Time | Kind::Quantity | Kind::Map(_) => None,
    }
}

/// Takes a field away wherever it is; whether it was anywhere.
fn remove(value: &mut Value, path: &[&str]) -> bool {
    match (value, path) {
        (Value::Object(fields), [last]) => fields.remove(*last).is_some(),
        (Value::Object(fields), [first, rest @ ..]) => fields.get_mut(*first).is_some_and(|value| remove(value, rest)),
        (Value::Array(items), path) => items.iter_mut().fold(false, |found, item| remove(item, path) | found),
        _ => false,
    }
}

/// A pod in protobuf: what a table knows of it, and fields of every type that it does not know.
fn encoded(fields: &'static [Field], json: &Value) -> Vec<u8> {
    let unknown = [bytes(9_000, b"unknown"), [tag(9_001, 0), vec![1]].concat(), [tag(9_002, 5), vec![0; 4]].concat()];
    let known = fields.iter().flat_map(|field| {
        // The fields of an inline message are the outer one's.
        let value = if let Kind::Inline(_) = field.kind { Some(json) } else { json.get(field.name) };
        value.map(|value| encoded_field(field.number, &field.kind, value)).unwrap_or_default()
    });
    known.chain(unknown.concat()).collect()
}

fn encoded_field(number: u32, kind: &'static Kind, value: &Value) -> Vec<u8> {
    match kind {
        Kind::Text => bytes(number, text(value).as_bytes()),
        Kind::Number => [tag(number, 0), varint(value.as_i64().expect("a number").cast_unsigned())].concat(),
        Kind::Flag => [tag(number, 0), vec![u8::from(value == true)]].concat(),
        Kind::Time => {
            let seconds = text(value).parse::<jiff::Timestamp>().expect("a time").as_second();
            bytes(number, &[tag(1, 0), varint(seconds.cast_unsigned())].concat())
        }
        Kind::Quantity => bytes(number, &bytes(1, text(value).as_bytes())),
        Kind::Object(fields) | Kind::Inline(fields) => bytes(number, &encoded(fields, value)),
        Kind::List(kind) => {
            value.as_array().into_iter().flatten().flat_map(|item| encoded_field(number, kind, item)).collect()
        }
        Kind::Map(kind) => {
            let pair = |(key, value)| [bytes(1, String::as_bytes(key)), encoded_field(2, kind, value)].concat();
            value.as_object().into_iter().flatten().flat_map(|entry| bytes(number, &pair(entry))).collect()
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

pub(super) fn tag(number: u32, wire_type: u64) -> Vec<u8> {
    varint(u64::from(number) << 3 | wire_type)
}

pub(super) fn bytes(number: u32, value: &[u8]) -> Vec<u8> {
    [tag(number, 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// Random bytes of which a pod is made; when they are used up, nothing more is added to it.
fn dice() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..2_000)
}

struct Dice<'a> {
    left: std::slice::Iter<'a, u8>,
    /// Of the fields that are read and may be absent, one in so many is there.
    rarity: usize,
}

impl<'a> Dice<'a> {
    fn new(dice: &'a [u8]) -> Self {
        let mut dice = Self { left: dice.iter(), rarity: 0 };
        dice.rarity = *dice.of(&[2, 3, 4, 8]);
        dice
    }

    fn below(&mut self, count: usize) -> usize {
        usize::from(*self.left.next().unwrap_or(&0)) % count
    }

    fn of<'b, T>(&mut self, all: &'b [T]) -> &'b T {
        &all[self.below(all.len())]
    }

    /// Whether something that need not be there is: what is read more often than what is not.
    fn adds(&mut self, is_read: bool) -> bool {
        self.below(if is_read { self.rarity } else { 4 * self.rarity }) == 1
    }
}

/// Every field that a pod can have in the API.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| json!(schemars::schema_for!(Pod)));

/// A pod with any of them, as an API server writes it: nothing is null, and no text that may be absent is empty. Some
/// are placeholders, or were. It has something at a path that is `wanted`.
fn pod(dice: &mut Dice<'_>, wanted: &[&str]) -> Value {
    let mut pod = object(dice, &Spot { schema: &SCHEMA, name: "", read: POD, wanted: Some(wanted) });
    pod.as_object_mut().into_iter().for_each(|pod| pod.retain(|field, _| field != "apiVersion" && field != "kind"));
    let mut metadata = pod["metadata"].as_object().cloned().unwrap_or_default();
    metadata.insert("name".to_owned(), json!(dice.of(&["a", "b"])));
    if dice.below(2) == 1 {
        become_placeholder(&mut metadata, dice);
    }
    pod["metadata"] = Value::Object(metadata);
    pod
}

fn become_placeholder(metadata: &mut Map<String, Value>, dice: &mut Dice<'_>) {
    let group = Key::new("data", "group");
    let name = PlaceholderName { group, uid: Uid::new("u"), incarnation: 1, seat: 0, attempt: 0 };
    let scheduler_name = names::SCHEDULER.into();
    let config = PlaceholderConfig { scheduler_name, image: "i".into(), queue: "root.q".into(), submitter: None };
    let made = json!(placeholder::pod(&name, &Blueprint::default(), &config).metadata);
    for field in ["name", "namespace", "labels"] {
        metadata.insert(field.to_owned(), made[field].clone());
    }
    match dice.below(3) {
        0 => drop(metadata.insert("ownerReferences".to_owned(), made["ownerReferences"].clone())),
        1 => drop(metadata.remove("ownerReferences")),
        // Whatever owners it was given.
        _ => {}
    }
}

/// Where in a pod something is made.
#[derive(Clone, Copy)]
struct Spot<'a> {
    schema: &'a Value,
    /// The field it is in.
    name: &'a str,
    /// The fields that are read of it, if it is a message.
    read: &'static [Field],
    /// The path below it that must be there; `None` if it need not be there itself.
    wanted: Option<&'a [&'a str]>,
}

impl<'a> Spot<'a> {
    /// What is in a field.
    fn field(&self, schema: &'a Value, name: &'a str) -> Self {
        let wanted =
            self.wanted.and_then(<[_]>::split_first).filter(|(first, _)| **first == name).map(|(_, rest)| rest);
        Spot { schema, name, read: inside(self.read, name).unwrap_or_default(), wanted }
    }

    /// How many there are of what may be there several times.
    fn count(&self, dice: &mut Dice<'_>) -> usize {
        (*dice.of(&[1, 1, 2, 0])).max(usize::from(self.wanted.is_some()))
    }
}

/// A value that follows a schema.
fn value(dice: &mut Dice<'_>, spot: &Spot<'_>, may_be_empty: bool) -> Value {
    if is_amount(spot.schema) {
        return json!(dice.of(&AMOUNTS));
    }
    let spot = &Spot { schema: resolved(spot.schema), ..*spot };
    match spot.schema["type"].as_str() {
        Some("object") if spot.schema.get("properties").is_some() => object(dice, spot),
        Some("object") => map(dice, spot),
        Some("array") => {
            let item = Spot { schema: &spot.schema["items"], ..*spot };
            (0..spot.count(dice)).map(|_| value(dice, &item, true)).collect()
        }
        Some("boolean") => json!(dice.below(2) == 1),
        Some("integer") => json!(dice.of(&[0, 1, -1, 80, 8_080])),
        Some("string") if spot.schema["format"] == "date-time" => json!(dice.of(&TIMES)),
        Some("string") => {
            let words = words(spot.name);
            let word = *dice.of(words);
            json!(if word.is_empty() && !may_be_empty { words[0] } else { word })
        }
        // A number or text, or anything.
        _ => json!(dice.below(9)),
    }
}

const TIMES: [&str; 3] = ["2026-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "9999-01-01T00:00:00Z"];

/// Amounts of resources are the one type of text that the schema does not call so.
fn is_amount(schema: &Value) -> bool {
    schema["$ref"].as_str().is_some_and(|path| path.ends_with(".Quantity"))
}

fn resolved(schema: &Value) -> &Value {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    name.map_or(schema, |name| &SCHEMA["$defs"][name])
}

fn object(dice: &mut Dice<'_>, spot: &Spot<'_>) -> Value {
    let properties = spot.schema["properties"].as_object().expect("it has some");
    if properties.contains_key("persistentVolumeClaim") {
        return volume(dice, spot, properties);
    }
    let required = spot.schema["required"].as_array();
    let required = |field: &str| required.is_some_and(|all| all.iter().any(|one| one == field));
    let mut all = Map::new();
    for (field, schema) in properties {
        let (inner, required) = (spot.field(schema, field), required(field));
        let must_be = required || inner.wanted.is_some() || ALWAYS.contains(&&**field);
        if must_be || dice.adds(inside(spot.read, field).is_some()) {
            all.insert(field.clone(), value(dice, &inner, required));
        }
    }
    Value::Object(all)
}

/// What every pod has, if only an empty one.
const ALWAYS: [&str; 5] = ["metadata", "schedulerName", "spec", "status", "volumes"];

/// The fields that are read of what is in a field; `None`: the field itself is not read.
fn inside(read: &'static [Field], field: &str) -> Option<&'static [Field]> {
    read.iter().find_map(|known| {
        if let Kind::Inline(fields) = &known.kind {
            return inside(fields, field);
        }
        (known.name == field).then(|| inner(&known.kind).unwrap_or_default())
    })
}

/// A volume has one source, half the time one that is read.
fn volume(dice: &mut Dice<'_>, spot: &Spot<'_>, properties: &Map<String, Value>) -> Value {
    let sources = properties.keys().filter(|field| *field != "name");
    let (known, other): (Vec<_>, Vec<_>) = sources.partition(|field| inside(spot.read, field).is_some());
    let sources = if dice.below(2) == 1 { known } else { other };
    let drawn = dice.of(&sources).as_str();
    let source = spot.wanted.and_then(<[_]>::first).filter(|field| **field != "name").map_or(drawn, |field| *field);
    let body = value(dice, &spot.field(&properties[source], source), false);
    json!({"name": dice.of(words("name")), (source): body})
}

/// Maps are of amounts of resources, or of labels and the like.
fn map(dice: &mut Dice<'_>, spot: &Spot<'_>) -> Value {
    let schema = &spot.schema["additionalProperties"];
    let keys = if is_amount(schema) { RESOURCES } else { KEYS };
    let inner = Spot { schema, name: "value of a map", ..*spot };
    let count = 2 * spot.count(dice);
    Value::Object((0..count).map(|_| ((*dice.of(keys)).to_owned(), value(dice, &inner, true))).collect())
}

const KEYS: &[&str] = &[
    "zone",
    names::BINDING,
    names::TASK_GROUP,
    names::APPLICATION,
    names::QUEUE,
    names::PLACEHOLDER,
    "scheduling.x-k8s.io/pod-group",
    "yunikorn.apache.org/task-groups",
    "gangline.dev/unknown",
];
const RESOURCES: &[&str] = &["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu", "pods"];
const AMOUNTS: [&str; 5] = ["1", "500m", "2Gi", "7e3", "many"];
const MARK: &str = "queue=root.a task-group=g incarnation=6f1b.2 seat=3 started=true";

/// Words that mean something in a field, the first of them no empty one.
fn words(field: &str) -> &'static [&'static str] {
    match field {
        "apiVersion" => &["gangline.dev/v1alpha1", "v1"],
        "effect" => &["NoSchedule", "NoExecute", "PreferNoSchedule", "other", ""],
        "hostIP" => &["127.0.0.1", "0.0.0.0", ""],
        "key" => &["metadata.name", "zone", "metadata.name", ""],
        "kind" => &["TaskGroup", "PodGroup", "other", ""],
        "name" => &["a", "b", "group", ""],
        "nodeName" => &["a", "b"],
        "operator" => &["In", "NotIn", "Exists", "Equal", "Gt", "other", ""],
        "phase" => &["Pending", "Running", "Succeeded", "Failed"],
        "protocol" => &["TCP", "UDP", ""],
        "reason" => &["Infeasible", "Unschedulable", ""],
        "resourceVersion" => &["7", "8"],
        "restartPolicy" => &["Always", "Never"],
        "schedulerName" => &[names::SCHEDULER, "default-scheduler"],
        "status" => &["False", "True", ""],
        "type" => &["PodScheduled", "PodResizePending", ""],
        "uid" => &["u", "v", ""],
        "value of a map" => &["a", "", "root.a", "true", MARK],
        "whenUnsatisfiable" => &["DoNotSchedule", "ScheduleAnyway", ""],
        _ => &["a", "b", ""],
    }
}
