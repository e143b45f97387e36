//! Admission of new pods, as a script: it stands for quotas of namespaces, LimitRanges, Pod Security and webhooks.

use k8s_openapi::api::core::v1::Pod;

use super::store::Store;

/// What is said of a new pod.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It may come as it is.
    Allow,
    /// It comes, but as this: with what a LimitRange or an injector of sidecars adds.
    Mutate(Box<Pod>),
    /// It is refused: `403 Forbidden` of a quota or of Pod Security, whatever a webhook likes.
    Deny {
        /// HTTP status.
        code: u16,
        /// `reason` of the Status object.
        reason: &'static str,
    },
}

/// The script: what is said of a new pod, by it and by all that is there. A function, so that a world can be copied and
/// the same world says the same.
pub type Hook = fn(&Store, &Pod) -> Verdict;
