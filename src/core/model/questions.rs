//! What the books answer about pods.

use crate::core::base::ids::{AppId, AskId, GangId, GroupId, NodeId, Uid};
use crate::core::event::{Place, Role};
use crate::core::model::ask::{Ask, AskState};
use crate::core::model::books::Books;
use crate::core::model::group::Ended;
use crate::core::model::lifecycle::AppState;
use crate::core::model::seat::SeatState;
use crate::core::shape::NodeSpec;

impl Books {
    /// The pods charged on a node, in the order of their names.
    pub(in crate::core) fn residents(&self, node: NodeId) -> Vec<AskId> {
        self.by_name(self.residents.get(&node).into_iter().flatten().copied())
    }

    /// The seat and the member for which a placeholder is deleted, while that swap goes on.
    pub(in crate::core) fn swap_of(&self, placeholder: AskId) -> Option<(GroupId, u32, AskId)> {
        let ask = &self.asks[placeholder];
        let (group, seat) = ask.group.zip(ask.seat)?;
        let SeatState::Releasing { placeholder: leaves, member } = self.groups[group].seats.get(seat)?.state else {
            return None;
        };
        (leaves == placeholder).then_some((group, seat, member))
    }

    /// All pods of an application, in no order.
    pub(in crate::core) fn app_asks(&self, id: AppId) -> impl Iterator<Item = AskId> {
        let app = &self.apps[id];
        let of_groups = app.groups.iter().flat_map(|group| self.groups[*group].asks.iter());
        app.asks.iter().chain(of_groups).copied()
    }

    /// Whether a pod's Binding says that the gang had started in that life.
    pub(in crate::core) fn started_in(&self, ask: AskId, life: u32) -> bool {
        let is_started = self.asks[ask].spec.mark.as_ref().is_some_and(|mark| mark.started);
        is_started && self.life_of(&self.asks[ask]) == Some(life)
    }

    /// Whether a member of the application runs or is being bound, whoever chose its node, or an originator that is
    /// being bound or started with this incarnation. An originator that ran before does not count: a process that
    /// starts now would not take it for a start either.
    pub(in crate::core) fn has_real_allocations(&self, id: AppId) -> bool {
        let app = &self.apps[id];
        let counts = |ask: AskId| {
            self.asks[ask].group.is_some() || self.is_being_bound(ask) || self.started_in(ask, app.incarnation)
        };
        app.living > 0
            && self.app_asks(id).any(|ask| {
                let entry = &self.asks[ask];
                let lives = entry.is_active() && !entry.spec.terminating;
                lives && !matches!(entry.state, AskState::Assumed { sent: false, .. }) && counts(ask)
            })
    }

    /// Whether the start of an application can still be called off: it was decided, and none of its pods was bound or is being
    /// bound yet, since all of them wait for their placeholders to go (ADR 25). Not where a placeholder cannot be deleted, and
    /// its member goes elsewhere: another one would not be either.
    pub(in crate::core) fn may_call_off(&self, id: AppId) -> bool {
        let app = &self.apps[id];
        let binds = |id: AskId| {
            let ask = &self.asks[id];
            if ask.is_placeholder() {
                return ask.leaving.is_some() && ask.refused.is_some() && ask.seat.is_none();
            }
            let runs = matches!(ask.state, AskState::Bound { .. }) && !ask.spec.terminating && ask.group.is_some();
            runs || self.is_being_bound(id) || self.started_in(id, app.incarnation)
        };
        let is_done = app.has_lived || app.groups.is_empty() || app.timed_out.is_some();
        !is_done && app.state() == AppState::Running && !self.app_asks(id).any(binds)
    }

    /// The same of all applications of a gang.
    pub(in crate::core) fn may_call_off_gang(&self, id: GangId) -> bool {
        self.gangs[id].apps.iter().all(|app| self.may_call_off(*app))
    }

    /// Whether a placeholder holds a seat, or is being bound to, of a gang before its start, or whose start can still be
    /// called off.
    pub(in crate::core) fn awaits_start(&self, id: AskId) -> bool {
        let ask = &self.asks[id];
        let (Some(group), Some(seat)) = (ask.group.map(|group| &self.groups[group]), ask.seat) else {
            return false;
        };
        let holds = matches!(
            group.seats.get(seat).map(|seat| seat.state),
            Some(SeatState::Held(own) | SeatState::Binding(own)) if own == id
        );
        holds && group.gang.is_some_and(|gang| self.gangs[gang].is_before_start() || self.may_call_off_gang(gang))
    }

    /// Whether the pod belongs to a gang that has started and is not complete yet.
    pub(in crate::core) fn is_being_started(&self, id: AskId) -> bool {
        let app = self.asks[id].app.map(|app| &self.apps[app]);
        app.is_some_and(|app| app.state() == AppState::Running && !app.placed && !app.groups.is_empty())
    }

    /// Whether a Binding of the pod was decided, and has not ended as far as is known.
    pub(in crate::core) fn is_being_bound(&self, id: AskId) -> bool {
        self.asks.get(id).is_some_and(|ask| matches!(ask.state, AskState::Assumed { sent: true, .. }))
    }

    /// Whether a Binding of the pod was decided, and the pod has not been seen with it yet. Only the mark on the pod
    /// then says for which TaskGroup it was bound.
    pub(in crate::core) fn is_bound_unseen(&self, id: AskId) -> bool {
        let ask = &self.asks[id];
        let is_seen = ask.spec.mark.is_some() || matches!(ask.spec.place, Place::On { .. });
        matches!(ask.state, AskState::Bound { .. }) && !is_seen || self.is_being_bound(id)
    }

    /// Whether a pod belongs where it did when its Binding was decided, and asks for nothing that we cannot give.
    pub(in crate::core) fn is_as_decided(&self, id: AskId) -> bool {
        let ask = &self.asks[id];
        let is_refused = ask.spec.place.is_refused() && !ask.is_placeholder();
        !self.lacks_its_group(id) && ask.relabelled.is_none() && !is_refused
    }

    /// Whether our Binding of a member says that it was made for the present incarnation of its application.
    pub(in crate::core) fn is_of_this_life(&self, ask: &Ask) -> bool {
        let group = ask.group.map(|group| &self.groups[group]);
        let life = group.and_then(|group| Some((&group.spec.as_ref()?.uid, self.apps.get(group.app?)?.incarnation)));
        let marked = ask.spec.mark.as_ref().and_then(|mark| Some((mark.group.as_ref()?, mark.incarnation)));
        !ask.is_placeholder() && marked.is_some() && marked == life
    }

    /// The incarnation of its application in which our Binding says that a pod was bound.
    pub(in crate::core) fn life_of(&self, ask: &Ask) -> Option<u32> {
        let mark = ask.spec.mark.as_ref()?;
        self.is_uid_of(ask.app, mark.group.as_ref()?).then_some(mark.incarnation)
    }

    /// Whether one of the task groups of an application has this UID.
    pub(in crate::core) fn is_uid_of(&self, app: Option<AppId>, uid: &Uid) -> bool {
        app.and_then(|app| self.apps.get(app))
            .is_some_and(|app| app.groups.iter().any(|group| self.groups[*group].spec().uid == *uid))
    }

    /// Whether a pod is of a life of its application that is over, and about to go.
    pub(in crate::core) fn is_of_an_earlier_life(&self, ask: &Ask) -> bool {
        let now = ask.app.and_then(|app| self.apps.get(app)).map(|app| app.incarnation);
        ask.hands_over || ask.spec.terminating && self.life_of(ask).is_some_and(|life| Some(life) < now)
    }

    /// Whether nobody runs pods on a node now: its object is gone, or says that its kubelet is not heard of.
    pub(in crate::core) fn is_lost(&self, node: NodeId) -> bool {
        self.nodes.spec(node).is_none_or(NodeSpec::is_not_ready)
    }

    /// How the members of a group ended that are there, in the present incarnation.
    pub(in crate::core) fn found_ended(&self, id: GroupId) -> Ended {
        let mut ended = Ended::default();
        for ask in self.groups[id].asks.iter().map(|ask| &self.asks[*ask]) {
            if ask.state == AskState::Finished && self.is_of_this_life(ask) {
                ended.stopped += u32::from(ask.was_stopped);
                ended.count(ask.spec.place.failure().cloned());
            }
        }
        ended
    }

    /// Whether a member's TaskGroup is gone.
    pub(in crate::core) fn lacks_its_group(&self, id: AskId) -> bool {
        let ask = &self.asks[id];
        matches!(ask.spec.role, Role::Member { .. }) && ask.group.is_none() && ask.app.is_none()
    }

    /// A group's pods in the order of their names: decisions must not depend on the order of arrival.
    pub(in crate::core) fn sorted_asks(&self, id: GroupId) -> Vec<AskId> {
        let Some(group) = self.groups.get(id) else { return Vec::new() };
        self.by_name(group.asks.iter().copied())
    }

    /// Those of these pods that are there, in the order of their names.
    pub(in crate::core) fn by_name(&self, asks: impl IntoIterator<Item = AskId>) -> Vec<AskId> {
        let found = asks.into_iter().filter_map(|id| Some((&self.asks.get(id)?.spec.key, id)));
        let mut asks: Vec<_> = found.collect();
        asks.sort_unstable();
        asks.into_iter().map(|(_, id)| id).collect()
    }
}
