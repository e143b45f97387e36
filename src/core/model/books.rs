//! The books: everything the core knows, and the only functions that change more than one of its parts at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::core::base::arena::{Arena, Lookup, Table};
use crate::core::base::ids::{AppId, AskId, GangId, GroupId, KeptId, Key, NodeId, QueueId, Text};
use crate::core::base::resources::{Limit, Resources};
use crate::core::event::{AskSpec, Place, Role};
use crate::core::model::application::{App, Counted};
use crate::core::model::ask::{Ask, AskState, Charge, Rank, WaitsFor};
use crate::core::model::bound::MostPlaceholders;
use crate::core::model::changes::Changes;
use crate::core::model::class::Classes;
use crate::core::model::declared::Declared;
use crate::core::model::due::Due;
use crate::core::model::front::Front;
use crate::core::model::gang::Gang;
use crate::core::model::group::{Ended, Group};
use crate::core::model::kept::KeptSeat;
use crate::core::model::namespaces::Namespace;
use crate::core::model::node::Nodes;
use crate::core::model::queue::Queues;
use crate::core::model::seat::SeatState;
use crate::core::model::timers::Timers;
use crate::core::model::turn::{Form, GateLine, Line, PodLine};
use crate::core::shape::HostPort;
use crate::core::time::Now;

/// Everything the core knows.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// Nodes, with what is charged on them.
    pub nodes: Nodes,
    /// Shapes of the pods that we may place.
    pub classes: Classes,
    /// The quota tree, with what is charged in it.
    pub queues: Queues,
    /// Pods.
    pub asks: Table<AskId, Ask>,
    /// Task groups.
    pub groups: Arena<GroupId, Group>,
    /// Task groups by namespace and name.
    pub group_ids: Lookup<Key, GroupId>,
    /// Applications.
    pub apps: Arena<AppId, App>,
    /// Applications by namespace and application id.
    pub app_ids: Lookup<Key, AppId>,
    /// Gangs: what starts together.
    pub gangs: Arena<GangId, Gang>,
    /// What is due when.
    pub timers: Timers,
    /// What changed since it was last looked at.
    pub changes: Changes,
    /// What facts call for and was not done yet.
    pub due: Due,
    /// The time of this step.
    pub now: Now,
    /// What is known completely.
    pub listed: Listed,
    /// Gangs before the gate that try to start, by queue and by what they ask for.
    pub gate: BTreeMap<(QueueId, Arc<Form>), GateLine>,
    /// Gangs that wait for quota or for nodes, by their leaf queue.
    pub fronts: BTreeMap<QueueId, Front>,
    /// Applications that have started and whose pods wait for room: for a seat that is open since their start was
    /// interrupted, or for more room than a held or kept seat has.
    pub lacking_room: BTreeSet<AppId>,
    /// Which task groups pods declare, by the application for which they do.
    pub declaring: Lookup<Key, Declared>,
    /// Members by the application that they name beside their task group.
    pub naming: Lookup<Key, BTreeSet<AskId>>,
    /// Applications that list a TaskGroup which they do not have.
    pub awaited: Lookup<Key, BTreeSet<AppId>>,
    /// Ordinary asks that wait, in the order of a pass.
    pub ordinary: BTreeMap<PodLine, BTreeSet<(Rank, AskId)>>,
    /// Pods outside applications whose queue takes nothing now.
    pub queueless: BTreeSet<AskId>,
    /// Room of lost pods that is kept for the next ones.
    pub kept: Arena<KeptId, KeptSeat>,
    /// The same by node.
    pub kept_on: Lookup<NodeId, BTreeSet<KeptId>>,
    /// Kept seats for which no node has room now.
    pub unhoused: BTreeSet<KeptId>,
    /// Pods charged on each node.
    pub residents: Lookup<NodeId, BTreeSet<AskId>>,
    /// Nodes whose kubelet is not ready or not heard of.
    pub not_ready: BTreeSet<NodeId>,
    /// Namespaces that have been seen.
    pub namespaces: BTreeMap<Text, Namespace>,
    /// What the ResourceQuotas of a namespace allow at all.
    pub namespace_limits: Lookup<Text, Limit>,
    /// How many placeholders gangs that are past the gate and have not started may come to ask for, by namespace.
    pub reserved: BTreeMap<Text, u64>,
    /// How many one gang may ask for.
    pub most_placeholders: MostPlaceholders,
}

/// Of which kinds every object is known, so that one that is not known does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Every kind has been listed or is known to be unserved: decisions are made.
    pub all: bool,
    /// TaskGroups.
    pub groups: bool,
    /// Queues.
    pub queues: bool,
}

/// What an ask counts as in the tallies of its application and group.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Standing {
    active: bool,
    living: bool,
    pending: bool,
    scheduled: bool,
    running: bool,
    held_back: bool,
    unsupported: bool,
    /// It belongs to no task group by its own words.
    outside: bool,
    placeholder: bool,
}

impl Standing {
    fn of(ask: &Ask) -> Self {
        let real = !ask.is_placeholder();
        let has_node = real && matches!(ask.state, AskState::Bound { .. });
        let is_parked = real && matches!(ask.state, AskState::Parked { .. });
        Self {
            active: ask.is_active(),
            living: ask.is_active() && !ask.spec.terminating || is_parked,
            // A parked ask is still to be allocated: it is pending.
            pending: real && ask.is_pending() || is_parked,
            scheduled: has_node,
            running: has_node && matches!(ask.spec.place, Place::On { running: true, .. }),
            held_back: real && matches!(ask.state, AskState::Assumed { sent: false, .. }),
            unsupported: real && ask.spec.place.is_refused() && !ask.spec.terminating,
            outside: matches!(ask.spec.role, Role::Originator { .. }),
            placeholder: !real,
        }
    }
}

/// What holds up a member that has a node and does not run.
fn held_up(ask: &Ask) -> Option<Text> {
    let standing = Standing::of(ask);
    ask.spec.held_up.clone().filter(|_| standing.scheduled && !standing.running)
}

fn adjust(tally: &mut u32, was: bool, is: bool) {
    *tally = *tally + u32::from(is) - u32::from(was);
}

impl Books {
    /// How much each map remembers, the two queues that always exist not counted.
    pub(in crate::core) fn sizes(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let Self {
            nodes,
            classes,
            queues,
            asks,
            groups,
            group_ids,
            apps,
            app_ids,
            gangs,
            timers,
            changes,
            due,
            now: _,
            listed: _,
            gate,
            fronts,
            lacking_room,
            declaring,
            naming,
            awaited,
            ordinary,
            queueless,
            kept,
            kept_on,
            unhoused,
            residents,
            not_ready,
            namespaces,
            namespace_limits,
            reserved,
            most_placeholders: _,
        } = self;
        [
            ("nodes", nodes.names()),
            ("classes", classes.len()),
            ("queues", queues.iter().count().saturating_sub(2)),
            ("parts of queues", queues.parts()),
            ("displaced queues", queues.displaced()),
            ("asks", asks.len()),
            ("groups", groups.len().max(group_ids.len())),
            ("apps", apps.len().max(app_ids.len())),
            ("gangs", gangs.len()),
            ("timers", timers.len()),
            ("lines at the gate", gate.len()),
            ("fronts", fronts.values().map(Front::len).sum()),
            ("lacking_room", lacking_room.len()),
            ("declared applications", declaring.len()),
            ("applications that members name", naming.len()),
            ("awaited task groups", awaited.len()),
            ("ordinary", ordinary.len()),
            ("queueless", queueless.len()),
            ("kept seats", kept.len().max(kept_on.len()).max(unhoused.len())),
            ("residents", residents.len()),
            ("nodes that are not ready", not_ready.len()),
            ("namespaces", namespaces.len()),
            ("namespace limits", namespace_limits.len()),
            ("namespaces with placeholders", reserved.len()),
        ]
        .into_iter()
        .chain(changes.sizes())
        .chain(due.sizes())
    }

    /// Changes an ask and keeps the tallies of its application and group: the one function that does.
    pub fn change<R>(&mut self, id: AskId, change: impl FnOnce(&mut Ask) -> R) -> R {
        let ask = &mut self.asks[id];
        let (was, was_held_up) = (Standing::of(ask), held_up(ask));
        let result = change(ask);
        let (is, is_held_up) = (Standing::of(ask), held_up(ask));
        let (app, group) = (ask.app, ask.group);
        self.recount(app, group, (Some(was), Some(is)));
        self.recount_held_up(group, was_held_up, is_held_up);
        self.note(id);
        result
    }

    fn recount(&mut self, app: Option<AppId>, group: Option<GroupId>, (was, is): (Option<Standing>, Option<Standing>)) {
        let of = |standing: Option<Standing>, what: fn(Standing) -> bool| standing.is_some_and(what);
        let both = |what: fn(Standing) -> bool| (of(was, what), of(is, what));
        if was == is {
            return;
        }
        if let Some(app) = app.and_then(|app| self.apps.get_mut(app)) {
            let (active, living, pending) = (both(|s| s.active), both(|s| s.living), both(|s| s.pending));
            adjust(&mut app.active, active.0, active.1);
            adjust(&mut app.living, living.0, living.1);
            adjust(&mut app.pending, pending.0, pending.1);
            if group.is_none() {
                // Nobody waits for those who do not start with the gang.
                let refused = both(|s| s.unsupported && s.outside);
                adjust(&mut app.refused, refused.0, refused.1);
            }
        }
        if let Some(members) = group.and_then(|group| self.groups.get_mut(group)).map(|group| &mut group.members) {
            for (tally, (was, is)) in [
                (&mut members.pending, both(|s| s.pending)),
                (&mut members.scheduled, both(|s| s.scheduled)),
                (&mut members.running, both(|s| s.running)),
                (&mut members.held_back, both(|s| s.held_back)),
                (&mut members.unsupported, both(|s| s.unsupported)),
                (&mut members.placeholders, both(|s| s.placeholder)),
            ] {
                adjust(tally, was, is);
            }
        }
    }

    fn recount_held_up(&mut self, group: Option<GroupId>, was: Option<Text>, is: Option<Text>) {
        let Some(group) = group.filter(|_| was != is).and_then(|group| self.groups.get_mut(group)) else { return };
        if let Some(is) = is {
            *group.held_up.entry(is).or_default() += 1;
        }
        if let Some(was) = was {
            let count = group.held_up.get_mut(&was).expect("it was counted");
            *count -= 1;
            if *count == 0 {
                group.held_up.remove(&was);
            }
        }
    }

    /// Links an ask to its application and group, or to none.
    pub fn link(&mut self, id: AskId, app: Option<AppId>, group: Option<GroupId>) {
        let ask = &self.asks[id];
        let (standing, old_app, old_group) = (Standing::of(ask), ask.app, ask.group);
        let held_up = held_up(ask);
        if (old_app, old_group) == (app, group) {
            return;
        }
        self.note(id);
        self.recount(old_app, old_group, (Some(standing), None));
        let charge = self.asks[id].charge.clone();
        self.count_use(old_app, charge.as_ref(), None);
        self.count_use(app, None, charge.as_ref());
        if old_group != group {
            self.recount_held_up(old_group, held_up.clone(), None);
            self.recount_held_up(group, None, held_up);
            if let Some(old) = old_group.and_then(|group| self.groups.get_mut(group)) {
                old.asks.remove(&id);
            }
            if let Some(group) = group {
                self.groups[group].asks.insert(id);
            }
        }
        if let Some(old) = old_app.and_then(|app| self.apps.get_mut(app)) {
            old.asks.remove(&id);
        }
        if let (Some(app), None) = (app, group) {
            self.apps[app].asks.insert(id);
        }
        let ask = &mut self.asks[id];
        (ask.app, ask.group) = (app, group);
        self.recount(app, group, (None, Some(standing)));
        self.note(id);
    }

    /// Puts a waiting ask where the pass finds it, or takes it from there.
    pub fn stand_in_line(&mut self, id: AskId, waits_for: WaitsFor) {
        let old = std::mem::replace(&mut self.asks[id].waits_for, waits_for);
        if old == waits_for {
            return;
        }
        let entry = (self.asks[id].rank(), id);
        if let WaitsFor::Room(line) = waits_for {
            self.queues.retain(line.queue);
        }
        self.leave_line(&entry, old);
        self.changes.asks.insert(id);
        for waits_for in [old, waits_for] {
            if let WaitsFor::Room(line) = waits_for {
                self.changes.lines.insert(Line::Pods(line));
            }
        }
        self.changes.pass_due |= waits_for != WaitsFor::Nothing;
        match waits_for {
            WaitsFor::Nothing => {}
            WaitsFor::Seat(group) => drop(self.groups[group].waiting.insert(entry)),
            WaitsFor::Start(app) => drop(self.gang_of_mut(app).originators.insert(entry)),
            WaitsFor::Room(line) => {
                if let Some(group) = self.group_of(id) {
                    group.overflow.insert(entry.clone());
                }
                self.ordinary.entry(line).or_default().insert(entry);
            }
            WaitsFor::Queue => drop(self.queueless.insert(id)),
        }
    }

    fn leave_line(&mut self, entry: &(Rank, AskId), waits_for: WaitsFor) {
        match waits_for {
            WaitsFor::Nothing => {}
            WaitsFor::Seat(group) => {
                self.groups.get_mut(group).into_iter().for_each(|group| leave(&mut group.waiting, entry));
            }
            WaitsFor::Start(app) if self.apps.get(app).is_some() => {
                leave(&mut self.gang_of_mut(app).originators, entry);
            }
            WaitsFor::Start(_) => {}
            WaitsFor::Room(line) => {
                if let Some(group) = self.group_of(entry.1) {
                    leave(&mut group.overflow, entry);
                }
                self.leave_ordinary(line, entry);
                self.queues.release(line.queue);
            }
            WaitsFor::Queue => drop(self.queueless.remove(&entry.1)),
        }
    }

    fn group_of(&mut self, id: AskId) -> Option<&mut Group> {
        self.groups.get_mut(self.asks[id].group?)
    }

    fn leave_ordinary(&mut self, key: PodLine, entry: &(Rank, AskId)) {
        let Some(asks) = self.ordinary.get_mut(&key) else { return };
        leave(asks, entry);
        if asks.is_empty() {
            self.ordinary.remove(&key);
        }
    }

    /// Charges an ask: node and queue together. Replaces what it had on the books.
    pub fn charge(&mut self, id: AskId, charge: Charge) {
        let ports = self.asks[id].spec.shape.ports.clone();
        self.recharge(id, Some(charge), &ports);
    }

    /// Takes a pod off node and queue: what it used is free.
    pub fn free(&mut self, id: AskId) {
        let ports = self.asks[id].spec.shape.ports.clone();
        self.recharge(id, None, &ports);
    }

    /// Gives an ask another spec; what it has on the books becomes what it requests now.
    pub fn respec(&mut self, id: AskId, spec: AskSpec) {
        let old_ports = self.asks[id].spec.shape.ports.clone();
        let is_reshaped = self.asks[id].spec.shape != spec.shape;
        self.change(id, |ask| ask.spec = spec);
        if let Some(Charge { node, queue, .. }) = self.asks[id].charge.clone().filter(|_| is_reshaped) {
            let request = self.request(id).clone();
            let charge = Charge { node, on_node: request.clone(), queue, in_queue: request };
            self.recharge(id, Some(charge), &old_ports);
        }
    }

    /// The new charge comes before the old one goes: a node without an object, or a queue that drains, is forgotten
    /// with its last charge.
    fn recharge(&mut self, id: AskId, charge: Option<Charge>, old_ports: &[HostPort]) {
        let ask = &mut self.asks[id];
        if let Some(new) = &charge {
            self.nodes.charge(new.node, &new.on_node, &ask.spec.shape.ports);
            new.queue.into_iter().for_each(|queue| self.queues.charge(queue, &new.in_queue));
        }
        self.changes.nodes |= charge != ask.charge;
        let is_foreign = ask.spec.role == Role::Foreign && charge != ask.charge;
        self.changes.outside.pods += u64::from(is_foreign);
        if let Some(new) = charge.as_ref().filter(|_| is_foreign) {
            // Another scheduler does not know what is kept there.
            self.due.kept.extend(self.kept_on.get(&new.node).into_iter().flatten());
        }
        let old = std::mem::replace(&mut ask.charge, charge);
        let queues = [&old, &ask.charge].map(|charge| charge.as_ref().and_then(|charge| charge.queue));
        let (app, now) = (ask.app, ask.charge.clone());
        queues.into_iter().flatten().for_each(|queue| self.show_queue(queue));
        self.count_use(app, old.as_ref(), now.as_ref());
        if let Some(old) = &old {
            self.nodes.discharge(old.node, &old.on_node, old_ports);
            self.changes.grown.insert(old.node);
            self.changes.pass_due = true;
            old.queue.into_iter().for_each(|queue| self.queues.discharge(queue, &old.in_queue));
        }
        self.reside(id, old.as_ref().map(|charge| charge.node));
    }

    /// What a pod has on the books is what its application uses of its queue.
    fn count_use(&mut self, app: Option<AppId>, was: Option<&Charge>, is: Option<&Charge>) {
        let Some(app) = app.and_then(|app| self.apps.get_mut(app)).filter(|_| was != is) else { return };
        let counts = |charge: &&Charge| charge.queue.is_some();
        is.filter(counts).into_iter().for_each(|charge| app.used.add(&charge.in_queue, 1));
        was.filter(counts).into_iter().for_each(|charge| app.used.sub(&charge.in_queue, 1));
    }

    fn reside(&mut self, id: AskId, old: Option<NodeId>) {
        let new = self.asks[id].charge.as_ref().map(|charge| charge.node);
        if old == new {
            return;
        }
        if let Some((old, residents)) = old.and_then(|old| Some((old, self.residents.get_mut(&old)?))) {
            residents.remove(&id);
            if residents.is_empty() {
                self.residents.remove(&old);
            }
        }
        if let Some(new) = new {
            match self.residents.get_mut(&new) {
                Some(residents) => drop(residents.insert(id)),
                None => drop(self.residents.insert(new, BTreeSet::from([id]))),
            }
        }
    }

    /// Charges an ask with all it requests.
    pub fn charge_whole(&mut self, id: AskId, node: NodeId, queue: Option<QueueId>) {
        let request = self.asks[id].spec.shape.request.clone();
        self.charge(id, Charge { node, on_node: request.clone(), queue, in_queue: request });
    }

    /// Gives a seat a new state. The asks that have the seat then know its number, and those that had it before do not
    /// any more.
    pub fn seat(&mut self, group: GroupId, number: u32, state: SeatState) {
        let seats = &mut self.groups[group].seats;
        let Some(old) = seats.get(number) else { return };
        for ask in asks_of(old.state) {
            if let Some(ask) = self.asks.get_mut(ask) {
                ask.seat = None;
            }
        }
        seats.set(number, state);
        for ask in asks_of(state) {
            self.asks[ask].seat = Some(number);
        }
        self.changes.groups.insert(group);
        self.changes.apps.extend(self.groups[group].app);
    }

    /// Ends the present life of a group: its seats go, and the counts of what happened in it.
    pub fn end_life(&mut self, group: GroupId) {
        self.clear_seats(group);
        self.groups[group].replaced = 0;
        self.groups[group].says_timed_out = false;
        self.groups[group].ended = Ended::default();
    }

    /// Takes all seats of a group away, as if they had never been.
    pub fn clear_seats(&mut self, group: GroupId) {
        let seats = std::mem::take(&mut self.groups[group].seats);
        // What is kept is kept for the whole of the next life.
        seats.kept().for_each(|(_, kept)| self.kept[kept].seat = None);
        for ask in seats.iter().flat_map(|(_, seat)| asks_of(seat.state)) {
            if let Some(ask) = self.asks.get_mut(ask) {
                ask.seat = None;
            }
        }
    }

    /// What the queues on an application's path count of it: by state, and what it waits for.
    pub fn count_app(&mut self, id: AppId, counted: Option<Counted>) {
        if self.apps[id].counted == counted {
            return;
        }
        if let Some(new) = &counted {
            self.queues.count_app(new.queue, new.state, &new.pending, true);
            self.show_queue(new.queue);
        }
        let old = std::mem::replace(&mut self.apps[id].counted, counted);
        if let Some(old) = &old {
            self.show_queue(old.queue);
            self.queues.count_app(old.queue, old.state, &old.pending, false);
        }
    }

    /// The group of a key. If none is known, one without an object is made.
    pub fn group_at(&mut self, key: &Key) -> GroupId {
        if let Some(id) = self.group_ids.get(key) {
            return *id;
        }
        let id = self.groups.insert(Group::unseen(key.clone()));
        self.group_ids.insert(key.clone(), id);
        id
    }

    /// Forgets a group that neither an object nor a pod names any more.
    pub fn forget_group_if_idle(&mut self, id: GroupId) {
        if self.groups.get(id).is_some_and(|group| group.spec.is_none() && group.asks.is_empty()) {
            let group = self.groups.remove(id).expect("looked at just now");
            self.group_ids.remove(&group.key);
        }
    }

    /// What one ask requests.
    pub fn request(&self, id: AskId) -> &Resources {
        &self.asks[id].spec.shape.request
    }
}

pub(in crate::core) fn asks_of(state: SeatState) -> impl Iterator<Item = AskId> {
    use crate::core::model::seat::Reserve;
    let (one, other) = match state {
        SeatState::Open(Reserve::None | Reserve::Creating) => (None, None),
        SeatState::Open(Reserve::Pending(ask))
        | SeatState::Assumed(ask)
        | SeatState::Binding(ask)
        | SeatState::Held(ask)
        | SeatState::Leaving(ask) => (Some(ask), None),
        SeatState::Kept(_) => (None, None),
        SeatState::Releasing { placeholder, member } => (Some(placeholder), Some(member)),
        SeatState::Freed(member) => (Some(member), None),
        SeatState::Taken(ask) => (ask, None),
    };
    one.into_iter().chain(other)
}

/// Takes a pod from a line. It is the first as a rule, and then no names are compared.
fn leave(line: &mut BTreeSet<(Rank, AskId)>, entry: &(Rank, AskId)) {
    if line.first().is_some_and(|(_, first)| *first == entry.1) {
        line.pop_first();
    } else {
        line.remove(entry);
    }
}
