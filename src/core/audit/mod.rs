//! The books recomputed from scratch and compared: what does not add up is a bug of ours (04, I7).

mod namespaces;

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{AppId, AskId, GangId, Key, NodeId, QueueId};
use crate::core::base::resources::Totals;
use crate::core::model::ask::{AskState, WaitsFor};
use crate::core::model::books::asks_of;
use crate::core::model::claims::Before;
use crate::core::model::declared::Declared;
use crate::core::model::front::{Front, Place};
use crate::core::model::gang::Stage;
use crate::core::model::lifecycle::AppState;
use crate::core::model::seat::SeatState;
use crate::core::model::timers::Timer;
use crate::core::model::turn::{Line, Turn};
use crate::core::step::Scheduler;

impl Scheduler {
    /// Every inconsistency of the books, as sentences; empty when all adds up.
    pub fn audit(&self) -> Vec<String> {
        let mut violations = Vec::new();
        self.audit_charges(&mut violations);
        self.audit_seats(&mut violations);
        self.audit_kept(&mut violations);
        self.audit_tallies(&mut violations);
        self.audit_declared(&mut violations);
        self.audit_lines(&mut violations);
        self.audit_ghosts(&mut violations);
        self.audit_gangs(&mut violations);
        self.audit_queues(&mut violations);
        self.audit_order(&mut violations);
        self.audit_namespaces(&mut violations);
        self.audit_turns(&mut violations);
        self.audit_fronts(&mut violations);
        violations
    }

    /// What is still remembered, as names of maps; empty once every object is gone and time has passed (04, I13). The
    /// two queues that always exist do not count. Every field is named, so that a new one is not forgotten here.
    pub fn leftovers(&self) -> Vec<&'static str> {
        let Self { books, planner, out, lines, heads, lacks, revision: _ } = self;
        let own = [("decisions", out.len()), ("bounds on room", planner.bounds.len()), ("firsts in line", heads.len())];
        own.into_iter()
            .chain(lines.sizes())
            .chain(lacks.sizes())
            .chain(books.sizes())
            .filter(|(_, count)| *count > 0)
            .map(|(name, _)| name)
            .collect()
    }

    fn audit_charges(&self, violations: &mut Vec<String>) {
        let mut nodes: BTreeMap<NodeId, Totals> = BTreeMap::new();
        let mut queues: BTreeMap<QueueId, Totals> = BTreeMap::new();
        for (id, ask) in self.books.asks.iter() {
            let is_parked = matches!(ask.state, AskState::Parked { .. });
            if !is_parked && ask.node().is_some() != ask.charge.is_some() {
                violations.push(format!("{} is {:?} but its charge is {:?}", ask.spec.key, ask.state, ask.charge));
            }
            let Some(charge) = &ask.charge else { continue };
            if matches!(ask.state, AskState::Bound { .. }) && charge.on_node != *self.books.request(id) {
                violations.push(format!("{} is bound and not charged whole: {charge:?}", ask.spec.key));
            }
            nodes.entry(charge.node).or_default().add(&charge.on_node, 1);
            let path = charge.queue.into_iter().flat_map(|queue| self.books.queues.counting(queue));
            path.for_each(|queue| queues.entry(queue).or_default().add(&charge.in_queue, 1));
        }
        for charge in self.books.kept.iter().filter_map(|(_, kept)| kept.charge.as_ref()) {
            nodes.entry(charge.node).or_default().add(&charge.on_node, 1);
            let path = charge.queue.into_iter().flat_map(|queue| self.books.queues.counting(queue));
            path.for_each(|queue| queues.entry(queue).or_default().add(&charge.in_queue, 1));
        }
        for (node, expected) in nodes {
            if self.books.nodes.charged(node) != Some(&expected) {
                violations
                    .push(format!("node {:?} is charged otherwise than by its pods", self.books.nodes.name(node)));
            }
        }
        for (id, queue) in self.books.queues.all() {
            if queue.allocated != queues.remove(&id).unwrap_or_default() {
                violations.push(format!("queue {} is charged otherwise than by its pods", queue.path));
            }
        }
    }

    fn audit_seats(&self, violations: &mut Vec<String>) {
        for (id, group) in self.books.groups.iter() {
            if group.seats.recount() != group.seats.tally() {
                violations.push(format!("the tally of {} is wrong", group.key));
            }
            let along = self.books.going_along(group).len() as u32;
            let total = group.spec.as_ref().and_then(|spec| spec.total_member).unwrap_or(0);
            if along > total.saturating_sub(group.seats.len()) {
                violations.push(format!("{along} members of {} start beyond its seats, which has {total}", group.key));
            }
            for (number, seat) in group.seats.iter() {
                let state = seat.state;
                let holds =
                    |ask| self.books.asks.get(ask).is_some_and(|ask| ask.seat == Some(number) && ask.group == Some(id));
                let fine = match state {
                    SeatState::Open(crate::core::model::seat::Reserve::Pending(ask))
                    | SeatState::Assumed(ask)
                    | SeatState::Binding(ask)
                    | SeatState::Held(ask)
                    | SeatState::Leaving(ask)
                    | SeatState::Freed(ask)
                    | SeatState::Taken(Some(ask)) => holds(ask),
                    SeatState::Releasing { placeholder, member } => holds(placeholder) && holds(member),
                    SeatState::Kept(kept) => self.books.kept.get(kept).is_some_and(|kept| {
                        (kept.group, kept.seat) == (Some(id), Some(number)) && kept.app == group.app.unwrap_or(kept.app)
                    }),
                    SeatState::Open(_) | SeatState::Taken(None) => true,
                };
                if !fine {
                    violations.push(format!("seat {number} of {} is {state:?}, but its pod says otherwise", group.key));
                }
            }
        }
    }

    /// Each kept seat belongs to an application that may come for it, has a timer, and is found where it is looked for.
    fn audit_kept(&self, violations: &mut Vec<String>) {
        for (id, kept) in self.books.kept.iter() {
            let app = self.books.apps.get(kept.app);
            let own = kept.group.map_or_else(
                || app.is_some_and(|app| app.kept.contains(&id)),
                |group| self.books.groups.get(group).is_some_and(|group| group.kept.contains(&id)),
            );
            let lives = app.is_some_and(|app| {
                matches!(app.state(), AppState::New | AppState::Accepted | AppState::Running | AppState::Waiting)
            });
            let has_seat = kept.seat.is_none_or(|seat| {
                let group = kept.group.and_then(|group| self.books.groups.get(group));
                group.and_then(|group| group.seats.get(seat)).is_some_and(|seat| seat.state == SeatState::Kept(id))
            });
            let stands = match &kept.charge {
                Some(charge) => self.books.kept_on.get(&charge.node).is_some_and(|kept| kept.contains(&id)),
                None => self.books.unhoused.contains(&id),
            };
            if !own || !lives || !has_seat || !stands || !self.books.timers.is_set(Timer::Hold(id)) {
                violations.push(format!("a seat is kept for nobody: {kept:?}"));
            }
        }
    }

    fn audit_tallies(&self, violations: &mut Vec<String>) {
        let mut active = BTreeMap::new();
        let mut pending = BTreeMap::new();
        let mut living = BTreeMap::new();
        for (_, ask) in self.books.asks.iter() {
            let Some(app) = ask.app else { continue };
            *active.entry(app).or_insert(0) += u32::from(ask.is_active());
            let parked = matches!(ask.state, AskState::Parked { .. });
            *living.entry(app).or_insert(0) += u32::from(ask.is_active() && !ask.spec.terminating || parked);
            *pending.entry(app).or_insert(0) += u32::from(!ask.is_placeholder() && (ask.is_pending() || parked));
        }
        for (id, app) in self.books.apps.iter() {
            let [active, living, pending] =
                [&mut active, &mut living, &mut pending].map(|of| of.remove(&id).unwrap_or(0));
            let (own, expected) = ((app.active, app.living, app.pending), (active, living, pending));
            if own != expected {
                let what = "active, living and pending pods";
                violations.push(format!("{} counts {own:?} {what}, there are {expected:?}", app.key));
            }
        }
    }

    /// What pods declare is counted by application, and a member that waits is of its task group or an ordinary pod as these counts
    /// and the TaskGroups say.
    fn audit_declared(&self, violations: &mut Vec<String>) {
        let mut declared: BTreeMap<Key, Declared> = BTreeMap::new();
        for (id, ask) in self.books.asks.iter() {
            if let Some(says) = &ask.spec.declares {
                let of_app = declared.entry(ask.spec.key.beside(&says.application)).or_default();
                of_app.count(&says.groups, ask.spec.place == crate::core::event::Place::Pending, true);
            }
            let is_ordinary = self.books.is_ordinary(id);
            let is_grouped = ask.state != AskState::Waiting || ask.spec.application.is_none();
            if !is_grouped && self.books.due.regroup.is_empty() && is_ordinary != self.books.ordinary_of(id).is_some() {
                violations.push(format!("{} belongs elsewhere than its application's task groups say", ask.spec.key));
            }
        }
        let counted = declared.iter().filter(|(app, all)| self.books.declaring.get(*app) == Some(*all)).count();
        if counted != declared.len() || counted != self.books.declaring.len() {
            violations.push("other task groups are declared than are counted".into());
        }
    }

    fn audit_lines(&self, violations: &mut Vec<String>) {
        for (id, ask) in self.books.asks.iter() {
            let has = |set: &BTreeSet<(crate::core::model::ask::Rank, AskId)>| set.contains(&(ask.rank(), id));
            let stands = match ask.waits_for {
                WaitsFor::Nothing => true,
                WaitsFor::Seat(group) => has(&self.books.groups[group].waiting),
                WaitsFor::Start(app) => has(&self.books.gang_of(app).originators),
                WaitsFor::Room(line) => {
                    let group = ask.group.and_then(|group| self.books.groups.get(group));
                    self.books.ordinary.get(&line).is_some_and(has) && group.is_none_or(|group| has(&group.overflow))
                }
                WaitsFor::Queue => self.books.queueless.contains(&id),
            };
            if !stands || (ask.waits_for != WaitsFor::Nothing && !ask.is_pending()) {
                violations.push(format!("{} is {:?} and waits for {:?}", ask.spec.key, ask.state, ask.waits_for));
            }
        }
    }

    /// Lines, groups and applications list only pods that exist and say the same of themselves; turns and seats
    /// likewise.
    fn audit_ghosts(&self, violations: &mut Vec<String>) {
        let on =
            |ask: &AskId, line: fn(WaitsFor) -> bool| self.books.asks.get(*ask).is_some_and(|ask| line(ask.waits_for));
        for (_, group) in self.books.groups.iter() {
            let waits = group.waiting.iter().all(|(_, ask)| on(ask, |line| matches!(line, WaitsFor::Seat(_))));
            let ordinary = group.overflow.iter().all(|(_, ask)| on(ask, |line| matches!(line, WaitsFor::Room(..))));
            if !waits || !ordinary || group.asks.iter().any(|ask| self.books.asks.get(*ask).is_none()) {
                violations.push(format!("{} lists pods that are not there", group.key));
            }
        }
        for (id, app) in self.books.apps.iter() {
            let gang = self.books.gang_of(id);
            let waits = gang.originators.iter().all(|(_, ask)| on(ask, |line| matches!(line, WaitsFor::Start(_))));
            let asks = app.asks.iter().all(|ask| self.books.asks.get(*ask).is_some_and(|ask| ask.app == Some(id)));
            let groups =
                app.groups.iter().all(|group| self.books.groups.get(*group).is_some_and(|group| group.app == Some(id)));
            if !waits || !asks || !groups {
                violations.push(format!("{} lists what is not there", app.key));
            }
        }
        for asks in self.books.ordinary.values() {
            if !asks.iter().all(|(_, ask)| on(ask, |line| matches!(line, WaitsFor::Room(..)))) {
                violations.push("an ordinary ask waits that is not there".into());
            }
        }
        for (id, ask) in self.books.asks.iter() {
            let seated = ask.seat.is_none_or(|seat| {
                let group = ask.group.and_then(|group| self.books.groups.get(group));
                group
                    .and_then(|group| group.seats.get(seat))
                    .is_some_and(|seat| asks_of(seat.state).any(|own| own == id))
            });
            if !seated {
                violations.push(format!("{} believes to have seat {:?}", ask.spec.key, ask.seat));
            }
        }
    }

    /// A gang and its applications and task groups refer to each other, and its stage agrees with the state of its
    /// applications.
    fn audit_gangs(&self, violations: &mut Vec<String>) {
        for (id, gang) in self.books.gangs.iter() {
            let apps = || gang.apps.iter().filter_map(|app| self.books.apps.get(*app));
            let same_apps = apps().count() == gang.apps.len() && apps().all(|app| app.gang == id);
            let same_groups = apps().flat_map(|app| &app.groups).eq(&gang.groups)
                && self.books.groups_of(id).all(|group| group.gang == Some(id));
            let has_started = matches!(gang.stage(), Stage::Leaving | Stage::Started);
            let same_stage = apps().all(|app| app.has_started() == has_started);
            if !same_apps || !same_groups || !same_stage {
                violations.push(format!("a gang of {:?} and what starts with it differ", gang.apps));
            }
        }
    }

    /// What the queues count of applications.
    fn audit_queues(&self, violations: &mut Vec<String>) {
        let mut counts: BTreeMap<QueueId, ([u32; AppState::ALL.len()], Totals, u32)> = BTreeMap::new();
        for (_, app) in self.books.apps.iter() {
            if app.counted.as_ref().map(|counted| (counted.queue, counted.state))
                != app.queue.map(|queue| (queue, app.state()))
                && self.books.listed.all
            {
                violations.push(format!("{} is {} and counted as {:?}", app.key, app.state(), app.counted));
            }
            for queue in app.queue.into_iter().flat_map(|queue| self.books.queues.counting(queue)) {
                counts.entry(queue).or_default().2 += u32::from(app.admitted);
            }
            let Some(counted) = &app.counted else { continue };
            for queue in self.books.queues.counting(counted.queue) {
                let count = counts.entry(queue).or_default();
                count.0[counted.state as usize] += 1;
                count.1.add_all(&counted.pending);
            }
        }
        for (id, queue) in self.books.queues.all() {
            let (applications, pending, admitted) = counts.remove(&id).unwrap_or_default();
            if (queue.applications, &queue.pending, queue.admitted) != (applications, &pending, admitted) {
                violations.push(format!("queue {} counts other applications than there are", queue.path));
            }
        }
    }

    /// What the order among queues, and within one, goes by: what each application uses, and who starts.
    fn audit_order(&self, violations: &mut Vec<String>) {
        let mut used: BTreeMap<AppId, Totals> = BTreeMap::new();
        for (_, ask) in self.books.asks.iter() {
            if let (Some(app), Some(charge)) = (ask.app, ask.charge.as_ref().filter(|charge| charge.queue.is_some())) {
                used.entry(app).or_default().add(&charge.in_queue, 1);
            }
        }
        for (id, app) in self.books.apps.iter() {
            if app.used != used.remove(&id).unwrap_or_default() {
                violations.push(format!("{} uses something else than its pods", app.key));
            }
        }
        let mut starting: BTreeMap<QueueId, BTreeSet<GangId>> = BTreeMap::new();
        for (id, queue) in self.books.gangs.iter().filter_map(|(id, gang)| Some((id, gang.starts_in()?))) {
            starting.entry(queue).or_default().insert(id);
        }
        for (id, queue) in self.books.queues.all() {
            if queue.starting != starting.remove(&id).unwrap_or_default() {
                violations.push(format!("queue {} counts other gangs that start than there are", queue.path));
            }
        }
        let orders = self.books.queues.iter().any(|(_, queue)| queue.spec.orders_something());
        if orders != self.books.queues.are_ordered() {
            violations.push("whether some queue is promised something is counted wrong".into());
        }
    }

    /// A gang that tries to start stands in one line at the gate or has one claim on each queue of its path, and these
    /// hold no other. Every line that holds somebody is due, asleep, or about to be looked at.
    fn audit_turns(&self, violations: &mut Vec<String>) {
        let mut at_gate = 0;
        let mut claims: BTreeMap<QueueId, (usize, Totals)> = BTreeMap::new();
        let mut lines: BTreeSet<Line> = self.books.ordinary.keys().map(|line| Line::Pods(*line)).collect();
        for (id, gang) in self.books.gangs.iter() {
            match gang.turn() {
                Some(Turn::Gate { rank, queue, form }) => {
                    let line = self.books.gate.get(&(*queue, form.clone()));
                    if line.and_then(|line| line.gangs.get(rank)) != Some(&id) {
                        violations.push(format!("{} does not stand in its line", rank.key));
                    }
                    at_gate += 1;
                    lines.insert(Line::Gate(*queue, form.clone()));
                }
                Some(Turn::Past { queue, need, .. }) => {
                    for queue in self.books.queues.counting(*queue) {
                        let (count, sum) = claims.entry(queue).or_default();
                        *count += 1;
                        sum.add_all(need);
                    }
                    lines.insert(Line::Gang(id));
                }
                Some(Turn::Round { rank, .. }) => {
                    if *gang.stage() != Stage::Started {
                        violations.push(format!("{} has not started, and starts members once more", rank.key));
                    }
                    lines.insert(Line::Gang(id));
                }
                None => {}
            }
        }
        if self.books.gate.values().map(|line| line.gangs.len()).sum::<usize>() != at_gate {
            violations.push("a gang stands at the gate and does not try to start".into());
        }
        for (id, queue) in self.books.queues.all() {
            let expected = claims.remove(&id).unwrap_or_default();
            if (queue.claims.iter().count(), queue.claims.total(Before::All)) != (expected.0, &expected.1) {
                violations.push(format!("queue {} has other claims than there are", queue.path));
            }
        }
        let is_known = |line: &&Line| self.lines.knows(line) || self.books.changes.lines.contains(*line);
        if let Some(line) = lines.iter().find(|line| !is_known(line)) {
            violations.push(format!("nobody will look at {line:?}"));
        }
        if let Some(line) =
            self.lines.iter().find(|line| !lines.contains(*line) && !self.books.changes.lines.contains(*line))
        {
            violations.push(format!("nobody stands in {line:?}"));
        }
    }

    /// A gang that waits stands in front of its queue where it believes to, and headroom is kept for whoever is first in
    /// line there and for nobody else.
    fn audit_fronts(&self, violations: &mut Vec<String>) {
        let places = || self.books.gangs.iter().filter_map(|(id, gang)| Some((id, gang.place()?)));
        let stands = |(id, place): (GangId, &Place)| {
            self.books.gangs[id].is_before_start()
                && self.books.fronts.get(&place.queue).is_some_and(|front| front.has(place, id))
        };
        if !places().all(stands) || places().count() != self.books.fronts.values().map(Front::len).sum::<usize>() {
            violations.push("gangs stand elsewhere in front of their queue than they believe".into());
        }
        let keeps = self.books.queues.iter().filter(|(_, queue)| queue.keeps.is_some()).map(|(id, _)| id);
        if !keeps.eq(self.heads.levels()) {
            violations.push("queues keep headroom for others than those who are first in line".into());
        }
    }
}
