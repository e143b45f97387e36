//! The kinds of objects that are watched, one row each. A new kind is one row in this table and one file beside this
//! one, which says what is kept of its objects and what follows when one comes, changes or goes.

mod kept;
mod namespace;
mod node;
mod pod;
mod pod_group;
mod queue;
mod resource_quota;
mod task_group;

use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;

use super::decode;
use super::dialect::Dialect;
use super::dialect::pod_group::{self as other, PodGroup};
use super::known::{Version, Whose};
use super::lean::Lean;
use super::observation::Seen;
use crate::api::queue::Queue;
use crate::api::task_group::TaskGroup;
use crate::core::event::Event;
pub(super) use kept::{AnyKept, Kept};
pub(super) use namespace::Namespaces;
pub use pod::PodName;
pub(super) use pod::Pods;
pub use pod_group::PodGroupFacts;
use pod_group::PodGroups;
pub use queue::QueueFacts;
pub(super) use queue::Queues;
pub(super) use task_group::TaskGroups;
pub use task_group::{GroupFacts, MadeOf};

/// A type of objects that are watched.
pub trait Watched: Resource<DynamicType = ()> + Debug + Send + Sync + Sized + 'static {
    /// Its kind.
    const KIND: Kind;
    /// The form in which one is read from JSON.
    type Form: DeserializeOwned + Into<Self>;

    /// An object of this type as one of any kind.
    fn body(self: Arc<Self>) -> Body;
}

/// Something that is done once for each kind, with the type of its objects.
pub trait PerKind {
    /// Does it for one.
    fn take<T: Watched>(&mut self);
}

/// Makes everything that tells the kinds apart of the rows below. A row is: what the kind is, its name here, its name
/// in URLs, the type of its objects, the form in which they are read, where they are kept and as what.
macro_rules! table {
    ($($(#[$doc:meta])+ $kind:ident, $plural:literal, $object:ty, $form:ty, $place:ident: $kept:ty;)+) => {
        /// The kinds that are watched.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])+ $kind,)+
        }

        impl Kind {
            /// All of them, in the order in which they are reported.
            pub const ALL: [Self; [$($plural),+].len()] = [$(Self::$kind),+];

            /// Resource name in URLs, RBAC rules and metrics; of another system's with its API group, as kubectl takes it.
            pub const fn plural(self) -> &'static str {
                match self {
                    $(Self::$kind => $plural,)+
                }
            }

            /// Reads an object of this kind; `None` if the text does not even name one.
            pub(super) fn read(self, json: &str) -> Option<Seen> {
                match self {
                    $(Self::$kind => decode::read::<$object>(json),)+
                }
            }
        }

        /// An object of a kind that is watched.
        #[derive(Clone, Debug)]
        pub enum Body {
            $($(#[$doc])+ $kind(Arc<$object>),)+
        }

        /// The kind of an object.
        pub const fn kind(body: &Body) -> Kind {
            match body {
                $(Body::$kind(_) => Kind::$kind,)+
            }
        }

        /// The metadata of an object.
        pub fn metadata(body: &Body) -> &ObjectMeta {
            match body {
                $(Body::$kind(object) => &object.metadata,)+
            }
        }

        /// The metadata of an object, to be changed.
        pub fn metadata_mut(body: &mut Body) -> &mut ObjectMeta {
            match body {
                $(Body::$kind(object) => &mut Arc::make_mut(object).metadata,)+
            }
        }

        $(impl Watched for $object {
            const KIND: Kind = Kind::$kind;
            type Form = $form;

            fn body(self: Arc<Self>) -> Body {
                Body::$kind(self)
            }
        })+

        /// Does something once for each kind, in the order of [`Kind::ALL`].
        pub fn for_each(task: &mut impl PerKind) {
            $(task.take::<$object>();)+
        }

        /// What is kept of the objects of every kind.
        #[derive(Clone, Debug, Default)]
        pub(super) struct Kinds {
            $(pub(super) $place: $kept,)+
        }

        impl Kinds {
            /// What is kept of one kind.
            pub(super) fn of(&self, kind: Kind) -> &dyn AnyKept {
                match kind {
                    $(Kind::$kind => &self.$place,)+
                }
            }

            /// What is kept of one kind, to be changed.
            pub(super) fn of_mut(&mut self, kind: Kind) -> &mut dyn AnyKept {
                match kind {
                    $(Kind::$kind => &mut self.$place,)+
                }
            }

            /// Whose an object is.
            pub(super) fn whose(&self, body: &Body) -> Whose {
                match body {
                    $(Body::$kind(object) => self.$place.whose(object),)+
                }
            }

            /// Takes an object as seen at one version; what follows.
            pub(super) fn see(&mut self, at: Version, body: &Body) -> Vec<Event> {
                match body {
                    $(Body::$kind(object) => self.$place.see(at, object),)+
                }
            }
        }
    };
}

table! {
    /// `v1` pods.
    Pod, "pods", v1::Pod, Lean<v1::PodSpec, v1::PodStatus>, pods: Pods;
    /// `v1` nodes.
    Node, "nodes", v1::Node, Lean<v1::NodeSpec, v1::NodeStatus>, nodes: node::Nodes;
    /// `gangline.dev` taskgroups.
    TaskGroup, "taskgroups", TaskGroup, Self, groups: TaskGroups;
    /// `gangline.dev` queues.
    Queue, "queues", Queue, Self, queues: Queues;
    /// `v1` resourcequotas.
    ResourceQuota, "resourcequotas", v1::ResourceQuota, Lean<v1::ResourceQuotaSpec, v1::ResourceQuotaStatus>,
        quotas: resource_quota::Quotas;
    /// `v1` namespaces.
    Namespace, "namespaces", v1::Namespace, Lean<v1::NamespaceSpec, v1::NamespaceStatus>, namespaces: Namespaces;
    /// Koordinator's podgroups.
    KoordinatorPodGroup, "podgroups.scheduling.sigs.k8s.io", PodGroup<other::Koordinator>, Self,
        koordinator_groups: PodGroups<other::Koordinator>;
    /// Podgroups of scheduler-plugins.
    CoschedulingPodGroup, "podgroups.scheduling.x-k8s.io", PodGroup<other::Coscheduling>, Self,
        coscheduling_groups: PodGroups<other::Coscheduling>;
    /// Volcano's podgroups.
    VolcanoPodGroup, "podgroups.scheduling.volcano.sh", PodGroup<other::Volcano>, Self,
        volcano_groups: PodGroups<other::Volcano>;
    /// Podgroups of Kubernetes itself.
    KubernetesPodGroup, "podgroups.scheduling.k8s.io", PodGroup<other::Kubernetes>, Self,
        kubernetes_groups: PodGroups<other::Kubernetes>;
}

impl Kind {
    /// Whether Gangline brings its definition. Those of other systems these bring, where they are installed, and an API server serves
    /// all of Kubernetes' but PodGroups, which a feature gate brings.
    pub const fn is_brought(self) -> bool {
        match self {
            Self::TaskGroup | Self::Queue => true,
            Self::Pod
            | Self::Node
            | Self::ResourceQuota
            | Self::Namespace
            | Self::KoordinatorPodGroup
            | Self::CoschedulingPodGroup
            | Self::VolcanoPodGroup
            | Self::KubernetesPodGroup => false,
        }
    }

    /// Whether a cluster may not serve it.
    pub const fn may_be_missing(self) -> bool {
        self.is_brought() || self.dialect().is_some()
    }

    /// The system whose kind it is. It is watched where that system's words are understood.
    pub const fn dialect(self) -> Option<Dialect> {
        match self {
            Self::KoordinatorPodGroup => Some(Dialect::Koordinator),
            Self::CoschedulingPodGroup => Some(Dialect::Coscheduling),
            Self::VolcanoPodGroup => Some(Dialect::Volcano),
            Self::KubernetesPodGroup => Some(Dialect::Kubernetes),
            Self::Pod | Self::Node | Self::TaskGroup | Self::Queue | Self::ResourceQuota | Self::Namespace => None,
        }
    }

    /// Those that are watched where the words of these systems are understood.
    pub fn watched(dialects: &[Dialect]) -> impl Iterator<Item = Self> {
        let is_watched = |kind: &Self| kind.dialect().is_none_or(|dialect| dialects.contains(&dialect));
        Self::ALL.into_iter().filter(is_watched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kinds in the order in which they come, with the names that their types have for them.
    #[derive(Default)]
    struct Names(Vec<(Kind, String)>);

    impl PerKind for Names {
        fn take<T: Watched>(&mut self) {
            let is_others = T::KIND.dialect().is_some();
            let group = if is_others { format!(".{}", T::group(&())) } else { String::new() };
            self.0.push((T::KIND, format!("{}{group}", T::plural(&()))));
        }
    }

    #[test]
    fn each_kind_has_one_row_whose_name_in_urls_is_its_types() {
        let mut names = Names::default();
        for_each(&mut names);
        let rows = Kind::ALL.map(|kind| (kind, kind.plural().to_owned()));
        assert_eq!(names.0, rows);
    }
}
