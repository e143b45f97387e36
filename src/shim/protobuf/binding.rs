//! A Binding as the body of a request.

use std::collections::BTreeMap;

use prost::Message;

use super::MAGIC;

/// `Binding`.
#[derive(Clone, PartialEq, Message)]
pub struct Binding {
    /// Of the pod.
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ObjectMeta>,
    /// The node.
    #[prost(message, optional, tag = "2")]
    pub target: Option<ObjectReference>,
}

/// What a Binding says of `ObjectMeta`.
#[derive(Clone, PartialEq, Message)]
pub struct ObjectMeta {
    /// Name of the pod.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its namespace.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// Refused if the pod of this name is another one.
    #[prost(string, tag = "5")]
    pub uid: String,
    /// Copied to the pod.
    #[prost(btree_map = "string, string", tag = "12")]
    pub annotations: BTreeMap<String, String>,
}

/// What a Binding says of `ObjectReference`.
#[derive(Clone, PartialEq, Message)]
pub struct ObjectReference {
    /// `Node`.
    #[prost(string, tag = "1")]
    pub kind: String,
    /// Name of the node.
    #[prost(string, tag = "3")]
    pub name: String,
}

/// `runtime.Unknown`: an object with its type.
#[derive(Clone, PartialEq, Message)]
struct Unknown {
    #[prost(message, optional, tag = "1")]
    type_meta: Option<TypeMeta>,
    #[prost(bytes = "vec", tag = "2")]
    raw: Vec<u8>,
}

/// `runtime.TypeMeta`.
#[derive(Clone, PartialEq, Message)]
struct TypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

impl Binding {
    /// The body of a request.
    pub fn to_body(&self) -> Vec<u8> {
        let type_meta = Some(TypeMeta { api_version: "v1".to_owned(), kind: "Binding".to_owned() });
        let unknown = Unknown { type_meta, raw: self.encode_to_vec() };
        let mut body = Vec::with_capacity(MAGIC.len() + unknown.encoded_len());
        body.extend_from_slice(MAGIC);
        unknown.encode(&mut body).expect("a vector grows");
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// To the byte, written down from the field numbers above: a message that only its own reader understands is worth
    /// nothing. That the API server understands it is shown by every end-to-end test.
    #[test]
    fn a_binding_is_what_the_api_server_reads() {
        let binding = Binding {
            metadata: Some(ObjectMeta {
                name: "p".into(),
                namespace: "d".into(),
                uid: "u".into(),
                annotations: BTreeMap::from([("a".into(), "1".into())]),
            }),
            target: Some(ObjectReference { kind: "Node".into(), name: "n".into() }),
        };
        let metadata = b"\x0a\x01p\x1a\x01d\x2a\x01u\x62\x06\x0a\x01a\x12\x011";
        let target = b"\x0a\x04Node\x1a\x01n";
        let raw = [b"\x0a\x11", &metadata[..], b"\x12\x09", target].concat();
        let typed = [b"\x0a\x0d\x0a\x02v1\x12\x07Binding", &b"\x12\x1e"[..], &raw].concat();
        assert_eq!(binding.to_body(), [b"k8s\0", &typed[..]].concat());
    }
}
