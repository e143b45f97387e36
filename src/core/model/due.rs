//! What facts call for: noted in the books while events are applied, done once all of them are in (`gang/heed.rs`).

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{AppId, AskId, ClassId, GangId, GroupId, KeptId, Key, NodeId, Text};
use crate::core::base::marked::Marked;
use crate::core::event::PlaceholderName;
use crate::core::reason::{Reason, Refusal};

/// Facts decide nothing: what follows from them is noted here. An id here may be of something that has gone since: then
/// it finds nothing.
#[derive(Clone, Debug, Default)]
pub struct Due {
    /// Parked members whose placeholder is gone: they get their node before anything else does.
    pub freed: BTreeSet<AskId>,
    /// Applications that are to be judged again.
    pub verdicts: BTreeMap<AppId, Verdict>,
    /// Queues that changed, by their paths: applications that name one of them, one above or one below are judged
    /// again.
    pub queues: BTreeSet<Text>,
    /// Namespaces whose ResourceQuotas changed, likewise.
    pub namespaces: BTreeSet<Text>,
    /// Namespaces that other queues choose, or whose own queue is another one: work that waits there looks for its queue
    /// again.
    pub homes: BTreeSet<Text>,
    /// Task groups that came, and are to be taken into the application that they name.
    pub arrived: BTreeSet<GroupId>,
    /// Applications of which it may be known otherwise which task groups they have.
    pub regroup: BTreeSet<Key>,
    /// Applications to which pods came that wait.
    pub joined: BTreeSet<AppId>,
    /// Kept seats whose nodes may not take them.
    pub kept: BTreeSet<KeptId>,
    /// Kept seats for which others may have left no quota.
    pub beyond_quota: BTreeSet<KeptId>,
    /// Nodes whose objects went.
    pub lost: BTreeSet<NodeId>,
    /// Nodes that take less than they did: what was decided for them may not hold.
    pub shrunk: BTreeSet<NodeId>,
    /// Pods whose Binding was decided and may be wrong by now.
    pub doubted: BTreeSet<AskId>,
    /// Pods seen where they may have a seat, or may show that their gang has started.
    pub found: Marked<AskId>,
    /// Placeholders that the API server would not have.
    pub refused: BTreeMap<PlaceholderName, Refusal>,
    /// Classes that a pod had and has no more: nothing may be in them.
    pub dropped: BTreeSet<ClassId>,
    /// Gangs that give everything back and try again later, in the order in which that came; of several reasons the first
    /// counts. A refusal by a node that is gone by now is none.
    pub setbacks: Vec<(GangId, Option<NodeId>, Reason)>,
}

/// Why an application is judged again; of several reasons the last in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// What limits it, or what it asks for, changed.
    InDoubt,
    /// A task group of it is gone.
    Incomplete,
    /// A spec of it changed.
    Resubmitted,
}

impl Due {
    /// An application is to be judged again.
    pub fn judge(&mut self, id: AppId, verdict: Verdict) {
        let entry = self.verdicts.entry(id).or_insert(verdict);
        *entry = verdict.max(*entry);
    }

    /// A gang gives everything back and tries again later, unless this node is gone.
    pub fn setback(&mut self, id: GangId, unless_gone: Option<NodeId>, reason: Reason) {
        self.setbacks.push((id, unless_gone, reason));
    }

    /// Whether something is to be done.
    pub(in crate::core) fn is_empty(&self) -> bool {
        self.sizes().iter().all(|(_, count)| *count == 0)
    }

    /// How much each set holds.
    pub(super) fn sizes(&self) -> [(&'static str, usize); 17] {
        let Self {
            freed,
            verdicts,
            queues,
            namespaces,
            homes,
            arrived,
            regroup,
            joined,
            kept,
            beyond_quota,
            lost,
            shrunk,
            doubted,
            found,
            refused,
            dropped,
            setbacks,
        } = self;
        [
            ("members to get their node", freed.len()),
            ("applications to be judged again", verdicts.len()),
            ("queues that changed", queues.len()),
            ("namespaces that changed", namespaces.len()),
            ("namespaces whose queues changed", homes.len()),
            ("task groups that arrived", arrived.len()),
            ("applications known otherwise", regroup.len()),
            ("applications that pods came to", joined.len()),
            ("kept seats in doubt", kept.len()),
            ("kept seats beyond the quota", beyond_quota.len()),
            ("nodes that went", lost.len()),
            ("nodes that shrank", shrunk.len()),
            ("Bindings in doubt", doubted.len()),
            ("pods to be seated", found.len()),
            ("placeholders refused", refused.len()),
            ("classes left", dropped.len()),
            ("gangs to be set back", setbacks.len()),
        ]
    }
}
