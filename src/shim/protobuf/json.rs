//! Protobuf to JSON, guided by the tables of `fields`.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::MAGIC;
use super::fields::{CONTINUE, Field, ITEMS, Kind, METADATA, POD, POD_LIST, STATUS};
use super::message::{Message, NoMessage, Raw, bytes_of, number_of};

/// The bytes are not the object that they claim to be: the connection, or its other end, is broken.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// No object.
    #[error("protobuf that does not begin as an object does")]
    NoObject,
    /// An object of a kind that nobody asked for.
    #[error("protobuf of an unexpected kind")]
    Kind,
    /// The message around the object.
    #[error(transparent)]
    Around(#[from] NoMessage),
    /// The object.
    #[error("protobuf that is no such object")]
    Object(#[from] serde_json::Error),
}

/// A pod, a list of pods or a `Status` in JSON, with the fields that are read here.
///
/// # Errors
/// Anything else.
pub fn to_json(body: &[u8]) -> Result<Vec<u8>, Unreadable> {
    // What is read of a pod is about as long in JSON as the whole pod is here.
    let mut json = Vec::with_capacity(body.len());
    Object::read(body)?.put(&mut json)?;
    Ok(json)
}

/// The token with which the page after this one of a list of pods is asked for. `None`: this is the last one, or no list
/// of pods.
pub fn continue_token(body: &[u8]) -> Option<&str> {
    let list = Object::read(body).ok().filter(|object| object.is_list)?;
    let token = bytes_of(bytes_of(list.message, METADATA).ok()?, CONTINUE).ok()?;
    str::from_utf8(token).ok().filter(|token| !token.is_empty())
}

/// `WatchEvent`: one event of a watch in JSON, about an object as [`to_json`] takes it.
///
/// # Errors As for [`to_json`], except that a pod inside which cannot be read is no error: it is quarantined.
pub fn event_to_json(frame: &[u8]) -> Result<Vec<u8>, Unreadable> {
    let object = Object::read(bytes_of(bytes_of(frame, 2)?, 1)?)?;
    let mut json = Vec::with_capacity(frame.len());
    json.extend_from_slice(br#"{"type":"#);
    serde_json::to_writer(&mut json, &lossy(bytes_of(frame, 1)?))?;
    json.extend_from_slice(br#","object":"#);
    object.put_alone(&mut json)?;
    json.push(b'}');
    Ok(json)
}

/// An object, with its type where that was said.
struct Object<'a> {
    type_meta: Option<TypeMeta<'a>>,
    fields: &'static [Field],
    /// Whether it is a list, which is its fields and the pods in it.
    is_list: bool,
    message: &'a [u8],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta<'a> {
    api_version: Cow<'a, str>,
    kind: Cow<'a, str>,
}

impl<'a> Object<'a> {
    /// Reads `runtime.Unknown` and the `TypeMeta` in it.
    fn read(body: &'a [u8]) -> Result<Self, Unreadable> {
        let unknown = body.strip_prefix(MAGIC).ok_or(Unreadable::NoObject)?;
        let type_meta = bytes_of(unknown, 1)?;
        let type_meta = TypeMeta { api_version: lossy(bytes_of(type_meta, 1)?), kind: lossy(bytes_of(type_meta, 2)?) };
        let is_list = type_meta.kind == "PodList";
        let fields = match &*type_meta.kind {
            "Pod" => POD,
            "PodList" => POD_LIST,
            "Status" => STATUS,
            _ => return Err(Unreadable::Kind),
        };
        Ok(Self { type_meta: Some(type_meta), fields, is_list, message: bytes_of(unknown, 2)? })
    }

    /// A pod of a list.
    const fn listed(message: &'a [u8]) -> Self {
        Self { type_meta: None, fields: POD, is_list: false, message }
    }

    /// Writes it.
    fn put(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(&mut *json, self)?;
        if self.is_list {
            // What has been written ends with a brace, before which there is its type at least.
            json.pop();
            json.extend_from_slice(br#","items":["#);
            self.put_items(json)?;
            json.extend_from_slice(b"]}");
        }
        Ok(())
    }

    fn put_items(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        let list = Message::read(self.message).map_err(serde_json::Error::custom)?;
        for (at, raw) in list.all(ITEMS).enumerate() {
            if at > 0 {
                json.push(b',');
            }
            let message = if let Raw::Bytes(bytes) = raw { bytes } else { &[] };
            Self::listed(message).put_alone(json)?;
        }
        Ok(())
    }

    /// Writes it as one among others, which must not suffer if this one cannot be read. Then it gets its name and a spec
    /// that is no spec, so that it is quarantined like an object in JSON (`shim/decode.rs`).
    fn put_alone(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        let begin = json.len();
        let Err(problem) = self.put(json) else { return Ok(()) };
        json.truncate(begin);
        let object = Message::read_what_can_be(self.message);
        let metadata = Message::read_what_can_be(object.bytes(1));
        let text = |number| lossy(metadata.bytes(number));
        let named = json!({
            "metadata": {"name": text(1), "namespace": text(3), "uid": text(5), "resourceVersion": text(6)},
            "spec": problem.to_string(),
        });
        serde_json::to_writer(json, &named)
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(TypeMeta { api_version, kind }) = &self.type_meta {
            map.serialize_entry("apiVersion", api_version)?;
            map.serialize_entry("kind", kind)?;
        }
        put_fields(self.fields, self.message, &mut map)?;
        map.end()
    }
}

/// Go's strings may be no UTF-8 (annotations can be anything); its JSON has U+FFFD there.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn put_fields<M: SerializeMap>(fields: &'static [Field], bytes: &[u8], map: &mut M) -> Result<(), M::Error> {
    let message = Message::read(bytes).map_err(M::Error::custom)?;
    fields.iter().try_for_each(|field| put(field, &message, map))
}

fn put<M: SerializeMap>(field: &'static Field, message: &Message<'_>, map: &mut M) -> Result<(), M::Error> {
    let Some(raw) = message.one(field.number) else { return Ok(()) };
    match (&field.kind, raw) {
        (Kind::Text, Raw::Bytes([])) => Ok(()),
        (Kind::Inline(fields), Raw::Bytes(bytes)) => put_fields(fields, bytes, map),
        (Kind::List(kind), _) => map.serialize_entry(field.name, &Several(message, field.number, kind)),
        (Kind::Map(kind), _) => map.serialize_entry(field.name, &Pairs(message, field.number, kind)),
        (kind, raw) => map.serialize_entry(field.name, &Value(kind, raw)),
    }
}

struct Several<'a>(&'a Message<'a>, u32, &'static Kind);

impl Serialize for Several<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(message, number, kind) = self;
        serializer.collect_seq(message.all(*number).map(|raw| Value(kind, raw)))
    }
}

struct Pairs<'a>(&'a Message<'a>, u32, &'static Kind);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(message, number, kind) = self;
        let mut map = serializer.serialize_map(None)?;
        for raw in message.all(*number) {
            let Raw::Bytes(pair) = raw else { return Err(S::Error::custom("a map of numbers")) };
            let key = bytes_of(pair, 1).map_err(S::Error::custom)?;
            let value = bytes_of(pair, 2).map_err(S::Error::custom)?;
            map.serialize_entry(&lossy(key), &Value(kind, Raw::Bytes(value)))?;
        }
        map.end()
    }
}

/// One value.
struct Value<'a>(&'static Kind, Raw<'a>);

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0, self.1) {
            (Kind::Text, Raw::Bytes(bytes)) => serializer.serialize_str(&lossy(bytes)),
            (Kind::Quantity, Raw::Bytes(bytes)) => {
                serializer.serialize_str(&lossy(bytes_of(bytes, 1).map_err(S::Error::custom)?))
            }
            (Kind::Time, Raw::Bytes(bytes)) => time(bytes).map_err(S::Error::custom)?.serialize(serializer),
            (Kind::Object(fields), Raw::Bytes(bytes)) => {
                let mut map = serializer.serialize_map(None)?;
                put_fields(fields, bytes, &mut map)?;
                map.end()
            }
            (Kind::Number, Raw::Number(number)) => serializer.serialize_i64(number.cast_signed()),
            (Kind::Flag, Raw::Number(number)) => serializer.serialize_bool(number != 0),
            _ => Err(S::Error::custom("a field of another type")),
        }
    }
}

/// The nearest time that can be represented.
fn time(bytes: &[u8]) -> Result<Timestamp, NoMessage> {
    let seconds = number_of(bytes, 1)?.cast_signed();
    let (min, max) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Ok(Timestamp::from_second(seconds.clamp(min, max)).unwrap_or(Timestamp::MAX))
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use proptest::prelude::*;

    use super::super::fields;
    use super::super::left_out::{bytes, tag};
    use super::*;
    use crate::core::base::ids::{Key, Uid};
    use crate::shim::decode;
    use crate::shim::op::Kind;

    fn object(kind: &[u8], message: &[u8]) -> Vec<u8> {
        let type_meta = [bytes(1, b"v1"), bytes(2, kind)].concat();
        [MAGIC.to_vec(), bytes(1, &type_meta), bytes(2, message)].concat()
    }

    fn pod() -> Vec<u8> {
        let label = [bytes(1, b"a"), bytes(2, b"\"b\"")].concat();
        let annotation = [bytes(1, b"c"), bytes(2, b"d\xffe")].concat();
        let created = b"\x08\x3c".to_vec();
        let metadata = [bytes(1, b"p"), bytes(3, b""), bytes(8, &created), bytes(11, &label), bytes(12, &annotation)];
        let quantity = [bytes(1, b"cpu"), bytes(2, &bytes(1, b"2"))].concat();
        let claim = bytes(2, &bytes(10, &bytes(1, b"unread")));
        let spec = [
            bytes(1, &[bytes(1, b"v"), claim].concat()),
            bytes(2, &bytes(1, b"main")),
            bytes(2, &bytes(1, b"other")),
            b"\x58\x01".to_vec(),
            b"\xc8\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01".to_vec(),
            bytes(32, &quantity),
        ];
        [bytes(1, &metadata.concat()), bytes(2, &spec.concat())].concat()
    }

    const POD_IN_JSON: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","creationTimestamp":"1970-01-01T00:01:00Z","labels":{"a":"\"b\""},"annotations":{"c":"d�e"}},"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{}}],"containers":[{"name":"main"},{"name":"other"}],"hostNetwork":true,"priority":-1,"overhead":{"cpu":"2"}}}"#;

    fn text(json: Result<Vec<u8>, Unreadable>) -> String {
        match json {
            Ok(json) => String::from_utf8(json).expect("UTF-8"),
            Err(error) => error.source().map_or(error.to_string(), |cause| format!("{error}: {cause}")),
        }
    }

    /// Written down from the field numbers of Kubernetes; that the API server has the same is shown end to end.
    #[test]
    fn a_pod_becomes_json_with_what_is_read() {
        assert_eq!(text(to_json(&object(b"Pod", &pod()))), POD_IN_JSON);
    }

    #[test]
    fn a_list_has_items_even_if_there_are_none() {
        let none = r#"{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"7"},"items":[]}"#;
        assert_eq!(text(to_json(&object(b"PodList", &bytes(1, &bytes(2, b"7"))))), none);
        let two = [bytes(2, &bytes(1, &bytes(1, b"p"))), bytes(2, b"")].concat();
        let json = r#"{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"p"}},{}]}"#;
        assert_eq!(text(to_json(&object(b"PodList", &two))), json);
    }

    #[test]
    fn a_page_says_how_the_next_one_is_asked_for() {
        let page = |metadata: &[u8]| object(b"PodList", &[bytes(1, metadata), bytes(2, &pod())].concat());
        assert_eq!(continue_token(&page(&[bytes(2, b"7"), bytes(3, b"abc")].concat())), Some("abc"));
        let (last, empty, no_text) = (page(&bytes(2, b"7")), page(&bytes(3, b"")), page(&bytes(3, b"\xff")));
        let no_list = object(b"Pod", &bytes(1, &bytes(3, b"abc")));
        let cut = object(b"PodList", b"\x0a\x05\x1a\x03ab");
        for body in [last, empty, no_text, no_list, cut, b"{}".to_vec()] {
            assert_eq!(continue_token(&body), None, "{body:?}");
        }
    }

    #[test]
    fn one_bad_pod_is_set_aside_by_its_name_and_the_others_go_on() {
        let metadata = [bytes(1, b"bad"), bytes(3, b"data"), bytes(5, b"u"), bytes(6, b"7")].concat();
        let (good, bad) = (bytes(1, &bytes(1, b"good")), [bytes(1, &metadata), bytes(2, b"\x0a\x7f")].concat());
        let list = object(b"PodList", &[bytes(2, &bad), bytes(2, &good), b"\x10\x01".to_vec()].concat());
        let event = [bytes(1, b"ADDED"), bytes(2, &bytes(1, &object(b"Pod", &bad)))].concat();
        let list: serde_json::Value = serde_json::from_str(&text(to_json(&list))).expect("JSON");
        let event: serde_json::Value = serde_json::from_str(&text(event_to_json(&event))).expect("JSON");
        assert_eq!((&list["items"][0], &list["items"][1]["metadata"]["name"]), (&event["object"], &json!("good")));
        let seen = decode::seen(Kind::Pod, &event["object"].to_string()).expect("a name");
        assert_eq!((seen.key, seen.uid, seen.rv), (Key::new("data", "bad"), Uid::new("u"), 7));
        let problem = seen.body.expect_err("no pod").problem;
        assert_eq!(&*problem, "spec: invalid type: string \"malformed protobuf\", expected PodSpec");
    }

    /// Every field of a table, once.
    fn everything(fields: &[Field]) -> Vec<u8> {
        fields.iter().flat_map(|field| something(field.number, &field.kind)).collect()
    }

    fn something(number: u32, kind: &fields::Kind) -> Vec<u8> {
        match kind {
            fields::Kind::Text => bytes(number, b"t"),
            fields::Kind::Number | fields::Kind::Flag => [tag(number, 0), vec![1]].concat(),
            fields::Kind::Time => bytes(number, b"\x08\x01"),
            fields::Kind::Quantity => bytes(number, &bytes(1, b"1")),
            fields::Kind::Object(fields) | fields::Kind::Inline(fields) => bytes(number, &everything(fields)),
            fields::Kind::List(kind) => something(number, kind),
            fields::Kind::Map(kind) => bytes(number, &[bytes(1, b"k"), something(2, kind)].concat()),
        }
    }

    /// A field whose name nobody knows would be lost without a word.
    #[test]
    fn every_name_is_one_that_a_pod_has() {
        let pod: serde_json::Value =
            serde_json::from_str(&text(to_json(&object(b"Pod", &everything(POD))))).expect("JSON");
        let known: k8s_openapi::api::core::v1::Pod = serde_json::from_value(pod.clone()).expect("a pod");
        let known = serde_json::to_value(known).expect("JSON");
        let paths = leaves(&pod, "");
        assert!(paths.len() > 70, "{paths:?}");
        for path in paths {
            assert!(known.pointer(&path).is_some(), "{path}");
        }
    }

    fn leaves(value: &serde_json::Value, path: &str) -> Vec<String> {
        let under = |(key, value): (String, &serde_json::Value)| leaves(value, &format!("{path}/{key}"));
        if let Some(list) = value.as_array() {
            return list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).flat_map(under).collect();
        }
        let map = value.as_object().filter(|map| !map.is_empty());
        let map = map.map(|map| map.iter().map(|(key, value)| (key.clone(), value)).flat_map(under).collect());
        map.unwrap_or_else(|| vec![path.to_owned()])
    }

    #[test]
    fn an_event_is_one_line() {
        let event = [bytes(1, b"MODIFIED"), bytes(2, &bytes(1, &object(b"Pod", b"")))].concat();
        let json = r#"{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"Pod"}}"#;
        assert_eq!(text(event_to_json(&event)), json);
        let refusal = object(b"Status", &[bytes(3, b"too old"), b"\x30\x9a\x03".to_vec()].concat());
        let event = [bytes(1, b"ERROR"), bytes(2, &bytes(1, &refusal))].concat();
        let json = r#"{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","message":"too old","code":410}}"#;
        assert_eq!(text(event_to_json(&event)), json);
    }

    #[test]
    fn whatever_else_comes_is_an_error() {
        let cut = object(b"Pod", &bytes(1, b"\x0a\x05p"));
        let typed = object(b"Pod", b"\x08\x01");
        for (body, problem) in [
            (b"{}".to_vec(), "protobuf that does not begin as an object does"),
            (object(b"Node", b""), "protobuf of an unexpected kind"),
            (MAGIC.to_vec(), "protobuf of an unexpected kind"),
            ([MAGIC, b"\x0a"].concat(), "malformed protobuf"),
            (cut, "protobuf that is no such object: malformed protobuf"),
            (typed, "protobuf that is no such object: a field of another type"),
        ] {
            assert_eq!(text(to_json(&body)), problem);
        }
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let pod = object(b"Pod", &body[..body.len().min(120)]);
            let event = bytes(2, &bytes(1, &pod));
            for json in [to_json(&body), to_json(&pod), event_to_json(&body), event_to_json(&event)].into_iter().flatten() {
                prop_assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
            }
        }

        /// One byte of a good pod changed, or the rest of it missing.
        #[test]
        fn a_damaged_pod_is_read_or_refused(at in 0..200_usize, byte in any::<u8>(), cut in any::<bool>()) {
            let mut body = pod();
            let at = at % body.len();
            body[at] = byte;
            if cut {
                body.truncate(at);
            }
            if let Ok(json) = to_json(&object(b"Pod", &body)) {
                prop_assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
            }
        }
    }
}
