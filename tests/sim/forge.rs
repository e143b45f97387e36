//! Placeholders that somebody else makes: the names of ours follow from what everybody can read.

use gangline::api::task_group::TaskGroup;
use gangline::core::base::ids::{Key, Uid};
use gangline::core::event::PlaceholderName;
use gangline::shim::op::Kind;
use gangline::shim::placeholder::pod_name;
use serde_json::json;

use super::homes::USUAL_QUEUE;
use super::marks::{Seat, seat_label};
use super::oracle::application_of;
use super::people::{NS, label};
use super::world::World;

/// Says of a pod that it only has the name of a placeholder.
const SQUATTER: &str = "example.com/squatter";

impl World {
    /// The placeholder that comes next for the first seat of a group, or another pod under its name.
    pub(crate) fn forge(&mut self, group: &str, milli: u32, squats: bool) {
        if squats && self.calm_ms.is_some() {
            // Nobody would take it away any more.
            return;
        }
        let Some((_, object)) = self.groups().into_iter().find(|(name, _)| name == group) else { return };
        let application = application_of(group, &object);
        let Some(next) = self.next_placeholder(group, &object) else { return };
        let name = pod_name(&next, &application);
        let queue = object.spec.queue.or_else(|| self.home(NS));
        let labels = if squats {
            json!({SQUATTER: "true"})
        } else {
            json!({"gangline.dev/placeholder": "true", "gangline.dev/application-id": application,
                   "gangline.dev/task-group": group, "gangline.dev/seat": next.seat.to_string(),
                   "gangline.dev/queue": queue.as_deref().unwrap_or(USUAL_QUEUE),
                   "gangline.dev/incarnation": format!("{}.{}", next.uid, next.incarnation),
                   "gangline.dev/attempt": next.attempt.to_string()})
        };
        let scheduler = if squats { "other" } else { "gangline" };
        let container = json!({"name": "main", "resources": {"requests": {"cpu": format!("{milli}m")}}});
        let spec = json!({"schedulerName": scheduler, "containers": [container], "priority": 0});
        let is_taken = self
            .apply(Kind::Pod, &json!({"metadata": {"name": name, "namespace": NS, "labels": labels}, "spec": spec}));
        if is_taken && !squats {
            // Nothing tells it from one that the scheduler made.
            self.disturb(group);
            self.take_for_made(&Key::new(NS, name));
        }
    }

    fn next_placeholder(&self, group: &str, object: &TaskGroup) -> Option<PlaceholderName> {
        let uid = Uid::new(object.metadata.uid.as_deref()?);
        let incarnation = object.status.as_ref().map_or(1, |status| status.incarnation.max(1));
        let seat = Seat { incarnation: format!("{uid}.{incarnation}"), number: 0 };
        let pods = self.api.store.of_kind(Kind::Pod).map(|(_, body)| body);
        let attempts = pods.filter(|body| seat_label(body).as_ref() == Some(&seat));
        let last = attempts.filter_map(|body| label(body, "gangline.dev/attempt")?.parse::<u32>().ok()).max();
        let attempt = last.map_or(0, |last| last + 1);
        Some(PlaceholderName { group: Key::new(NS, group), uid, incarnation, seat: 0, attempt })
    }

    /// An administrator takes away what stands in the way of placeholders.
    pub(crate) fn clear_squatters(&mut self) {
        let pods = self.api.store.of_kind(Kind::Pod).filter(|(_, body)| label(body, SQUATTER).is_some());
        let squatters: Vec<Key> = pods.map(|(key, _)| key.clone()).collect();
        squatters.iter().for_each(|key| self.api.store.remove(Kind::Pod, key));
    }

    /// Whether a pod only has the name of a placeholder.
    pub(crate) fn is_squatter(&self, key: &Key) -> bool {
        self.api.store.get(Kind::Pod, key).is_some_and(|body| label(body, SQUATTER).is_some())
    }
}
