//! What changed in the books since it was last looked at.

use std::collections::BTreeSet;

use crate::core::base::ids::{AppId, AskId, GangId, GroupId, NodeId, QueueId, Text};
use crate::core::base::marked::Marked;
use crate::core::event::{Mode, PlaceholderName, Role};
use crate::core::model::books::Books;
use crate::core::model::group::Group;
use crate::core::model::turn::Line;

/// Every verb of the books notes here what it touches. What must be settled, planned again and shown follows from this,
/// and not from the place that made the change. An id here may be of something that has gone since: then it finds
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Applications to be settled.
    pub apps: Marked<AppId>,
    /// Pods whose shown reason may have changed.
    pub asks: Marked<AskId>,
    /// Task groups likewise.
    pub groups: BTreeSet<GroupId>,
    /// Queues likewise.
    pub queues: Marked<QueueId>,
    /// Pods that were found to be ordinary pods of the application that they name, although they name a task group.
    pub ordinary: BTreeSet<AskId>,
    /// Queues in which somebody else may be first in line.
    pub fronts: BTreeSet<QueueId>,
    /// A gang that was impossible asks for something else.
    pub doubted: bool,
    /// How often that changed which our own pods have no part in.
    pub outside: Outside,
    /// Namespaces in which fewer placeholders are asked for.
    pub freed: BTreeSet<Text>,
    /// Nodes that have more room, or take pods that they did not take.
    pub grown: BTreeSet<NodeId>,
    /// Nodes came, went or changed, or what is free on them: what was told of them may not be true any more.
    pub nodes: bool,
    /// Placeholders that were given up: their deletion is to be decided.
    pub given_up: BTreeSet<AskId>,
    /// Placeholders whose creation was called off.
    pub called_off: BTreeSet<PlaceholderName>,
    /// Lines of waiting work that somebody joined or left, or that hold somebody who changed.
    pub lines: BTreeSet<Line>,
    /// Something changed that may let waiting work go on.
    pub pass_due: bool,
}

/// How often nodes came, went or changed, and pods of others on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Nodes.
    pub nodes: u64,
    /// Pods of others.
    pub pods: u64,
}

impl Outside {
    /// A number that rises with every change, from 1 on.
    pub const fn epoch(self) -> u64 {
        1 + self.nodes + self.pods
    }
}

impl Changes {
    /// How much each set holds.
    pub(super) fn sizes(&self) -> [(&'static str, usize); 11] {
        let Self {
            apps,
            asks,
            groups,
            queues,
            ordinary,
            fronts,
            doubted: _,
            outside: _,
            freed,
            grown,
            nodes: _,
            given_up,
            called_off,
            lines,
            pass_due: _,
        } = self;
        [
            ("applications to be settled", apps.len()),
            ("pods to be shown", asks.len()),
            ("task groups to be shown", groups.len()),
            ("queues to be shown", queues.len()),
            ("members found to be ordinary pods", ordinary.len()),
            ("queues whose first may be another", fronts.len()),
            ("namespaces with fewer placeholders", freed.len()),
            ("nodes with more room", grown.len()),
            ("placeholders to be deleted", given_up.len()),
            ("creations called off", called_off.len()),
            ("lines to be looked at", lines.len()),
        ]
    }
}

impl Books {
    /// Notes that a pod has changed, and with it perhaps its application and its task group.
    pub fn note(&mut self, id: AskId) {
        let ask = &self.asks[id];
        if ask.spec.role != Role::Foreign {
            self.changes.asks.insert(id);
        }
        self.changes.groups.extend(ask.group);
        self.changes.apps.extend(ask.app);
    }

    /// Notes that everything that is shown of an application may have to be shown anew.
    pub fn show_app(&mut self, id: AppId) {
        let app = &self.apps[id];
        self.changes.groups.extend(app.groups.iter().chain(&app.outsiders));
        let queue = app.queue;
        queue.into_iter().for_each(|queue| self.show_queue(queue));
        let asks = self.shown_of_app(id);
        self.changes.asks.extend(asks);
    }

    /// Notes that a queue is shown anew. Of a part of one it is the queue: the part may be forgotten by the time that it is
    /// looked at.
    pub(in crate::core) fn show_queue(&mut self, id: QueueId) {
        self.changes.queues.insert(self.queues.leaf(id));
    }

    /// The pods of an application that may show the reason of its gang.
    fn shown_of_app(&self, id: AppId) -> Vec<AskId> {
        let app = &self.apps[id];
        let groups = app.groups.iter().map(|group| &self.groups[*group]);
        let of_groups = groups.flat_map(|group| {
            let placeholders = group.seats.open_with_placeholder().map(|(_, ask)| ask);
            // Whoever has a node and waits for the others says so where that may last.
            let held = group.seats.assumed().filter(|_| group.spec().mode == Mode::NonStrict);
            let waiting = group.waiting.iter().map(|(_, ask)| *ask);
            waiting.chain(placeholders).chain(held).chain(self.given_up_of(group))
        });
        // Before the start originators show the gang's reason, after it their own.
        app.asks.iter().copied().chain(of_groups).collect()
    }

    /// Members that say themselves that their gang has timed out: they stand in no line, and say what the gang says as long as
    /// that is refused.
    fn given_up_of<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = AskId> + 'a {
        let all = (group.members.unsupported > 0).then_some(&group.asks).into_iter().flatten().copied();
        all.filter(|ask| self.asks[*ask].spec.place.is_given_up())
    }

    /// The same of all applications of a gang.
    pub fn shown_of_gang(&self, id: GangId) -> Vec<AskId> {
        self.gangs[id].apps.iter().flat_map(|app| self.shown_of_app(*app)).collect()
    }

    /// The same for all applications of a gang.
    pub fn show_gang(&mut self, id: GangId) {
        self.gangs[id].apps.clone().into_iter().for_each(|app| self.show_app(app));
    }

    /// Notes that an application is to be settled.
    pub fn touch(&mut self, id: AppId) {
        self.changes.apps.insert(id);
    }

    /// Notes that all applications of a gang are to be settled.
    pub fn touch_gang(&mut self, id: GangId) {
        self.changes.apps.extend(self.gangs[id].apps.iter().copied());
    }
}
