//! The books recomputed from scratch and compared: what does not add up is a bug of ours (04, I7).

use std::collections::BTreeMap;

use super::ask::{AskState, Shelf};
use super::ids::{NodeId, QueueId};
use super::resources::Totals;
use super::scheduler::Scheduler;
use super::seat::SeatState;

impl Scheduler {
    /// Every inconsistency of the books, as sentences; empty when all adds up.
    pub fn audit(&self) -> Vec<String> {
        let mut violations = Vec::new();
        self.audit_charges(&mut violations);
        self.audit_seats(&mut violations);
        self.audit_tallies(&mut violations);
        self.audit_shelves(&mut violations);
        violations
    }

    /// What is still remembered, as names of maps; empty once every object is gone and time has passed (04, I13). The two
    /// queues that always exist do not count.
    pub fn leftovers(&self) -> Vec<&'static str> {
        let books = &self.books;
        let left = [
            ("asks", books.asks.len()),
            ("groups", books.groups.len().max(books.group_ids.len())),
            ("apps", books.apps.len().max(books.app_ids.len())),
            ("ordinary", books.ordinary.len()),
            ("residents", books.residents.len()),
            ("namespace limits", books.namespace_limits.len()),
            ("classes", books.classes.len()),
            ("nodes", books.nodes.names()),
            ("queues", books.queues.iter().count().saturating_sub(2)),
            ("contending", self.contending.len()),
            ("cramped", self.cramped.len()),
            ("room", self.room.len()),
            ("timers", self.timers.len()),
            ("retries", self.retries.len()),
            ("queueless", self.queueless.len()),
        ];
        left.into_iter().filter(|(_, count)| *count > 0).map(|(name, _)| name).collect()
    }

    fn audit_charges(&self, violations: &mut Vec<String>) {
        let mut nodes: BTreeMap<NodeId, Totals> = BTreeMap::new();
        let mut queues: BTreeMap<QueueId, Totals> = BTreeMap::new();
        for (_, ask) in self.books.asks.iter() {
            if (ask.node().is_some() || matches!(ask.state, AskState::Parked { .. })) != ask.charge.is_some()
                && !matches!(ask.state, AskState::Parked { .. })
            {
                violations.push(format!("{} is {:?} but its charge is {:?}", ask.spec.key, ask.state, ask.charge));
            }
            let Some(charge) = &ask.charge else { continue };
            nodes.entry(charge.node).or_default().add(&charge.on_node, 1);
            let path = charge.queue.into_iter().flat_map(|queue| self.books.queues.path(queue));
            path.for_each(|queue| queues.entry(queue).or_default().add(&charge.in_queue, 1));
        }
        for (node, expected) in nodes {
            if self.books.nodes.charged(node) != Some(&expected) {
                violations
                    .push(format!("node {:?} is charged otherwise than by its pods", self.books.nodes.name(node)));
            }
        }
        for (id, queue) in self.books.queues.iter() {
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
            for (number, seat) in group.seats.iter() {
                let state = seat.state;
                let holds =
                    |ask| self.books.asks.get(ask).is_some_and(|ask| ask.seat == Some(number) && ask.group == Some(id));
                let fine = match state {
                    SeatState::Open(super::seat::Reserve::Pending(ask))
                    | SeatState::Assumed(ask)
                    | SeatState::Held(ask)
                    | SeatState::Taken(Some(ask)) => holds(ask),
                    SeatState::Releasing { placeholder, member } => holds(placeholder) && holds(member),
                    SeatState::Open(_) | SeatState::Taken(None) => true,
                };
                if !fine {
                    violations.push(format!("seat {number} of {} is {state:?}, but its pod says otherwise", group.key));
                }
            }
        }
    }

    fn audit_tallies(&self, violations: &mut Vec<String>) {
        let mut active = BTreeMap::new();
        let mut pending = BTreeMap::new();
        for (_, ask) in self.books.asks.iter() {
            let Some(app) = ask.app else { continue };
            *active.entry(app).or_insert(0) += u32::from(ask.is_active());
            let parked = matches!(ask.state, AskState::Parked { .. });
            *pending.entry(app).or_insert(0) += u32::from(!ask.is_placeholder() && (ask.is_pending() || parked));
        }
        for (id, app) in self.books.apps.iter() {
            let expected = (active.remove(&id).unwrap_or(0), pending.remove(&id).unwrap_or(0));
            if (app.active, app.pending) != expected {
                let own = (app.active, app.pending);
                violations.push(format!("{} counts {own:?} active and pending pods, there are {expected:?}", app.key));
            }
        }
    }

    fn audit_shelves(&self, violations: &mut Vec<String>) {
        for (id, ask) in self.books.asks.iter() {
            let has = |set: &std::collections::BTreeSet<(super::ask::Rank, super::ids::AskId)>| {
                set.contains(&(ask.rank(false), id)) || set.contains(&(ask.rank(true), id))
            };
            let stands = match ask.shelf {
                Shelf::Off => true,
                Shelf::Seat(group) => has(&self.books.groups[group].waiting),
                Shelf::Originator(app) => has(&self.books.apps[app].originators),
                Shelf::Ordinary(queue, class) => self.books.ordinary.get(&(queue, class)).is_some_and(has),
            };
            if !stands || (ask.shelf != Shelf::Off && !ask.is_pending()) {
                violations.push(format!("{} is {:?} on shelf {:?}", ask.spec.key, ask.state, ask.shelf));
            }
        }
    }
}
