//! The controller in numbers and as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Controller;
use super::stats::{QueueUse, Stats};
use crate::core::model::lifecycle::AppState;
use crate::shim::op::Kind;

impl Controller {
    /// A picture in numbers.
    pub fn stats(&self) -> Stats {
        let kinds = |count: &dyn Fn(Kind) -> u64| Kind::ALL.iter().map(|kind| (kind.plural(), count(*kind))).collect();
        let mut applications: BTreeMap<&'static str, u64> =
            AppState::ALL.iter().map(|state| (state.name(), 0)).collect();
        for (_, app) in self.core.books.apps.iter() {
            *applications.entry(app.state().name()).or_default() += 1;
        }
        Stats {
            leads: true,
            synced: self.core.is_synced(),
            decisions: self.decided.clone(),
            calls: self.outbox.answers().clone(),
            events_dropped: self.outbox.events_dropped(),
            outbox_waiting: self.outbox.waiting() as u64,
            outbox_in_flight: self.outbox.in_flight() as u64,
            outbox_window: self.outbox.window() as u64,
            objects: kinds(&|kind| self.ledger.count(kind) as u64),
            malformed: kinds(&|kind| self.ledger.malformed(kind).count() as u64),
            seats: self.seats(),
            applications,
            pending_pods: self.core.books.asks.iter().filter(|(_, ask)| ask.is_pending()).count() as u64,
            denied: self.denied.iter().map(|(rule, _)| *rule).collect(),
            audits: self.audits,
            violations: self.violations,
            queues: self.queue_use(),
        }
    }

    /// What is still remembered, as names of maps; empty once every object is gone and time has passed (04, I13). Left
    /// out is what is bounded: the rights, and what tells late news from news.
    pub fn leftovers(&self) -> Vec<&'static str> {
        let Self {
            settings: _,
            ledger,
            core,
            outbox,
            answered: _,
            unserved: _,
            pod_list: _,
            events,
            bindings,
            failing,
            matters,
            next_matter: _,
            announced,
            texts: _,
            follows,
            sentence: _,
            written,
            denied: _,
            declarations,
            given_up,
            decided: _,
            audits: _,
            violations: _,
            audited: _,
            stopping: _,
            now: _,
        } = self;
        let own = [
            ("calls that wait", outbox.waiting()),
            ("calls in flight", outbox.in_flight()),
            ("events", events.len()),
            ("bindings", bindings.len()),
            ("pods that are to fail", failing.len()),
            ("matters", matters.len()),
            ("announced", announced.len()),
            ("follows", follows.len()),
            ("written", written.len()),
            ("declarations", declarations.len()),
            ("TaskGroups given up, or not", given_up.len()),
        ];
        let own = own.into_iter().filter(|(_, count)| *count > 0).map(|(name, _)| name);
        own.chain(ledger.leftovers()).chain(core.leftovers()).collect()
    }

    fn seats(&self) -> BTreeMap<&'static str, u64> {
        let mut seats = BTreeMap::new();
        for (_, group) in self.core.books.groups.iter() {
            let tally = group.seats.tally();
            for (state, count) in [
                ("open", tally.open),
                ("assumed", tally.assumed),
                ("held", tally.held),
                ("leaving", tally.leaving),
                ("releasing", tally.releasing),
                ("kept", tally.kept),
                ("taken", tally.taken),
            ] {
                *seats.entry(state).or_default() += u64::from(count);
            }
        }
        seats
    }

    fn queue_use(&self) -> Vec<QueueUse> {
        let mut queues: Vec<_> = self.core.books.queues.iter().map(|(_, queue)| queue).collect();
        queues.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let mut uses = Vec::new();
        for queue in queues {
            let mut resources: BTreeMap<&str, (i128, Option<i128>)> = BTreeMap::new();
            for (name, amount) in queue.allocated.iter() {
                resources.entry(name).or_default().0 = amount;
            }
            for (name, max) in queue.spec.max.iter() {
                resources.entry(name).or_default().1 = Some(max);
            }
            uses.extend(resources.into_iter().map(|(resource, (allocated, max))| QueueUse {
                queue: queue.path.clone(),
                resource: resource.into(),
                allocated,
                max,
            }));
        }
        uses
    }

    /// The whole state, for people: read-only, in the words that status has already, since new sentences for thousands
    /// of gangs would take seconds.
    pub fn state(&self) -> Value {
        let mut groups: Vec<_> = self.core.books.groups.iter().collect();
        groups.sort_unstable_by(|a, b| a.1.key.cmp(&b.1.key));
        let groups = groups.into_iter().filter_map(|(id, group)| {
            let report = self.core.group_report(id)?;
            // What is kept for pods outside task groups is shown with each of them, as their status says it.
            let outside = group.app.and_then(|app| self.core.books.apps.get(app)).into_iter().flat_map(|app| &app.kept);
            Some(json!({
                "taskGroup": group.key.to_string(),
                "state": report.state.name(),
                "incarnation": report.incarnation,
                "reason": report.reason.name(),
                "message": self.ledger.group(&group.key).map(|facts| &facts.status.latest().message),
                "seats": {"open": report.seats.open, "assumed": report.seats.assumed, "held": report.seats.held,
                          "leaving": report.seats.leaving, "releasing": report.seats.releasing,
                          "kept": report.seats.kept, "taken": report.seats.taken},
                "kept": group.kept.iter().chain(outside).filter_map(|kept| self.core.kept_seat(*kept)).map(|kept| json!({
                    "pod": &*kept.pod, "node": kept.node.as_deref(), "until": kept.until.to_string(),
                })).collect::<Vec<_>>(),
            }))
        });
        let groups: Vec<_> = groups.collect();
        let denied: Vec<_> = (self.denied.iter())
            .map(|((resource, verb), why)| json!({"verb": verb, "resource": resource, "message": why.to_string()}))
            .collect();
        let malformed: Vec<_> = (Kind::ALL.iter())
            .flat_map(|kind| {
                self.ledger.malformed(*kind).map(
                    |(key, problem)| json!({"kind": kind.plural(), "object": key.to_string(), "problem": &**problem}),
                )
            })
            .collect();
        json!({
            "leads": true,
            "synced": self.core.is_synced(),
            "unserved": self.unserved.iter().map(|kind| kind.plural()).collect::<Vec<_>>(),
            "taskGroups": groups,
            "denied": denied,
            "malformed": malformed,
            "outbox": {"waiting": self.outbox.waiting(), "inFlight": self.outbox.in_flight(), "window": self.outbox.window()},
            "audits": self.audits,
            "violations": self.violations,
        })
    }
}
