//! Names and indices of the things the core knows.

use std::fmt;
use std::sync::Arc;

/// A shared, immutable piece of text.
pub type Text = Arc<str>;

/// Namespace and name of an object; for cluster-scoped objects the namespace is empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace, or empty.
    pub namespace: Text,
    /// Name within the namespace.
    pub name: Text,
}

impl Key {
    /// The key of a namespaced object.
    pub fn new(namespace: impl Into<Text>, name: impl Into<Text>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: impl Into<Text>) -> Self {
        Self::new("", name)
    }

    /// The key of another object of the same namespace.
    pub fn beside(&self, name: &Text) -> Self {
        Self { namespace: self.namespace.clone(), name: name.clone() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}", self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// Identity of one life of an object: the API server never gives it twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(pub Text);

impl Uid {
    /// A uid from its text.
    pub fn new(text: impl Into<Text>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            /// Slot in the arena.
            pub index: u32,
            /// How many lives the slot had before this one: an id of an earlier life finds nothing.
            pub generation: u32,
        }

        impl $crate::core::base::arena::Id for $name {
            fn new(index: u32, generation: u32) -> Self {
                Self { index, generation }
            }
            fn index(self) -> u32 {
                self.index
            }
            fn generation(self) -> u32 {
                self.generation
            }
        }
    };
}

id! {
    /// A request for one allocation, pending or allocated: one pod. Chosen by the shim, which owns the map from pods.
    AskId
}
id! {
    /// A node, or the name of a node that pods refer to.
    NodeId
}
id! {
    /// An application.
    AppId
}
id! {
    /// A gang.
    GangId
}
id! {
    /// A task group.
    GroupId
}
id! {
    /// A queue.
    QueueId
}
id! {
    /// A kept seat.
    KeptId
}
id! {
    /// A member shape: equal requests with equal constraints.
    ClassId
}
