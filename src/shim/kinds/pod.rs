//! What is kept of pods: their names and UIDs by the core's numbers for them, and the condition with which each was
//! last seen.

use std::num::NonZeroU64;

use k8s_openapi::api::core::v1::{Pod, PodCondition};

use super::Kept;
use crate::core::base::arena::Arena;
use crate::core::base::ids::{AskId, Key, Text, Uid};
use crate::core::event::{Event, Place, Role};
use crate::core::reason::Objection;
use crate::shim::dialect::Spoken;
use crate::shim::known::{Known, Sight, Version, Whose};
use crate::shim::observation::Malformed;
use crate::shim::pod::{Served, ask_spec};

/// All pods that matter: ours, and those of others that use a node.
#[derive(Clone, Debug, Default)]
pub(in crate::shim) struct Pods {
    served: Served,
    known: Known<AskId>,
    /// What each ask is a pod of.
    pub(in crate::shim) asks: Arena<AskId, PodName>,
}

/// What a call about a pod needs.
#[derive(Clone, Debug)]
pub struct PodName {
    /// Namespace and name.
    pub key: Key,
    /// UID.
    pub uid: Uid,
    /// The version at which it was seen last; `None` if it could not be read there, or the version is no number.
    pub version: Option<NonZeroU64>,
    /// Whether it says that its gang has timed out; `None` in words that do not say so, and of a pod that ends or has ended.
    pub timed_out: Option<bool>,
    /// Reason and message of its `PodScheduled=False` when the pod was last seen; `None` if we have sent another one
    /// since.
    said: Option<Box<(String, String)>>,
    /// What it says in another system's words, while it waits for a node, or would if its gang had not timed out.
    spoken: Option<Box<Spoken>>,
}

impl PodName {
    /// Whether the pod's condition says this already.
    pub fn says(&self, condition: &PodCondition) -> bool {
        let said = self.said.as_deref();
        said.is_some_and(|(reason, message)| {
            condition.reason.as_ref() == Some(reason) && condition.message.as_ref() == Some(message)
        })
    }

    /// The reason that the pod's condition gives.
    pub fn reason_said(&self) -> Option<&str> {
        self.said.as_deref().map(|(reason, _)| reason.as_str())
    }

    /// What it says in another system's words of the TaskGroups of its application, while it waits for a node, or would if its
    /// gang had not timed out.
    pub fn spoken(&self) -> Option<&Spoken> {
        self.spoken.as_deref()
    }

    /// What it says in another system's words and was read otherwise than it is written.
    pub fn warnings(&self) -> &[Text] {
        self.spoken.as_deref().map_or(&[], |spoken| &spoken.warnings)
    }

    /// Another condition is sent to the pod now than the one with which it was last seen.
    pub(in crate::shim) fn forget_said(&mut self) {
        self.said = None;
    }
}

impl Pods {
    /// No pods yet, of a scheduler with these names.
    pub(in crate::shim) fn new(served: Served) -> Self {
        Self { served, ..Self::default() }
    }

    fn drop_ask(&mut self, ask: AskId) -> Event {
        self.asks.remove(ask);
        Event::AskGone(ask)
    }

    /// The ask of a pod that is there, which has one already if it was known before.
    fn ask_of(&mut self, at: Version, whose: Whose) -> AskId {
        if let Some(ask) = self.known.get(&at.key) {
            return *ask;
        }
        let ask = self.asks.insert(PodName {
            key: at.key.clone(),
            uid: at.uid.clone(),
            version: None,
            timed_out: None,
            said: None,
            spoken: None,
        });
        self.known.put(at, whose, ask);
        ask
    }
}

impl Kept for Pods {
    type Object = Pod;
    type Facts = AskId;

    fn known(&self) -> &Known<AskId> {
        &self.known
    }

    fn known_mut(&mut self) -> &mut Known<AskId> {
        &mut self.known
    }

    fn whose(&self, pod: &Pod) -> Whose {
        if self.served.owns(pod) { Whose::Ours } else { Whose::Others }
    }

    fn see(&mut self, at: Version, pod: &Pod) -> Vec<Event> {
        let mut events = Vec::new();
        match self.known.sight(&at) {
            Sight::Stale => return events,
            Sight::Replaced(old) => events.push(self.drop_ask(old)),
            Sight::New | Sight::Changed => {}
        }
        let spoken = self.served.spoken(pod);
        let (spec, whose) = (ask_spec(pod, &self.served, spoken.as_ref()), self.whose(pod));
        // Another scheduler's pod matters while it uses a node.
        if spec.role == Role::Foreign && !matches!(spec.place, Place::On { .. }) {
            if self.known.get(&at.key).is_some() {
                events.extend(self.known.gone(&at.key, &at.uid, whose).map(|ask| self.drop_ask(ask)));
            }
            return events;
        }
        let version = NonZeroU64::new(at.rv);
        let ask = self.ask_of(at, whose);
        if let Some(name) = self.asks.get_mut(ask) {
            name.version = version;
            name.said = waits_because(pod);
            let is_over = spec.terminating || matches!(spec.place, Place::Succeeded | Place::Failed { .. });
            name.timed_out = spoken.as_ref().and_then(|spoken| spoken.timed_out).filter(|_| !is_over);
            let refers = |spoken: &Spoken| spoken.refers.is_some() || spoken.has_timed_out() && spoken.is_declaration();
            let declares = |spoken: &Spoken| spec.declares.is_some() || refers(spoken) && !spec.terminating;
            name.spoken = spoken.filter(|spoken| declares(spoken) && waits(&spec.place)).map(Box::new);
        }
        events.push(Event::Ask(ask, Box::new(spec)));
        events
    }

    fn see_malformed(&mut self, at: Version, _: Malformed) -> Vec<Event> {
        match self.known.sight(&at) {
            Sight::Replaced(ask) => vec![self.drop_ask(ask)],
            Sight::Changed => {
                let ask = self.known.get(&at.key).copied();
                ask.and_then(|ask| self.asks.get_mut(ask)).into_iter().for_each(|name| name.version = None);
                Vec::new()
            }
            Sight::New | Sight::Stale => Vec::new(),
        }
    }

    fn lost(&mut self, _: &Key, ask: AskId) -> Vec<Event> {
        vec![self.drop_ask(ask)]
    }

    fn beside(&self) -> Option<&'static str> {
        (self.asks.len() > 0).then_some("names of pods")
    }
}

/// Whether a pod waits for a node, or would if it did not say that its gang has timed out.
fn waits(place: &Place) -> bool {
    match place {
        Place::Pending => true,
        Place::Refused(objection) => matches!(**objection, Objection::GivenUp(_)),
        Place::Gated | Place::On { .. } | Place::Succeeded | Place::Failed { .. } => false,
    }
}

/// Reason and message of `PodScheduled=False`.
fn waits_because(pod: &Pod) -> Option<Box<(String, String)>> {
    let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
    let condition = conditions.find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")?;
    Some(Box::new((condition.reason.clone()?, condition.message.clone()?)))
}
