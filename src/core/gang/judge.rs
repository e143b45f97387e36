//! Submission: is the application whole, and can it ever start? (01, 1.2)

use std::sync::Arc;

use crate::core::base::ids::{AppId, GroupId, Key, QueueId, Text};
use crate::core::base::resources::{Excess, Limit, Resources, Totals};
use crate::core::decision::TerminationType;
use crate::core::event::{GroupSpec, MatchPolicy, Reservation, SortPolicy, Submitter};
use crate::core::model::application::App;
use crate::core::model::ask::Ask;
use crate::core::model::books::Books;
use crate::core::model::countdown::Deadline;
use crate::core::model::declared::Declared;
use crate::core::model::group::Group;
use crate::core::model::lifecycle::AppEvent;
use crate::core::model::queue::DEFAULT_QUEUE;
use crate::core::reason::{Reason, RejectReason};
use crate::core::step::Scheduler;

impl Scheduler {
    /// A new application: waits until it is whole, then is judged once, with every reason.
    pub(in crate::core) fn judge(&mut self, id: AppId) {
        self.shut_out_unlisted(id);
        if self.recovers(id) {
            return;
        }
        if self.runs_alone(id) {
            return self.accept(id, AppEvent::Accept);
        }
        let missing = self.missing_groups(id);
        self.books.await_groups(id, &missing);
        let mut reasons = self.found_elsewhere(id, &missing);
        if !missing.is_empty() && reasons.is_empty() && self.lists_itself(id) {
            return self.lacks_groups(id, missing);
        }
        if let Some(group) = self.group_to_edit(id) {
            return self.hold_nothing(id, Reason::WaitingForEdit { group });
        }
        if let Some(reason) = self.lacks_queue(id) {
            return self.wait(self.books.apps[id].gang, reason);
        }
        let was_accepted = self.number_life(id);
        reasons.extend(reject_reasons(&self.books, id, was_accepted));
        if reasons.is_empty() {
            self.accept(id, AppEvent::Accept);
        } else {
            self.books.apps[id].groups.clone().into_iter().for_each(|group| self.forget_remembered(group));
            self.reject(id, reasons);
        }
    }

    /// What is missing, if nobody can know yet whether the queue of the application exists, since Queues have not been
    /// listed, or which queue that is, since its Namespace has not been seen. Until then the application is not judged, and
    /// keeps what an earlier process reserved for it.
    fn lacks_queue(&self, id: AppId) -> Option<Reason> {
        let mut namespaces = self.books.namespaces_of(&self.books.apps[id]);
        if let Some(namespace) = namespaces.find(|namespace| self.books.lacks_namespace(namespace)) {
            return Some(Reason::WaitingForNamespace { namespace: namespace.clone() });
        }
        match queue_of(&self.books, id, false).err()? {
            RejectReason::QueueNotFound(queue) | RejectReason::QueueDraining(queue) => {
                (!self.books.listed.queues).then_some(Reason::WaitingForQueues { queue })
            }
            RejectReason::QueueNotLeaf(_)
            | RejectReason::QueueStopped(_)
            | RejectReason::GangInFairQueue(_)
            | RejectReason::QueueNotOpen { .. }
            | RejectReason::ParentQueueNotOpen { .. }
            | RejectReason::QueueNameTooLong { .. }
            | RejectReason::InvalidSpec { .. }
            | RejectReason::GangGroupMismatch { .. }
            | RejectReason::AskTooLarge
            | RejectReason::TooManyPlaceholders { .. }
            | RejectReason::TimedOut { .. }
            | RejectReason::ExceedsMaxQuota(_)
            | RejectReason::NamespaceQuotaTooSmall { .. } => None,
        }
    }

    /// What limits an accepted application changed, or which queue its namespace has: it is judged again, unless something of
    /// it runs.
    pub(in crate::core) fn judge_again(&mut self, id: AppId) {
        let life = self.books.apps[id].incarnation;
        let has_started = || self.books.app_asks(id).any(|ask| self.books.started_in(ask, life));
        if self.books.has_real_allocations(id) || self.runs_alone(id) || has_started() {
            return;
        }
        let reasons = reject_reasons(&self.books, id, true);
        if !reasons.is_empty() {
            self.renew(id);
            self.reject(id, reasons);
        } else if self.is_in_another_queue(id) {
            self.renew(id);
        }
    }

    /// Whether an application with task groups stands in a queue that is not its own any more.
    fn is_in_another_queue(&self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        let is_another = |queue| self.books.queues[queue].path != queue_path_of(&self.books, app, app.has_started());
        !app.groups.is_empty() && app.queue.is_some_and(is_another)
    }

    /// Whether an application that was refused would be refused for the same reasons now: then it is not judged again
    /// from the beginning for each of its pods that comes.
    pub(in crate::core) fn stays_rejected(&self, id: AppId) -> bool {
        let app = &self.books.apps[id];
        let is_same = || !app.rejected.is_empty() && reject_reasons(&self.books, id, false) == app.rejected;
        app.timed_out.is_some() || app.living == 0 && is_same()
    }

    pub(super) fn reject(&mut self, id: AppId, reasons: Vec<RejectReason>) {
        self.transit(id, AppEvent::Reject);
        let app = &mut self.books.apps[id];
        app.rejected = reasons;
        let gang = app.gang;
        self.books.gangs[gang].waits = None;
        self.release_placeholders(id, TerminationType::StoppedByRm);
        self.books.show_app(id);
    }

    /// An application consists of exactly the TaskGroups that its gang lists (01, 1.1): others stay outside.
    fn shut_out_unlisted(&mut self, id: AppId) {
        let Some(first) = self.first_group(id) else { return };
        let listed = &self.books.groups[first].spec().gang;
        let is_outside = |group: &GroupId| *group != first && !listed.contains(&self.books.groups[*group].key);
        let outside: Vec<_> = self.books.apps[id].groups.iter().copied().filter(is_outside).collect();
        outside.into_iter().for_each(|group| self.shut_out(id, group));
    }

    /// The TaskGroup whose `gangGroup` counts where the lists differ: one that was accepted before, else the oldest.
    fn first_group(&self, id: AppId) -> Option<GroupId> {
        let groups = &self.books.apps[id].groups;
        let gang = |group: &GroupId| &self.books.groups[*group].spec().gang;
        if groups.windows(2).all(|pair| gang(&pair[0]) == gang(&pair[1])) {
            return groups.first().copied();
        }
        groups.iter().copied().min_by_key(|group| {
            let entry = &self.books.groups[*group];
            (!self.has_history(*group), entry.spec().created, entry.key.clone())
        })
    }

    /// The TaskGroups that the gang lists, or that its pods declare, and that the application does not have. It is whole if
    /// there are none.
    pub(super) fn missing_groups(&self, id: AppId) -> Vec<Key> {
        let Some(first) = self.first_group(id) else { return self.declared_groups(id) };
        let groups = &self.books.apps[id].groups;
        let exists = |key: &Key| groups.iter().any(|group| self.books.groups[*group].key == *key);
        self.books.groups[first].spec().gang.iter().filter(|key| !exists(key)).cloned().collect()
    }

    /// Whether each TaskGroup of an application is in its own list. For one that is not nobody is waited for: it is wrong.
    fn lists_itself(&self, id: AppId) -> bool {
        let mut groups = self.books.apps[id].groups.iter().map(|group| &self.books.groups[*group]);
        groups.all(|group| group.spec().gang.contains(&group.key))
    }

    /// What pods that wait declare for an application without TaskGroups. The first TaskGroup lists all of them.
    fn declared_groups(&self, id: AppId) -> Vec<Key> {
        let app = &self.books.apps[id].key;
        let declared = self.books.declaring.get(app).into_iter().flat_map(Declared::made);
        declared.map(|name| app.beside(name)).collect()
    }

    /// A TaskGroup that is edited before its gang starts (ADR 38): by what it says now nobody is judged.
    pub(super) fn group_to_edit(&self, id: AppId) -> Option<Text> {
        let mut groups = self.books.apps[id].groups.iter().map(|group| &self.books.groups[*group]);
        groups.find(|group| group.spec().awaits_edit).map(Group::called)
    }

    fn lacks_groups(&mut self, id: AppId, missing: Vec<Key>) {
        let app = &self.books.apps[id];
        let listed = (app.groups.len() + missing.len()) as u32;
        let called = |key: Key| if app.key.namespace == key.namespace { key.name } else { key.to_string().into() };
        let missing = missing.into_iter().map(called).collect();
        self.hold_nothing(id, Reason::WaitingForTaskGroups { missing, listed });
    }

    /// After a restart placeholders can be found although the gang is not whole, or not judged yet: it holds nothing until then.
    fn hold_nothing(&mut self, id: AppId, reason: Reason) {
        self.release_placeholders(id, TerminationType::StoppedByRm);
        self.wait(self.books.apps[id].gang, reason);
    }

    /// Listed TaskGroups of the same namespace that exist and belong to another application. Of another namespace nothing is told
    /// but that it is missing.
    fn found_elsewhere(&self, id: AppId, missing: &[Key]) -> Vec<RejectReason> {
        let app = &self.books.apps[id].key;
        let is_elsewhere = |key: &&Key| {
            let group = self.books.group_ids.get(*key).map(|group| &self.books.groups[*group]);
            let is_another = |group: &Group| group.spec.as_ref().is_some_and(|spec| spec.application != app.name);
            key.namespace == app.namespace && group.is_some_and(is_another)
        };
        let mismatch = |key: &Key| RejectReason::GangGroupMismatch { group: key.name.clone(), field: "applicationId" };
        missing.iter().filter(is_elsewhere).map(mismatch).collect()
    }
}

/// Every reason at once why an application is refused.
fn reject_reasons(books: &Books, id: AppId, was_accepted: bool) -> Vec<RejectReason> {
    let mut reasons = spec_reasons(books, &books.apps[id], was_accepted);
    // A job that begins anew where room is kept for it has started.
    let goes_on = books.keeps_its_place(id);
    match queue_for(books, id, goes_on) {
        Err(reason) => reasons.push(reason),
        Ok(queue) => {
            let is_fair = books.queues.sort_policy(queue) == SortPolicy::Fair;
            if is_fair && !goes_on && asks_for_gang(books, &books.apps[id]) {
                reasons.push(RejectReason::GangInFairQueue(books.queues[queue].path.clone()));
            }
            let ask = judged_ask(books, id);
            if ask.is_saturated() || placeholder_ask(books, id).is_saturated() {
                reasons.push(RejectReason::AskTooLarge);
            } else {
                let submitter = submitter_of(books, &books.apps[id]).map(|submitter| &**submitter);
                let exceeded = books.queues.exceeds_max(queue, submitter, &ask).into_iter();
                reasons.extend(exceeded.map(|excess| RejectReason::ExceedsMaxQuota(Box::new(excess))));
            }
        }
    }
    reasons.extend(bound_reason(books, &books.apps[id]));
    let namespaces = books.namespaces_of(&books.apps[id]);
    reasons.extend(namespaces.filter_map(|namespace| namespace_reason(books, id, namespace)));
    reasons
}

/// Whether the task groups of an application say that anybody is to wait for another, or that placeholders hold its seats. One member
/// alone has a turn like a single pod. (Who comes beside it decides nothing: not even when.)
fn asks_for_gang(books: &Books, app: &App) -> bool {
    app.groups.iter().map(|group| books.groups[*group].spec()).any(|spec| {
        let is_several = spec.min_member > 1 || spec.total_member.is_some() || spec.gang.len() > 1;
        // After its start each who comes is a round, which has its turn as a gang that uses nothing yet.
        let has_rounds = spec.match_policy != MatchPolicy::OnceSatisfied;
        is_several || has_rounds || spec.reservation == Reservation::Placeholder
    })
}

/// So many pods that do nothing would be a burden on whoever lists pods (01, 1.3 "Bound").
fn bound_reason(books: &Books, app: &App) -> Option<RejectReason> {
    let specs = app.groups.iter().map(|group| books.groups[*group].spec());
    let of_group = specs.filter(|spec| spec.reservation == Reservation::Placeholder);
    let asked: u64 = of_group.map(|spec| u64::from(spec.min_member)).sum();
    let max = books.most_placeholders.0;
    (asked > u64::from(max)).then_some(RejectReason::TooManyPlaceholders { asked, max })
}

fn spec_reasons(books: &Books, app: &App, was_accepted: bool) -> Vec<RejectReason> {
    let mut reasons = Vec::new();
    let Some(first) = app.groups.first().map(|group| books.groups[*group].spec()) else { return reasons };
    for group in app.groups.iter().map(|group| &books.groups[*group]) {
        let (name, spec) = (group.called(), group.spec());
        let errors = spec.errors.iter().cloned();
        reasons.extend(errors.map(|error| RejectReason::InvalidSpec { group: name.clone(), error }));
        let fields = disagreements(first, spec, was_accepted);
        reasons.extend(fields.map(|field| RejectReason::GangGroupMismatch { group: name.clone(), field }));
    }
    reasons
}

/// Fields that the TaskGroups of one gang must share and do not. Once accepted, timeouts may be changed, one object
/// after the other.
pub(in crate::core) fn disagreements(
    first: &GroupSpec,
    other: &GroupSpec,
    was_accepted: bool,
) -> impl Iterator<Item = &'static str> {
    let differ = [
        ("gangGroup", first.gang != other.gang),
        ("queue", path_said(first) != path_said(other)),
        ("reservation", first.reservation != other.reservation),
        ("style", first.style != other.style),
        ("mode", first.mode != other.mode),
        ("matchPolicy", first.match_policy != other.match_policy),
    ];
    let timeouts = Deadline::ALL
        .into_iter()
        .map(move |what| (what.field(), !was_accepted && first.timeouts.of(what) != other.timeouts.of(what)));
    differ.into_iter().chain(timeouts).filter(|(_, differs)| *differs).map(|(field, _)| field)
}

/// One that says nothing and one that says `root.default` do not contradict each other.
fn path_said(spec: &GroupSpec) -> &str {
    spec.queue.as_deref().unwrap_or(DEFAULT_QUEUE)
}

/// The queue of an application, if it takes applications: of one in several namespaces it must take those of each. `started`: it goes
/// on with its life.
pub(in crate::core) fn queue_of(books: &Books, id: AppId, started: bool) -> Result<QueueId, RejectReason> {
    let app = &books.apps[id];
    let named = named_queue(books, app, started);
    let mut namespaces = books.namespaces_of(app);
    let first = books.queue_of_work(namespaces.next().unwrap_or(&app.key.namespace), named.as_ref())?;
    let path = &books.queues[first].path;
    namespaces.map(|namespace| books.queue_of_work(namespace, Some(path))).find(Result::is_err).unwrap_or(Ok(first))
}

/// The same; what has started goes on in a queue that takes nothing new.
fn queue_for(books: &Books, id: AppId, goes_on: bool) -> Result<QueueId, RejectReason> {
    let (app, started) = (&books.apps[id], books.apps[id].has_started());
    let found = queue_of(books, id, started);
    let takes_nothing_new = matches!(found, Err(RejectReason::QueueStopped(_) | RejectReason::QueueDraining(_)));
    let known = || books.queues.find(&queue_path_of(books, app, started));
    if takes_nothing_new && goes_on { known().map_or(found, Ok) } else { found }
}

/// The path of the queue of an application: of one in several namespaces that names none, the one of the first. `started` as above.
pub(in crate::core) fn queue_path_of(books: &Books, app: &App, started: bool) -> Text {
    let home = books.namespaces_of(app).next().unwrap_or(&app.key.namespace);
    books.path_of_work(home, named_queue(books, app, started).as_ref())
}

/// The path of the queue that an application names: that of its TaskGroups, or where they name none of a pod of the gang that
/// runs: a label of its namespace moves nobody who runs, also for a process that begins. The next life goes where the namespace is by
/// then, whoever is still on the way out of the last one. Without TaskGroups: that of a pod that runs where it was bound, else of a pod
/// that names one; of several pods the first by name.
fn named_queue(books: &Books, app: &App, started: bool) -> Option<Text> {
    if app.groups.is_empty() {
        // Pods that run come first, so that the others go to the queue in which they run.
        let asks = app.asks.iter().map(|ask| &books.asks[*ask]).filter(|ask| ask.spec.queue.is_some());
        let first = asks.min_by_key(|ask| (!ask.is_active() || ask.spec.mark.is_none(), &ask.spec.key));
        return first.and_then(|ask| ask.spec.queue.clone());
    }
    let said = app.groups.iter().find_map(|group| books.groups[*group].spec().queue.clone());
    said.or_else(|| {
        let of_groups = app.groups.iter().flat_map(|group| &books.groups[*group].asks);
        let asks = of_groups.chain(&app.asks).map(|ask| &books.asks[*ask]);
        // Who was bound alone before the task groups came says nothing of their queue.
        let goes_on = |ask: &Ask| !books.is_of_an_earlier_life(ask) && (started || !ask.spec.terminating);
        let is_of_gang = |ask: &Ask| ask.spec.mark.as_ref().is_some_and(|mark| mark.group.is_some());
        let of_gang = |ask: &&Ask| ask.is_active() && is_of_gang(ask) && goes_on(ask);
        let first = asks.filter(of_gang).min_by_key(|ask| &ask.spec.key);
        first.and_then(|ask| ask.spec.mark.as_ref()).map(|mark| mark.queue.clone())
    })
}

/// Who submitted an application: who made its TaskGroups, of several the first that says it. Without TaskGroups: who made a pod
/// that was bound, else the first by name.
pub(in crate::core) fn submitter_of<'a>(books: &'a Books, app: &App) -> Option<&'a Arc<Submitter>> {
    if app.groups.is_empty() {
        let asks = app.asks.iter().map(|ask| &books.asks[*ask]).filter(|ask| ask.spec.submitter.is_some());
        let first = asks.min_by_key(|ask| (!ask.is_active() || ask.spec.mark.is_none(), &ask.spec.key));
        return first.and_then(|ask| ask.spec.submitter.as_ref());
    }
    app.groups.iter().find_map(|group| books.groups[*group].spec().submitter.as_ref())
}

/// placeholderAsk: the sum over all task groups of minMember × minResource, and the originators that start with them
/// (01, 1.2.2).
pub(in crate::core) fn placeholder_ask(books: &Books, id: AppId) -> Totals {
    let mut ask = originators_ask(books, id);
    for group in &books.apps[id].groups {
        let spec = books.groups[*group].spec();
        ask.add(&spec.min_resource, spec.min_member);
    }
    ask
}

/// What an application is judged by: as [`placeholder_ask`], but members that exist count with their own size.
fn judged_ask(books: &Books, id: AppId) -> Totals {
    let mut ask = originators_ask(books, id);
    books.apps[id].groups.iter().for_each(|group| ask.add_all(&books.whole_ask(&books.groups[*group])));
    ask
}

/// What the originators ask for that start with the task groups. Without task groups nothing is reserved: each pod is
/// an ask of its own.
fn originators_ask(books: &Books, id: AppId) -> Totals {
    let mut ask = Totals::default();
    if !books.apps[id].groups.is_empty() {
        books.starting_originators(id).for_each(|originator| ask.add(books.request(originator), 1));
    }
    ask
}

/// If the ResourceQuota is only as large as the gang, the creation of a member gets 403 for ever, since all placeholders
/// and the originators that start with them still count: so it must have room for one member more. (What else is in the
/// namespace comes and goes, and is not known here.)
fn namespace_reason(books: &Books, id: AppId, namespace: &Text) -> Option<RejectReason> {
    let app = &books.apps[id];
    let limit: &Limit = books.namespace_limits.get(namespace)?;
    let (mut asked, mut largest) = (Totals::default(), Resources::default());
    let groups = app.groups.iter().map(|group| &books.groups[*group]);
    let specs = groups.filter(|group| group.key.namespace == *namespace).map(Group::spec);
    let reserving: Vec<_> = specs.filter(|spec| spec.reservation == Reservation::Placeholder).collect();
    for spec in &reserving {
        asked.add(&spec.min_resource, spec.min_member);
        largest = largest.larger(&spec.min_resource);
    }
    if !reserving.is_empty() {
        asked.add_all(&originators_ask(books, id));
    }
    let members_fit = limit.refuses(&Totals::default(), &asked).is_none();
    asked.add(&largest, 1);
    let excess: Excess = limit.refuses(&Totals::default(), &asked)?;
    Some(RejectReason::NamespaceQuotaTooSmall { namespace: namespace.clone(), excess, members_fit })
}
