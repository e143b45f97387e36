//! L6 at rest: the sentence that an object shows is the one that a look at everything makes now.

use gangline::api::task_group::TaskGroupStatus;
use gangline::core::base::ids::Key;
use gangline::core::step::Scheduler;
use gangline::shim::escape::bounded;
use gangline::shim::observation::Body;
use gangline::shim::op::Kind;

use crate::sim::people::node_of;
use crate::sim::world::World;

/// Longest message that is written.
const MAX_MESSAGE: usize = 1_000;

impl World {
    /// What TaskGroups and pods say is so.
    pub(super) fn check_sentences(&mut self) {
        if self.are_two() {
            return;
        }
        let Some(process) = &self.process else { return };
        let core = process.controller.core();
        let wrong = self.wrong_of_groups(core).or_else(|| self.wrong_of_pods(core)).or_else(|| self.waits_for_others());
        if let Some(wrong) = wrong {
            self.violated("L6", wrong);
        }
    }

    fn wrong_of_groups(&self, core: &Scheduler) -> Option<String> {
        self.api.store.of_kind(Kind::TaskGroup).find_map(|(key, body)| {
            let Body::TaskGroup(group) = body else { return None };
            let is = core.group_message_anew(*core.books.group_ids.get(key)?);
            differ(key, &group.status.as_ref()?.message, &is)
        })
    }

    /// At rest nobody waits for headroom that others only ask for: a gang that waits harms nobody, but for one that is first
    /// in line and was overtaken for long enough.
    fn waits_for_others(&self) -> Option<String> {
        let waits = |status: &TaskGroupStatus| {
            let kept = status.message.contains("of which gangs before it");
            status.reason == "WaitingForQuota" && kept && !status.message.contains(" is first in line ")
        };
        let statuses = self.groups().into_iter().filter_map(|(name, group)| Some((name, group.status?)));
        let (name, status) = statuses.into_iter().find(|(_, status)| waits(status))?;
        Some(format!("{name} waits for what others ask for: {}", status.message))
    }

    fn wrong_of_pods(&self, core: &Scheduler) -> Option<String> {
        core.books.asks.iter().find_map(|(id, ask)| {
            let is = core.ask_message_anew(&core.ask_reason(id)?);
            let body = self.api.store.get(Kind::Pod, &ask.spec.key)?;
            let Body::Pod(pod) = body else { return None };
            let mut said = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let said = said.find(|one| one.type_ == "PodScheduled")?.message.as_ref()?;
            let is_sure = node_of(body).is_none() && !self.said_late.contains(&ask.spec.key.to_string());
            differ(&ask.spec.key, said, &is).filter(|_| is_sure)
        })
    }
}

fn differ(key: &Key, said: &str, is: &str) -> Option<String> {
    let is = bounded(is, MAX_MESSAGE);
    (*said != *is).then(|| format!("{key} says {said:?}, and it is {is:?}"))
}
