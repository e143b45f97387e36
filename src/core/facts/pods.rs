//! Pods come, change and go: what each means for seats and books (01, 1.4, 1.5).

use std::collections::BTreeSet;

use crate::core::base::ids::{AppId, AskId, GroupId, Key, QueueId, Text};
use crate::core::decision::TerminationType;
use crate::core::event::{AskSpec, Place, Role};
use crate::core::model::ask::{Ask, AskState, WaitsFor};
use crate::core::model::books::Books;
use crate::core::model::due::Verdict;
use crate::core::model::lifecycle::AppState;
use crate::core::model::queue::DEFAULT_QUEUE;
use crate::core::model::seat::{Reserve, SeatState};
use crate::core::reason::Loss;

/// So many makers of pods that succeeded are remembered of one application.
const MAKERS_MAX: usize = 64;
/// How a member ended that went with its node.
const NODE_LOST: &str = "node lost";

impl Books {
    /// A pod as last observed.
    pub(in crate::core) fn see_ask(&mut self, id: AskId, spec: AskSpec) {
        let stood = self.asks.get(id).map_or(WaitsFor::Nothing, |ask| ask.waits_for);
        let (declared, named) = (self.declared_by(id), self.named_by(id));
        match self.asks.get(id) {
            None => self.add_ask(id, spec),
            Some(_) => self.replace_spec(id, spec),
        }
        self.note_named(id, named);
        if self.was_bound_for_another(id) {
            self.take_all_back(id);
        }
        self.relink(id);
        self.recognise(id);
        self.follow_place(id);
        if self.is_being_bound(id) && !self.is_as_decided(id) {
            self.due.doubted.insert(id);
        }
        self.line_up(id);
        let (stands, app) = (self.asks[id].waits_for, self.asks[id].app);
        if stood != stands {
            self.ask_changed(stood, true);
        }
        if let (WaitsFor::Nothing, WaitsFor::Seat(_), Some(app)) = (stood, stands, app) {
            self.extend_settling(self.apps[app].gang);
        }
        if let (WaitsFor::Nothing, true, Some(app)) = (stood, stands != WaitsFor::Nothing, app) {
            self.due.joined.insert(app);
        }
        self.note_declared(id, declared);
        self.note(id);
    }

    /// What a pod declares, for which application, and whether it waits for a node.
    fn declared_by(&self, id: AskId) -> Option<(Key, Vec<Text>, bool)> {
        let spec = &self.asks.get(id)?.spec;
        let declares = spec.declares.as_ref()?;
        Some((spec.key.beside(&declares.application), declares.groups.clone(), spec.place == Place::Pending))
    }

    /// An application without TaskGroups that has not started waits for those which a pod declares for it.
    fn note_declared(&mut self, id: AskId, before: Option<(Key, Vec<Text>, bool)>) {
        let now = self.declared_by(id);
        if now == before {
            return;
        }
        before.iter().for_each(|before| self.count_declared(before, false));
        let Some(now) = now else { return };
        self.count_declared(&now, true);
        let (app, groups, waits) = now;
        let is_new = before.is_none_or(|(before, ..)| before != app) && waits && !groups.is_empty();
        let starts = |app: &AppId| self.apps[*app].groups.is_empty() && self.apps[*app].state() == AppState::Accepted;
        if let Some(app) = self.app_ids.get(&app).copied().filter(|app| is_new && starts(app)) {
            self.due.judge(app, Verdict::Incomplete);
        }
    }

    fn count_declared(&mut self, (app, groups, waits): &(Key, Vec<Text>, bool), is_more: bool) {
        let mut declared = self.declaring.remove(app).unwrap_or_default();
        if declared.count(groups, *waits, is_more) {
            self.doubt_groups_of(app);
        }
        if !declared.is_nothing() {
            self.declaring.insert(app.clone(), declared);
        }
    }

    /// The application that a member names beside its task group.
    fn named_by(&self, id: AskId) -> Option<Key> {
        let spec = &self.asks.get(id)?.spec;
        spec.application.as_ref().map(|application| spec.key.beside(application))
    }

    fn note_named(&mut self, id: AskId, before: Option<Key>) {
        let now = self.named_by(id);
        if now == before {
            return;
        }
        if let Some(before) = before
            && let Some(pods) = self.naming.get_mut(&before)
        {
            pods.remove(&id);
            if pods.is_empty() {
                self.naming.remove(&before);
            }
        }
        let Some(now) = now else { return };
        match self.naming.get_mut(&now) {
            Some(pods) => drop(pods.insert(id)),
            None => drop(self.naming.insert(now, BTreeSet::from([id]))),
        }
    }

    fn add_ask(&mut self, id: AskId, spec: AskSpec) {
        let ask = Ask {
            relabelled: None,
            class: None,
            app: None,
            group: None,
            state: AskState::Waiting,
            seat: None,
            charge: None,
            waits_for: WaitsFor::Nothing,
            leaving: None,
            started_with_gang: false,
            hands_over: false,
            was_stopped: false,
            failing: false,
            refused: None,
            shown: None,
            spec,
        };
        self.asks.insert(id, ask);
        self.intern(id);
    }

    fn replace_spec(&mut self, id: AskId, mut spec: AskSpec) {
        let ask = &self.asks[id];
        let is_reshaped = ask.spec.shape != spec.shape;
        if ask.is_placeholder() || self.may_have_a_node(id) {
            self.settle_role(id, &mut spec.role);
        } else {
            self.asks[id].relabelled = None;
        }
        if is_reshaped || self.asks[id].spec.role != spec.role {
            self.take_undecided_back(id);
            // What it belongs to now has not been given up.
            self.asks[id].failing &= self.asks[id].spec.role == spec.role;
        }
        self.stand_in_line(id, WaitsFor::Nothing);
        if is_reshaped {
            self.drop_class(id);
        }
        self.respec(id, spec);
        if is_reshaped {
            self.intern(id);
        }
    }

    /// Labels can change, but what a pod belongs to is settled with its Binding. So the old role stays, and the one
    /// that the labels say now is only noted.
    fn settle_role(&mut self, id: AskId, said: &mut Role) {
        let ask = &mut self.asks[id];
        let said = std::mem::replace(said, ask.spec.role.clone());
        ask.relabelled = (said != ask.spec.role && !ask.is_placeholder()).then_some(said);
    }

    /// If the Binding of a pod was not made, the role counts that its labels say now.
    pub(in crate::core) fn follow_labels(&mut self, id: AskId) {
        if self.may_have_a_node(id) {
            return;
        }
        if let Some(role) = self.asks[id].relabelled.take() {
            let spec = AskSpec { role, ..self.asks[id].spec.clone() };
            self.see_ask(id, spec);
        }
    }

    /// Whether a pod has or had a node, or may have one before we hear of it.
    fn may_have_a_node(&self, id: AskId) -> bool {
        match self.asks[id].state {
            AskState::Assumed { sent, .. } => sent && self.asks[id].refused.is_none(),
            AskState::Bound { .. } | AskState::Finished => true,
            AskState::Waiting | AskState::Parked { .. } => false,
        }
    }

    /// Takes back what was decided for a pod, if its Binding has not been decided yet, or was refused.
    fn take_undecided_back(&mut self, id: AskId) {
        if !self.may_have_a_node(id) {
            self.take_all_back(id);
        }
    }

    fn take_all_back(&mut self, id: AskId) {
        match self.asks[id].state {
            AskState::Assumed { .. } => self.unassume(id),
            AskState::Parked { .. } => self.leave_swap(id),
            AskState::Waiting | AskState::Bound { .. } | AskState::Finished => {}
        }
    }

    /// Whether an earlier process bound a member for an earlier TaskGroup of the same name, while this process has
    /// decided to give the member a seat of the present one.
    fn was_bound_for_another(&self, id: AskId) -> bool {
        let ask = &self.asks[id];
        let marked = ask.spec.mark.as_ref().and_then(|mark| mark.group.as_ref());
        let own = ask.group.and_then(|group| self.groups[group].spec.as_ref());
        let decided = matches!(ask.state, AskState::Assumed { .. } | AskState::Parked { .. });
        decided && marked.zip(own).is_some_and(|(marked, own)| *marked != own.uid)
    }

    /// Gives a pod that we may place its class.
    fn intern(&mut self, id: AskId) {
        let ask = &self.asks[id];
        let waits = !matches!(ask.spec.place, Place::On { .. } | Place::Succeeded | Place::Failed { .. });
        if ask.class.is_none() && waits && ask.spec.role != Role::Foreign {
            let shape = ask.spec.shape.clone();
            self.asks[id].class = Some(self.classes.intern(&shape, &self.nodes));
        }
    }

    fn drop_class(&mut self, id: AskId) {
        if let Some(class) = self.asks[id].class.take() {
            self.classes.release(class);
            self.due.dropped.insert(class);
        }
    }

    /// The placeholder that is being created for a seat is there: whatever else is said of it in the same batch is said of
    /// that seat.
    fn recognise(&mut self, id: AskId) {
        let ask = &self.asks[id];
        let (Role::Placeholder(name), Some(group)) = (&ask.spec.role, ask.group) else { return };
        let (seat, is_awaited) = (name.seat, self.placeholder_name(group, name.seat).as_ref() == Some(name));
        let state = self.groups[group].seats.get(seat).map(|seat| seat.state);
        if is_awaited && state == Some(SeatState::Open(Reserve::Creating)) {
            self.seat(group, seat, SeatState::Open(Reserve::Pending(id)));
            self.changes.pass_due = true;
        }
    }

    /// Where the pod stands now, compared with where we thought it stood.
    fn follow_place(&mut self, id: AskId) {
        let ask = &self.asks[id];
        match (ask.spec.place.clone(), ask.state) {
            (Place::On { .. } | Place::Succeeded | Place::Failed { .. }, AskState::Finished) => {}
            (Place::On { node, .. }, _) => self.bound(id, &node),
            (Place::Succeeded | Place::Failed { .. }, _) => self.finish(id),
            (Place::Pending, AskState::Waiting) if ask.is_placeholder() => self.look_for_seat(id),
            // A member that may not be placed any more gives its seat back. If its Binding was decided nothing changes:
            // this may be a state of the pod from before that.
            (Place::Gated | Place::Refused(_), _) => self.take_undecided_back(id),
            (Place::Pending, _) if ask.spec.terminating => self.take_undecided_back(id),
            (Place::Pending, _) => {}
        }
    }

    /// The API server has the pod on a node: the pod is charged there, whatever we had decided.
    pub(in crate::core) fn bound(&mut self, id: AskId, node: &Text) {
        self.take_back_elsewhere(id, node);
        let node = self.nodes.id_of(node);
        let already = self.asks[id].charge.as_ref().map(|charge| charge.node);
        let queue = if already == Some(node) { None } else { self.queue_charged(id) };
        self.confirm(id, node, queue);
        queue.into_iter().for_each(|queue| self.doubt_quota_of_kept(queue, id));
        self.look_for_seat(id);
    }

    /// Somebody else bound a pod to a node: a process that knows nothing of what is kept may have taken the quota of that.
    fn doubt_quota_of_kept(&mut self, queue: QueueId, id: AskId) {
        if self.kept.len() > 0 && self.queues.is_overdrawn(queue, self.request(id)) {
            self.due.beyond_quota.extend(self.kept.iter().map(|(id, _)| id));
        }
    }

    /// Notes a pod that may have a seat, or may show that its gang has started.
    fn look_for_seat(&mut self, id: AskId) {
        let ask = &self.asks[id];
        if ask.app.is_some() || ask.group.is_some() {
            self.due.found.insert(id);
        }
    }

    /// Somebody else gave the pod a node. A swap for it is called off, and what was charged for that is freed. If we
    /// had chosen another node for it and not decided its Binding yet, that is taken back.
    fn take_back_elsewhere(&mut self, id: AskId, node: &Text) {
        match self.asks[id].state {
            AskState::Parked { .. } => self.unpark(id),
            AskState::Assumed { node: other, sent: false } if self.nodes.name(other) != Some(node) => {
                self.unassume(id);
            }
            AskState::Assumed { .. } | AskState::Waiting | AskState::Bound { .. } | AskState::Finished => {}
        }
        self.stand_in_line(id, WaitsFor::Nothing);
    }

    /// The queue a pod with a node is charged to, or its submitter's part of that; `None` for other schedulers' pods.
    fn queue_charged(&mut self, id: AskId) -> Option<QueueId> {
        let queue = self.queue_of_charge(id)?;
        // A Binding wrote on it whose part it was.
        let submitter = self.asks[id].spec.submitter.clone();
        Some(if self.queues.submitter(queue).is_some() { queue } else { self.queues.share(queue, submitter.as_ref()) })
    }

    fn queue_of_charge(&mut self, id: AskId) -> Option<QueueId> {
        let ask = &self.asks[id];
        if ask.spec.role == Role::Foreign {
            return None;
        }
        // The mark of its Binding says which queue was charged then, perhaps by an earlier process and before its
        // application was known here.
        if let Some(mark) = &ask.spec.mark {
            return Some(self.queues.at(&mark.queue.clone()));
        }
        if let Some(queue) = ask.app.and_then(|app| self.apps[app].queue) {
            return Some(queue);
        }
        let of_group = || self.groups.get(ask.group?)?.spec.as_ref()?.queue.clone();
        // Somebody else bound it, or its mark is lost. Which queue is its namespace's may not be known yet, and is not asked,
        // so that the order in which objects are listed decides nothing.
        let path = ask.spec.queue.clone().or_else(of_group);
        Some(self.queues.at(path.as_deref().unwrap_or(DEFAULT_QUEUE)))
    }

    /// Succeeded or failed: uses nothing any more. A finished placeholder is a lost seat.
    fn finish(&mut self, id: AskId) {
        let lost = self.seat_of_placeholder(id);
        let node = self.asks[id].node().and_then(|node| self.nodes.name(node)).cloned();
        if matches!(self.asks[id].state, AskState::Parked { .. }) {
            self.leave_swap(id);
        }
        self.stand_in_line(id, WaitsFor::Nothing);
        let ask = &mut self.asks[id];
        let had_a_node = matches!(ask.state, AskState::Bound { .. } | AskState::Assumed { sent: true, .. });
        let was_being_bound = !ask.is_placeholder() && matches!(ask.state, AskState::Assumed { sent: true, .. });
        let app = ask.app.filter(|_| was_being_bound);
        ask.was_stopped = had_a_node && ask.spec.terminating && ask.spec.place == Place::Succeeded;
        if let Some(app) = app {
            // It was not seen with its node before.
            let app = &mut self.apps[app];
            app.has_lived |= app.has_started();
        }
        // A finished placeholder leaves its room to the member that is parked for its seat, as if the pod were gone.
        self.step_aside(id);
        self.keep(id);
        self.free(id);
        self.change(id, |ask| ask.state = AskState::Finished);
        let ask = &self.asks[id];
        let succeeded = ask.spec.place == Place::Succeeded && !ask.was_stopped;
        self.note_end(id, ask.spec.place.failure().cloned());
        if succeeded {
            self.note_maker(id);
        }
        let is_placeholder = self.asks[id].is_placeholder();
        if succeeded && !is_placeholder {
            // A member that succeeded keeps its seat, so that no other member takes it.
            self.vacate(id, SeatState::Taken(Some(id)));
        } else {
            self.vacate(id, SeatState::Open(Reserve::None));
        }
        if is_placeholder {
            self.release(id, TerminationType::StoppedByRm);
            let how = self.how_it_ended(id, node);
            lost.into_iter().for_each(|(group, seat)| self.placeholder_lost(group, seat, how.clone()));
        } else {
            // Its Binding may have been made by an earlier process, and this process may not have seen it before.
            self.look_for_seat(id);
        }
    }

    /// A member ended.
    fn note_end(&mut self, id: AskId, failed: Option<Text>) {
        let group = self.asks[id].group.filter(|_| self.is_of_this_life(&self.asks[id]));
        if let Some(group) = group {
            let was_stopped = self.asks[id].was_stopped;
            let ended = &mut self.groups[group].ended;
            ended.stopped += u32::from(was_stopped);
            ended.count(failed);
            self.changes.groups.insert(group);
        }
    }

    /// A pod of the present life of its application is gone.
    fn note_lived(&mut self, id: AskId) {
        let ask = &self.asks[id];
        let app = ask.app.filter(|app| self.life_of(ask) == Some(self.apps[*app].incarnation));
        if let Some(app) = app {
            let created = ask.spec.created;
            let newest = &mut self.apps[app].newest_lived;
            *newest = Some(newest.unwrap_or(created).max(created));
        }
    }

    /// A pod succeeded: others of the same maker go on with this life.
    fn note_maker(&mut self, id: AskId) {
        let ask = &self.asks[id];
        let (Some(app), Some(maker)) = (ask.app, ask.spec.controller.clone()) else { return };
        let is_of_this_life = self.life_of(ask) == Some(self.apps[app].incarnation);
        let known = &mut self.apps[app].succeeded_under;
        if is_of_this_life && known.len() < MAKERS_MAX {
            known.insert(maker);
        }
    }

    fn how_it_ended(&self, placeholder: AskId, node: Option<Text>) -> Loss {
        let spec = &self.asks[placeholder].spec;
        match &spec.place {
            _ if spec.terminating => Loss::Deleted,
            Place::Failed { reason, .. } => Loss::Refused { node: node.unwrap_or_default(), reason: reason.clone() },
            Place::Gated | Place::Refused(_) | Place::Pending | Place::On { .. } | Place::Succeeded => Loss::Ended,
        }
    }

    /// The group and seat of a placeholder that has not been given up; `None` for every other pod.
    pub(in crate::core) fn seat_of_placeholder(&self, id: AskId) -> Option<(GroupId, u32)> {
        let ask = &self.asks[id];
        ask.group.zip(ask.seat).filter(|_| ask.is_placeholder() && ask.leaving.is_none())
    }

    /// The pod is gone: confirms a release, or takes an ask or allocation away.
    pub(in crate::core) fn lose_ask(&mut self, id: AskId) {
        let Some(ask) = self.asks.get(id) else { return };
        let (app, group, state, waited_for) = (ask.app, ask.group, ask.state, ask.waits_for);
        let lost = self.seat_of_placeholder(id);
        if let AskState::Bound { node } = state
            && self.is_lost(node)
        {
            self.note_end(id, Some(NODE_LOST.into()));
        }
        self.note_lived(id);
        if !self.step_aside(id) {
            if let AskState::Parked { .. } = state {
                self.leave_swap(id);
            }
            self.keep(id);
            self.free(id);
            // A finished pod that still has a seat is a member that succeeded: no other member may take the seat.
            let has_succeeded = state == AskState::Finished;
            self.vacate(id, if has_succeeded { SeatState::Taken(None) } else { SeatState::Open(Reserve::None) });
        }
        self.stand_in_line(id, WaitsFor::Nothing);
        self.link(id, None, None);
        self.drop_class(id);
        self.forget_retry(id);
        let (declared, named) = (self.declared_by(id), self.named_by(id));
        self.asks.remove(id);
        self.note_named(id, named);
        self.note_declared(id, declared);
        self.ask_changed(waited_for, true);
        if let Some((group, seat)) = lost {
            self.placeholder_lost(group, seat, Loss::Deleted);
        }
        self.leave_idle(app, group);
    }
}
