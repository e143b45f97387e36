//! What is kept of ResourceQuotas: the limit that each sets, since those of one namespace count together.

use k8s_openapi::api::core::v1::ResourceQuota;

use super::Kept;
use crate::core::base::ids::{Key, Text};
use crate::core::base::resources::Limit;
use crate::core::event::Event;
use crate::shim::known::{Known, Sight, Version, Whose};
use crate::shim::observation::Malformed;
use crate::shim::resource_quota::{limit, merge};

/// All ResourceQuotas, each with its limit if it sets one.
#[derive(Clone, Debug, Default)]
pub(in crate::shim) struct Quotas {
    known: Known<Option<Limit>>,
}

impl Quotas {
    /// What the quotas of a namespace leave together.
    fn namespace_limit(&self, namespace: &Text) -> Event {
        let from = Key::new(namespace.clone(), "");
        let of_namespace = self.known.from(&from).take_while(|(key, _)| key.namespace == *namespace);
        let limit = merge(of_namespace.filter_map(|(_, limit)| limit.as_ref()));
        Event::NamespaceLimit(namespace.clone(), limit)
    }
}

impl Kept for Quotas {
    type Object = ResourceQuota;
    type Facts = Option<Limit>;

    fn known(&self) -> &Known<Option<Limit>> {
        &self.known
    }

    fn known_mut(&mut self) -> &mut Known<Option<Limit>> {
        &mut self.known
    }

    fn see(&mut self, at: Version, quota: &ResourceQuota) -> Vec<Event> {
        if matches!(self.known.sight(&at), Sight::Stale) {
            return Vec::new();
        }
        let namespace = at.key.namespace.clone();
        self.known.put(at, Whose::Ours, limit(quota));
        vec![self.namespace_limit(&namespace)]
    }

    fn see_malformed(&mut self, at: Version, _: Malformed) -> Vec<Event> {
        match self.known.sight(&at) {
            Sight::Replaced(_) => vec![self.namespace_limit(&at.key.namespace)],
            Sight::New | Sight::Changed | Sight::Stale => Vec::new(),
        }
    }

    fn lost(&mut self, key: &Key, _: Option<Limit>) -> Vec<Event> {
        vec![self.namespace_limit(&key.namespace)]
    }
}
