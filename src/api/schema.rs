//! What the schemas of our kinds need beyond what Rust types say: bounds, list kinds, CEL rules.

use schemars::Schema;
use serde_json::{Map, Value, json};

/// A label value.
pub(super) const LABEL_VALUE: &str = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";
/// `root`, or `root.` and DNS labels joined by dots.
pub(super) const QUEUE_PATH: &str = r"^root([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// `namespace/name`.
pub(super) const NAMESPACED_NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$";
/// Name of an object.
pub(super) const OBJECT_NAME: &str = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$";
/// A quantity, but with an exponent of at most two digits. The rules look at the text: comparing `1e16000000` would cost the
/// API server seconds (tried).
const QUANTITY: &str = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$";
/// Name of an extended resource.
const EXTENDED: &str = "[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?";
/// A label key with one of the prefixes that are ours or Kubernetes' own.
const RESERVED_KEY: &str = r"^([^/]*[.])?(gangline[.]dev|kubernetes[.]io|k8s[.]io)/";

/// Most labels, annotations or terms of a selector in one map.
pub const LABELS_MAX: usize = 32;
/// Most characters of an annotation.
pub const ANNOTATION_MAX: usize = 1_024;
/// Most tolerations.
pub const TOLERATIONS_MAX: usize = 32;
/// Most secrets.
pub const SECRETS_MAX: usize = 16;
/// Most terms of an affinity, and requirements of one of them.
pub const TERMS_MAX: usize = 16;
/// Most values of such a requirement.
pub const VALUES_MAX: usize = 256;
/// Most characters of one of them, or of an object's name.
pub const NAME_MAX: usize = 253;
/// Most characters of a key: a domain, `/` and a name.
pub const KEY_MAX: usize = 317;
/// Most characters of an amount.
pub const AMOUNT_MAX: usize = 32;

/// A map of what one pod asks for, each greater than 0; 16 are as many as the CEL budget allows (32 are not, tried).
pub(super) fn positive_amounts(schema: &mut Schema) {
    let rule = "string(self).matches('^[+]?[0-9.]*[1-9]')";
    amounts(schema, rule, "must be a quantity greater than 0, such as 500m, 2 or 4Gi");
    resource_names(schema, "cpu|memory|ephemeral-storage");
}

/// A map of amounts, none negative.
pub(super) fn amounts_from_zero(schema: &mut Schema) {
    let rule = "!string(self).matches('^-[0-9.]*[1-9]')";
    amounts(schema, rule, "must be a quantity that is not negative, such as 500m, 2 or 4Gi");
    resource_names(schema, "cpu|memory|ephemeral-storage|pods");
}

/// Keys are these resources, huge pages or extended resources, so that a slip of the pen (`mem`) is no resource.
fn resource_names(schema: &mut Schema, names: &str) {
    let rule = format!("self.all(key, key.matches('^({names}|hugepages-[A-Za-z0-9]+|{EXTENDED})$'))");
    let message = format!("keys must be {}, hugepages-SIZE or a name with a domain", names.replace('|', ", "));
    schema.insert("x-kubernetes-validations".to_owned(), json!([{"rule": rule, "message": message}]));
}

fn amounts(schema: &mut Schema, rule: &str, message: &str) {
    let rule = format!("string(self).matches('{QUANTITY}') && {rule}");
    let amount = json!({
        "x-kubernetes-int-or-string": true,
        "maxLength": AMOUNT_MAX,
        "x-kubernetes-validations": [{"rule": rule, "message": message}],
    });
    schema.insert("additionalProperties".to_owned(), amount);
    schema.insert("maxProperties".to_owned(), json!(16));
}

/// Most resources that a status shows: those of the largest gang, and of pods that name some of their own.
pub const SHOWN_AMOUNTS_MAX: usize = 2_048;

/// Most resources that a status shows of a queue without an object: as many as may be limited.
pub const LEAF_AMOUNTS_MAX: usize = 16;

/// A map of amounts that only we write.
pub(super) fn shown_amounts(schema: &mut Schema) {
    let amount = json!({"x-kubernetes-int-or-string": true, "maxLength": 64});
    schema.insert("additionalProperties".to_owned(), amount);
    schema.insert("maxProperties".to_owned(), json!(SHOWN_AMOUNTS_MAX));
}

/// A map of labels: at most 32.
pub(super) fn selector(schema: &mut Schema) {
    let pattern = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$";
    schema.insert("additionalProperties".to_owned(), json!({"type": "string", "maxLength": 63, "pattern": pattern}));
    schema.insert("maxProperties".to_owned(), json!(LABELS_MAX));
}

/// A map of amounts of a queue without an object, that only we write.
pub(super) fn leaf_amounts(schema: &mut Schema) {
    shown_amounts(schema);
    schema.insert("maxProperties".to_owned(), json!(LEAF_AMOUNTS_MAX));
}

/// Values go with the operators that compare values.
pub(super) fn values_of_operator(schema: &mut Schema) {
    let rule = "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : \
                !has(self.values) || size(self.values) == 0";
    let rules = json!([{"rule": rule, "message": "In and NotIn need values, Exists and DoesNotExist have none"}]);
    schema.insert("x-kubernetes-validations".to_owned(), rules);
}

/// Names somebody, and limits something.
pub(super) fn limit_of_somebody(schema: &mut Schema) {
    let names = "(has(self.users) && size(self.users) > 0) || (has(self.groups) && size(self.groups) > 0)";
    let limits = "has(self.maxApplications) || (has(self.max) && size(self.max) > 0)";
    let rules = json!([rule(names, "must name users or groups"), rule(limits, "must have max or maxApplications")]);
    schema.insert("x-kubernetes-validations".to_owned(), rules);
}

/// An object of which no more than one field is set.
pub(super) fn one_bound(schema: &mut Schema) {
    let rule = "!has(self.maxOvertakes) || !has(self.afterSeconds)";
    let rules = json!([{"rule": rule, "message": "must have maxOvertakes or afterSeconds, not both"}]);
    schema.insert("x-kubernetes-validations".to_owned(), rules);
}

/// Labels for placeholders.
pub(super) fn template_labels(schema: &mut Schema) {
    selector(schema);
    refuse_reserved_keys(schema);
}

/// Annotations for placeholders.
pub(super) fn template_annotations(schema: &mut Schema) {
    schema.insert("additionalProperties".to_owned(), json!({"type": "string", "maxLength": ANNOTATION_MAX}));
    schema.insert("maxProperties".to_owned(), json!(LABELS_MAX));
    refuse_reserved_keys(schema);
}

fn refuse_reserved_keys(schema: &mut Schema) {
    let rule = format!("self.all(key, !key.matches('{RESERVED_KEY}'))");
    let message = "keys must not lie under gangline.dev/, kubernetes.io/ or k8s.io/";
    schema.insert("x-kubernetes-validations".to_owned(), json!([{"rule": rule, "message": message}]));
}

/// Tolerations of pods, those that we honour.
pub(super) fn tolerations(schema: &mut Schema) {
    schema.insert("maxItems".to_owned(), json!(TOLERATIONS_MAX));
    schema.insert("x-kubernetes-list-type".to_owned(), json!("atomic"));
    schema.insert(
        "items".to_owned(),
        json!({"type": "object", "properties": {
            "key": {"type": "string", "maxLength": KEY_MAX},
            "operator": {"type": "string", "enum": ["Exists", "Equal"]},
            "value": {"type": "string", "maxLength": 63},
            "effect": {"type": "string", "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
            "tolerationSeconds": {"type": "integer", "format": "int64"},
        }}),
    );
}

/// References to secrets.
pub(super) fn secrets(schema: &mut Schema) {
    let name = json!({"type": "string", "maxLength": NAME_MAX});
    schema.insert("maxItems".to_owned(), json!(SECRETS_MAX));
    schema.insert("x-kubernetes-list-type".to_owned(), json!("atomic"));
    schema.insert("items".to_owned(), json!({"type": "object", "required": ["name"], "properties": {"name": name}}));
}

/// Node affinity of pods.
pub(super) fn node_affinity(schema: &mut Schema) {
    let values = json!({"type": "array", "maxItems": VALUES_MAX, "x-kubernetes-list-type": "atomic",
        "items": {"type": "string", "maxLength": NAME_MAX}});
    let requirements = json!({"type": "array", "maxItems": TERMS_MAX, "x-kubernetes-list-type": "atomic",
    "items": {"type": "object", "required": ["key", "operator"], "properties": {
        "key": {"type": "string", "maxLength": KEY_MAX},
        "operator": {"type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]},
        "values": values,
    }}});
    let term = json!({"type": "object", "x-kubernetes-map-type": "atomic",
        "properties": {"matchExpressions": requirements, "matchFields": requirements}});
    let properties = json!({
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "type": "object", "x-kubernetes-map-type": "atomic", "required": ["nodeSelectorTerms"],
            "properties": {"nodeSelectorTerms": {
                "type": "array", "maxItems": TERMS_MAX, "x-kubernetes-list-type": "atomic", "items": term,
            }},
        },
        "preferredDuringSchedulingIgnoredDuringExecution": {
            "type": "array", "maxItems": TERMS_MAX, "x-kubernetes-list-type": "atomic",
            "items": {"type": "object", "required": ["preference", "weight"], "properties": {
                "weight": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100},
                "preference": term,
            }},
        },
    });
    schema.insert("properties".to_owned(), properties);
}

/// `metav1.Condition`, one of each type.
pub(super) fn conditions(schema: &mut Schema) {
    schema.insert("maxItems".to_owned(), json!(16));
    schema.insert("x-kubernetes-list-type".to_owned(), json!("map"));
    schema.insert("x-kubernetes-list-map-keys".to_owned(), json!(["type"]));
    let properties = json!({
        "type": {"type": "string", "maxLength": 316, "description": "What the condition is about."},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"], "description": "Whether it holds."},
        "observedGeneration": {
            "type": "integer", "format": "int64", "minimum": 0, "description": "Generation of the spec that it is about.",
        },
        "lastTransitionTime": {"type": "string", "format": "date-time", "description": "When its status changed."},
        "reason": {"type": "string", "minLength": 1, "maxLength": 1024, "description": "Why, in one word for programs."},
        "message": {"type": "string", "maxLength": 32768, "description": "Why, in one sentence for people."},
    });
    let required = json!(["type", "status", "lastTransitionTime", "reason", "message"]);
    let condition = json!({"type": "object", "required": required, "properties": properties});
    schema.insert("items".to_owned(), condition);
}

/// A CEL expression: an optional field is as it was. (`self.?field == oldSelf.?field` exceeds the cost budget: tried.)
pub(super) fn same(this: &str, old: &str, field: &str) -> String {
    format!("has({this}.{field}) == has({old}.{field}) && (!has({this}.{field}) || {this}.{field} == {old}.{field})")
}

/// A CEL rule.
pub(super) fn rule(rule: &str, message: &str) -> Value {
    json!({"rule": rule, "message": message})
}

/// A CEL rule over the whole object whose message names a field.
pub(super) fn rule_of(field: &str, rule: &str, message: &str) -> Value {
    json!({"rule": rule, "message": message, "fieldPath": field})
}

/// Removes what the derive says and the API server does not want: `nullable` (a null is then taken as absent), the
/// format `uint32`, which it does not know, and line breaks where a comment's line ended.
pub(super) fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => tidy_fields(fields),
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn tidy_fields(fields: &mut Map<String, Value>) {
    if fields.get("nullable") == Some(&json!(true)) {
        fields.remove("nullable");
    }
    if fields.get("format") == Some(&json!("uint32")) {
        fields.insert("format".to_owned(), json!("int32"));
    }
    if let Some(Value::String(description)) = fields.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    fields.iter_mut().for_each(|(_, value)| tidy(value));
}

/// Writes whole numbers as such, as kubectl does: `1e9` is 1000000000. A number that has no 64 bits is left as it is.
pub fn whole_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| whole_numbers(value)),
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Number(number) if number.is_f64() => {
            // 2 to the power of 63, of which the next smaller float is 1024 less.
            let fits = |float: &f64| float.fract() == 0.0 && float.abs() < 9_223_372_036_854_775_808.0;
            if let Some(whole) = number.as_f64().filter(fits) {
                *value = json!(whole as i64);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
