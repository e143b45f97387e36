//! Where a sequence plays: two namespaces and names of its own for what has no namespace, used again by the next one.

use gangline::core::base::ids::Key;
use gangline::shim::op::Kind;

/// The kinds of what a sequence plays with. Namespaces are where it plays.
pub(super) const PLAYED: [Kind; 5] = [Kind::Pod, Kind::Node, Kind::TaskGroup, Kind::Queue, Kind::ResourceQuota];

/// A place that nobody else uses meanwhile.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The server sorts the second before the first: `x-b/p` comes before `x/p`.
    pub(super) namespaces: [String; 2],
    /// Begins the names of what has no namespace.
    pub(super) prefix: String,
}

impl Place {
    /// One of two objects of a kind.
    pub(super) fn key(&self, kind: Kind, second: bool) -> Key {
        let number = usize::from(second);
        match kind {
            Kind::Pod
            | Kind::TaskGroup
            | Kind::ResourceQuota
            | Kind::KoordinatorPodGroup
            | Kind::CoschedulingPodGroup
            | Kind::VolcanoPodGroup
            | Kind::KubernetesPodGroup => Key::new(self.namespaces[number].as_str(), "p"),
            Kind::Node => Key::cluster(format!("{}-{number}", self.prefix)),
            Kind::Queue => Key::cluster(format!("root.{}-{number}", self.prefix)),
            Kind::Namespace => Key::cluster(self.namespaces[number].as_str()),
        }
    }

    /// The object whose creation ends the watch of a sequence.
    pub(super) fn sentinel(&self, kind: Kind) -> Key {
        match kind {
            Kind::Pod
            | Kind::TaskGroup
            | Kind::ResourceQuota
            | Kind::KoordinatorPodGroup
            | Kind::CoschedulingPodGroup
            | Kind::VolcanoPodGroup
            | Kind::KubernetesPodGroup => Key::new(self.namespaces[0].as_str(), "sentinel"),
            Kind::Node | Kind::Namespace => Key::cluster(format!("{}-sentinel", self.prefix)),
            Kind::Queue => Key::cluster(format!("root.{}-sentinel", self.prefix)),
        }
    }

    /// Whether an object is here.
    pub(super) fn has(&self, key: &Key) -> bool {
        let own = |name: &str| name.strip_prefix(self.prefix.as_str()).is_some_and(|rest| rest.starts_with('-'));
        if key.namespace.is_empty() {
            own(key.name.strip_prefix("root.").unwrap_or(&key.name))
        } else {
            self.namespaces.iter().any(|namespace| **namespace == *key.namespace)
        }
    }
}
