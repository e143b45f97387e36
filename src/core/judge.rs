//! Submission: is the application whole, and can it ever start? (01, 1.2)

use super::application::App;
use super::books::Books;
use super::event::{GroupSpec, Reservation};
use super::ids::{AppId, QueueId, Text};
use super::lifecycle::{AppEvent, AppState};
use super::queue::DEFAULT_QUEUE;
use super::reason::{Reason, RejectReason};
use super::resources::{Excess, Limit, Resources, Totals};
use super::scheduler::Scheduler;

/// What a look at an application's TaskGroups says.
enum Whole {
    /// All of the gang exist.
    Yes,
    /// Some are missing.
    Missing(Reason),
}

impl Scheduler {
    /// A new application: waits until it is whole, then is judged once, with every reason.
    pub(super) fn judge(&mut self, id: AppId) {
        match whole(&self.books, id) {
            Whole::Missing(reason) => {
                self.books.apps[id].waits = Some(reason);
                self.show_app(id);
            }
            Whole::Yes if self.recovers(id) => {}
            Whole::Yes => {
                let reasons = reject_reasons(&mut self.books, id);
                if reasons.is_empty() { self.accept(id, false) } else { self.reject(id, reasons) }
            }
        }
    }

    /// A queue on the path of an accepted application changed: it is judged again, unless something of it runs.
    pub(super) fn judge_again(&mut self, id: AppId) {
        let reasons = reject_reasons(&mut self.books, id);
        if !reasons.is_empty() {
            self.abandon(id, super::decision::TerminationType::StoppedByRm);
            self.leave_contest(id);
            self.leave_queue(id);
            self.books.apps[id].state = AppState::New;
            self.reject(id, reasons);
        }
    }

    fn reject(&mut self, id: AppId, reasons: Vec<RejectReason>) {
        self.transit(id, AppEvent::Reject);
        let app = &mut self.books.apps[id];
        (app.rejected, app.waits) = (reasons, None);
        self.release_placeholders(id, super::decision::TerminationType::StoppedByRm);
        self.show_app(id);
    }
}

/// The gang is whole when every TaskGroup exists that its first one lists (01, 1.1).
fn whole(books: &Books, id: AppId) -> Whole {
    let app = &books.apps[id];
    let Some(first) = app.groups.iter().map(|group| &books.groups[*group]).min_by_key(|g| (g.spec().created, &g.key))
    else {
        return Whole::Yes;
    };
    let listed = &first.spec().gang;
    let exists = |name: &&Text| app.groups.iter().any(|group| books.groups[*group].key.name == **name);
    let missing: Vec<_> = listed.iter().filter(|name| !exists(name)).cloned().collect();
    if missing.is_empty() {
        return Whole::Yes;
    }
    Whole::Missing(Reason::WaitingForTaskGroups { missing, listed: listed.len() as u32 })
}

/// Every reason at once why an application is refused.
fn reject_reasons(books: &mut Books, id: AppId) -> Vec<RejectReason> {
    let mut reasons = spec_reasons(books, &books.apps[id]);
    match queue_of(books, id) {
        Err(reason) => reasons.push(reason),
        Ok(queue) => {
            let ask = placeholder_ask(books, id);
            if ask.is_saturated() {
                reasons.push(RejectReason::AskTooLarge);
            } else if let Some(refused) = books.queues.exceeds_max(queue, &ask) {
                reasons.push(RejectReason::ExceedsMaxQuota(refused));
            }
        }
    }
    reasons.extend(namespace_reason(books, &books.apps[id]));
    reasons
}

fn spec_reasons(books: &Books, app: &App) -> Vec<RejectReason> {
    let mut reasons = Vec::new();
    let Some(first) = app.groups.first().map(|group| books.groups[*group].spec()) else { return reasons };
    for group in app.groups.iter().map(|group| &books.groups[*group]) {
        let (name, spec) = (&group.key.name, group.spec());
        let errors = spec.errors.iter().cloned();
        reasons.extend(errors.map(|error| RejectReason::InvalidSpec { group: name.clone(), error }));
        let fields = disagreements(first, spec);
        reasons.extend(fields.map(|field| RejectReason::GangGroupMismatch { group: name.clone(), field }));
    }
    reasons
}

fn disagreements(first: &GroupSpec, other: &GroupSpec) -> impl Iterator<Item = &'static str> {
    let differ = [
        ("gangGroup", first.gang != other.gang),
        ("queue", first.queue != other.queue),
        ("reservation", first.reservation != other.reservation),
        ("completionTimeoutSeconds", first.completion_timeout_ms != other.completion_timeout_ms),
    ];
    differ.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field)
}

/// The queue that the application names, if it takes applications.
pub(super) fn queue_of(books: &Books, id: AppId) -> Result<QueueId, RejectReason> {
    let app = &books.apps[id];
    let group = app.groups.first().map(|group| books.groups[*group].spec().queue.clone());
    let originator = || {
        // Named by the first of its pods that names one, in the order of their names.
        let mut asks: Vec<_> = app.asks.iter().map(|ask| &books.asks[*ask].spec).collect();
        asks.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        asks.into_iter().find_map(|spec| spec.queue.clone())
    };
    let path = group.or_else(originator);
    usable_queue(books, path.as_deref().unwrap_or(DEFAULT_QUEUE))
}

/// The queue of a path, if it takes work.
pub(super) fn usable_queue(books: &Books, path: &str) -> Result<QueueId, RejectReason> {
    let Some(id) = books.queues.find(path) else { return Err(RejectReason::QueueNotFound(path.into())) };
    let queue = &books.queues[id];
    if !queue.defined {
        return Err(RejectReason::QueueDraining(queue.path.clone()));
    }
    if !books.queues.is_leaf(id) { Err(RejectReason::QueueNotLeaf(queue.path.clone())) } else { Ok(id) }
}

/// placeholderAsk: the sum over all task groups of minMember × minResource, and the originators that wait (01, 1.2.2).
pub(super) fn placeholder_ask(books: &Books, id: AppId) -> Totals {
    let app = &books.apps[id];
    let mut ask = Totals::default();
    for group in &app.groups {
        let spec = books.groups[*group].spec();
        ask.add(&spec.min_resource, spec.min_member);
    }
    for (_, originator) in &app.originators {
        ask.add(books.request(*originator), 1);
    }
    ask
}

/// With a ResourceQuota equal to the gang the creation of a member gets 403 for ever, since its placeholder still counts.
fn namespace_reason(books: &Books, app: &App) -> Option<RejectReason> {
    let limit: &Limit = books.namespace_limits.get(&app.key.namespace)?;
    let (mut asked, mut largest) = (Totals::default(), Resources::default());
    for spec in app.groups.iter().map(|group| books.groups[*group].spec()) {
        if spec.reservation == Reservation::Placeholder {
            asked.add(&spec.min_resource, spec.min_member);
            largest = largest.larger(&spec.min_resource);
        }
    }
    asked.add(&largest, 1);
    let excess: Excess = limit.refuses(&Totals::default(), &asked)?;
    Some(RejectReason::NamespaceQuotaTooSmall { namespace: app.key.namespace.clone(), excess })
}
