//! Names of task groups in tests: alone in the namespace of all, and otherwise with their namespace.

use gangline::core::base::ids::Key;

use super::cluster::NS;

/// The task groups of one gang, by their names; those of another namespace as `namespace/name`.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Key> {
    names.into_iter().map(key_of).collect()
}

/// The key of a name.
pub fn key_of(name: &str) -> Key {
    name.split_once('/').map_or_else(|| Key::new(NS, name), |(namespace, name)| Key::new(namespace, name))
}

/// The name of a key.
pub fn name_of(key: &Key) -> String {
    if *key.namespace == *NS { key.name.to_string() } else { key.to_string() }
}
