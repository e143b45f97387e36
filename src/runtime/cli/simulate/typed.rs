//! Fields of Kubernetes' own kinds that are of another type than they have to be: all of them, and not the first alone.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};

/// Most that are said of one object: people mend a few at a time.
const MOST: usize = 32;

/// Everything of an object that does not decode. What was found is left out, and the rest is read again.
pub(in crate::runtime::cli) fn problems<T: DeserializeOwned>(object: &Value) -> Vec<String> {
    let Err(first) = serde_path_to_error::deserialize::<_, T>(object) else { return Vec::new() };
    let (mut rest, mut last) = (object.clone(), first.path().to_string());
    let mut found = vec![format!("{last}: {}", first.inner())];
    let mut may_go_on = leave_out(&mut rest, first.path());
    while may_go_on && found.len() < MOST {
        let Err(next) = serde_path_to_error::deserialize::<_, T>(&rest) else { break };
        // What stands in for an item may be of a wrong type itself.
        if next.path().to_string() == last {
            break;
        }
        last = next.path().to_string();
        found.push(format!("{last}: {}", next.inner()));
        may_go_on = leave_out(&mut rest, next.path());
    }
    found
}

/// Takes a field away; an item of a list is replaced, so that the others keep their numbers.
fn leave_out(object: &mut Value, path: &Path) -> bool {
    let mut at = object;
    let mut segments = path.iter().peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        let below = match (segment, at) {
            (Segment::Map { key }, Value::Object(fields)) if is_last => return fields.remove(key).is_some(),
            (Segment::Map { key }, Value::Object(fields)) => fields.get_mut(key),
            (Segment::Seq { index }, Value::Array(items)) => items.get_mut(*index),
            _ => None,
        };
        let Some(below) = below else { return false };
        at = below;
    }
    std::mem::replace(at, json!({})) != json!({})
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    #[test]
    fn every_field_of_a_wrong_type_is_named() {
        let pod = json!({"metadata": {"name": "p", "labels": {"a": 1, "b": "c", "d": true}}, "spec": {
            "priority": "high", "containers": [{"name": 7}, 8, {"name": "c", "args": ["x", 9]}], "nodeName": []}});
        let fields: Vec<_> =
            problems::<Pod>(&pod).iter().map(|said| said.split(": ").next().map(str::to_owned)).collect();
        let expected = [
            "metadata.labels.a",
            "metadata.labels.d",
            "spec.containers[0].name",
            "spec.containers[1]",
            "spec.containers[2].args[1]",
        ];
        assert_eq!(fields.iter().flatten().take(5).collect::<Vec<_>>(), expected);
        assert_eq!(problems::<Pod>(&json!({"metadata": {}, "spec": {"containers": []}})), [""; 0]);
        assert_eq!(problems::<Pod>(&json!(7)).len(), 1);
        let many = json!({"metadata": {"labels": (0..99).map(|n| (n.to_string(), json!(n))).collect::<serde_json::Map<_, _>>()}});
        assert_eq!(problems::<Pod>(&many).len(), MOST);
    }
}
