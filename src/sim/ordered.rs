//! StatefulSets as far as they make pods: one after the other, each when those before it run, and anew under its name when
//! it is gone (`podManagementPolicy: OrderedReady`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::api::{Api, has_ended};
use super::job::owner_of_kind;
use crate::core::base::ids::Key;
use crate::core::time::Wall;
use crate::shim::observation::Body;
use crate::shim::op::Kind;

const KIND: &str = "StatefulSet";

/// All StatefulSets.
#[derive(Clone, Debug, Default)]
pub struct Sets {
    sets: BTreeMap<Key, StatefulSet>,
    /// Those that may want a pod now.
    stirred: BTreeSet<Key>,
}

impl Sets {
    /// A StatefulSet comes.
    pub fn add(&mut self, key: &Key, set: StatefulSet) {
        self.sets.insert(key.clone(), set);
        self.stirred.insert(key.clone());
    }

    /// A pod came, changed, or is gone.
    pub fn note(&mut self, pod: &Key, body: &Body) {
        self.stirred.extend(owner_of_kind(KIND, pod, body).filter(|set| self.sets.contains_key(set)));
    }

    /// Whether a StatefulSet may want a pod now.
    pub fn want(&self) -> bool {
        !self.stirred.is_empty()
    }

    /// How many pods one is to have; 0 if there is none.
    pub fn replicas(&self, key: &Key) -> u32 {
        let spec = self.sets.get(key).and_then(|set| set.spec.as_ref());
        spec.map_or(0, |spec| spec.replicas.unwrap_or(1).max(0).cast_unsigned())
    }

    /// Makes the next pod of each, and takes away those that have ended. One that is refused a pod tries again the next time.
    pub fn act(&mut self, api: &mut Api, now: Wall) {
        for key in std::mem::take(&mut self.stirred) {
            if !self.go_on(&key, api, now) {
                self.stirred.insert(key);
            }
        }
    }

    /// False: it was refused a pod.
    fn go_on(&self, key: &Key, api: &mut Api, now: Wall) -> bool {
        for number in 0..self.replicas(key) {
            let pod = Key { name: format!("{}-{number}", key.name).into(), ..key.clone() };
            let Some(Body::Pod(there)) = api.store.get(Kind::Pod, &pod) else {
                return self.pod(key).is_none_or(|body| api.create(&pod, body, now).is_ok());
            };
            let leaves = there.metadata.deletion_timestamp.is_some();
            if has_ended(there) && !leaves {
                // It is there, and its end is made known as that of any pod.
                drop(api.delete_pod(&pod, None, now));
                return true;
            }
            if leaves || !runs(there) {
                return true;
            }
        }
        true
    }

    fn pod(&self, key: &Key) -> Option<Body> {
        let template = self.sets.get(key)?.spec.as_ref()?.template.clone();
        let mut metadata = template.metadata.unwrap_or_default();
        metadata.owner_references = Some(vec![OwnerReference {
            api_version: "apps/v1".to_owned(),
            kind: KIND.to_owned(),
            name: key.name.to_string(),
            uid: format!("set-{}", key.name),
            controller: Some(true),
            ..OwnerReference::default()
        }]);
        Some(Body::Pod(Arc::new(Pod { metadata, spec: template.spec, status: None })))
    }
}

fn runs(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sim::kubelet;

    const NOW: Wall = Wall(0);

    #[test]
    fn one_after_the_other_and_anew_under_its_name() {
        let (mut api, mut sets) = (Api::default(), Sets::default());
        let key = |name: &str| Key::new("ns", name);
        let spec = json!({"spec": {"replicas": 2, "selector": {}, "serviceName": "s", "template": {}}});
        sets.add(&key("s"), serde_json::from_value(spec).expect("a StatefulSet"));
        let names =
            |api: &Api| -> Vec<String> { api.store.of_kind(Kind::Pod).map(|(key, _)| key.name.to_string()).collect() };
        let stir = |sets: &mut Sets, api: &mut Api| {
            sets.stirred.insert(key("s"));
            sets.act(api, NOW);
        };
        stir(&mut sets, &mut api);
        stir(&mut sets, &mut api);
        assert_eq!(names(&api), ["s-0"], "the first does not run");
        kubelet::set_phase(&mut api, &key("s-0"), "Running");
        stir(&mut sets, &mut api);
        assert_eq!((names(&api), sets.want()), (vec!["s-0".to_owned(), "s-1".to_owned()], false));
        kubelet::set_phase(&mut api, &key("s-0"), "Failed");
        stir(&mut sets, &mut api);
        assert_eq!(names(&api), ["s-1"], "who has ended is taken away");
        stir(&mut sets, &mut api);
        assert_eq!(names(&api), ["s-0", "s-1"]);
    }
}
