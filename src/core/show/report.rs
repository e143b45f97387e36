//! What is to be shown: which task groups, pods and queues changed, and what to say of each.

use std::sync::Arc;

use crate::core::base::ids::{AppId, AskId, GangId, GroupId, Text};
use crate::core::base::resources::Totals;
use crate::core::codes::Code;
use crate::core::decision::Decision;
use crate::core::event::{Place, Role, Style, Submitter};
use crate::core::gang::judge::placeholder_ask;
use crate::core::gang::replace::excess_refused;
use crate::core::model::application::App;
use crate::core::model::ask::{Ask, AskState, Shown, WaitsFor};
use crate::core::model::countdown::{Deadlines, TimedOut};
use crate::core::model::gang::Stage;
use crate::core::model::group::{Ended, Group, Members};
use crate::core::model::lifecycle::AppState;
use crate::core::model::membership::Unlisted;
use crate::core::model::seat::{SeatState, Tally};
use crate::core::model::turn::PodLine;
use crate::core::place::overlay::Scratch;
use crate::core::reason::{AskReason, Reason, RejectReason};
use crate::core::shape::Shape;
use crate::core::show::lacks::Lacks;
use crate::core::show::members::{completed, how_ended, running_reason, timed_out_words};
use crate::core::step::Scheduler;

/// Everything that is shown of one task group.
#[derive(Clone, Debug)]
pub struct GroupReport {
    /// State of its application.
    pub state: AppState,
    /// Incarnation of its application.
    pub incarnation: u32,
    /// The one reason that says most.
    pub reason: Code,
    /// What the whole application reserves.
    pub ask: Totals,
    /// Its seats.
    pub seats: Tally,
    /// `minMember`.
    pub required: u32,
    /// Members and placeholders that are there, by where they stand.
    pub members: Members,
    /// Lost members whose room is kept.
    pub kept: u32,
    /// How members ended.
    pub ended: Ended,
    /// Placeholders that gave their seat to a member.
    pub replaced: u32,
    /// Accepted by its queue.
    pub accepted: bool,
    /// The whole ask was found to fit the quota.
    pub past_gate: bool,
    /// Every seat had a bound member once.
    pub placed: bool,
    /// When what runs out.
    pub deadlines: Deadlines,
    /// What a placeholder timeout before the start does.
    pub style: Style,
    /// Which timeout ended the reservation of this life.
    pub timed_out: Option<TimedOut>,
    /// How many lives in a row never started.
    pub unstarted_lives: u32,
    /// The generation of the spec in force.
    pub generation: i64,
    /// The queue in which its application is counted; of one that is in none, the queue that the spec names, or else that of
    /// its namespace.
    pub queue: Text,
}

/// So many nodes that are not ready are searched for members of a task group: where a whole zone is away it costs no more.
const NOT_READY_MOST: usize = 64;
/// So many of them are named.
const NOT_READY_NAMED: usize = 3;

impl Scheduler {
    /// Notes why a gang waits, and that it is to be shown.
    pub(in crate::core) fn wait(&mut self, id: GangId, reason: Reason) {
        let gang = &mut self.books.gangs[id];
        if gang.waits.as_ref() == Some(&reason) {
            if reason.is_of_nodes() {
                // The nodes may lack something else for it by now, or for other pods of it.
                self.lacks.gang_waits(id, false);
            }
            return;
        }
        let (is_first, is_new) = (gang.waits.is_none(), gang.waits.as_ref().map(Reason::code) != Some(reason.code()));
        let has_new_cause = gang.waits.as_ref().is_none_or(|waits| !waits.has_cause_of(&reason));
        let is_of_nodes = reason.is_of_nodes();
        let before = gang.waits.replace(reason);
        self.leave_or_stand_in_front(id, before.as_ref());
        if is_of_nodes {
            self.lacks.gang_waits(id, is_new);
        }
        if is_new {
            self.books.show_gang(id);
            if is_first {
                // It may have been judged anew, and its pods show the same reason with other numbers.
                self.show_again(self.books.shown_of_gang(id));
            }
        } else {
            self.books.changes.groups.extend(&self.books.gangs[id].groups);
            self.renew_on_pods(id, has_new_cause, is_of_nodes);
        }
    }

    /// The pods of a gang say what the gang says: at once if the cause is another one, and else before long.
    fn renew_on_pods(&mut self, id: GangId, has_new_cause: bool, is_of_nodes: bool) {
        // Of nodes it is said with the sentence that is made of them.
        if !is_of_nodes {
            let asks = self.books.shown_of_gang(id);
            if has_new_cause { self.show_again(asks) } else { self.lacks.are_old(asks) }
        }
    }

    /// Emits what changed, in the order of names.
    pub(in crate::core) fn report_changes(&mut self) {
        let asks = self.changed_asks();
        for (id, reason) in &asks {
            if let Some(AskReason::Capacity(class)) = reason {
                self.lacks.pod_waits(*id, *class);
            }
        }
        self.tell_lacks();
        let groups = std::mem::take(&mut self.books.changes.groups);
        let mut groups: Vec<_> =
            groups.into_iter().filter_map(|id| Some((self.books.groups.get(id)?.key.clone(), id))).collect();
        groups.sort_unstable();
        for (_, id) in groups {
            if self.books.groups[id].spec.is_some() {
                self.decide(Decision::ShowGroup(id));
            }
        }
        asks.iter().for_each(|(id, reason)| self.report_ask(*id, reason.as_ref()));
        self.tell_of_ordinary();
        let again = self.books.changes.asks.take();
        for id in self.books.by_name(again) {
            self.report_ask(id, self.ask_reason(id).as_ref());
        }
        self.report_queues();
    }

    /// Pods that name a task group and are ordinary pods are told so, but for those that declare it themselves: these are told
    /// with what else is said of their declaration.
    fn tell_of_ordinary(&mut self) {
        let found = std::mem::take(&mut self.books.changes.ordinary);
        for id in self.books.by_name(found) {
            let spec = &self.books.asks[id].spec;
            let (Role::Member { group }, Some((app, why))) = (&spec.role, self.books.ordinary_of(id)) else { continue };
            let how = format!("the pod is placed as an ordinary pod of application {}", app.name);
            let sentence = match why {
                Unlisted::Undeclared if spec.declares.is_some() => continue,
                Unlisted::Undeclared => {
                    format!("no pod of the application declares its task group ({group} here): {how}")
                }
                Unlisted::Gone => format!("TaskGroup {group} is not there, and who declares it runs: {how}"),
            };
            self.decide(Decision::TellAsk(id, Code::DeclarationAdjusted, sentence.into()));
        }
    }

    /// Pods of which something else is to be told, perhaps, with why they wait now, in the order of their names. Most of those
    /// that change were told nothing, and are told nothing: they are not put in order.
    fn changed_asks(&mut self) -> Vec<(AskId, Option<AskReason>)> {
        let mut changed = self.books.changes.asks.take();
        changed.retain(|id| {
            let is_shown = self.books.asks.get(*id).is_some_and(|ask| ask.shown.is_some());
            is_shown || self.ask_reason(*id).is_some()
        });
        self.books.by_name(changed).into_iter().map(|id| (id, self.ask_reason(id))).collect()
    }

    fn report_ask(&mut self, id: AskId, reason: Option<&AskReason>) {
        let told = reason.map(Shown::of);
        if self.books.asks[id].shown != told {
            self.books.asks[id].shown = told;
            self.decide(Decision::ShowAsk(id));
        }
    }

    /// Why a pod waits; `None` if it does not, or if it goes on by itself within moments.
    pub fn ask_reason(&self, id: AskId) -> Option<AskReason> {
        let ask = self.books.asks.get(id)?;
        if ask.spec.terminating || ask.spec.role == Role::Foreign {
            return None;
        }
        if let AskState::Parked { .. } = ask.state {
            return self.parked_reason(id);
        }
        let cools = matches!(ask.state, AskState::Assumed { sent: true, .. }) && ask.refused.is_some();
        if ask.state != AskState::Waiting && !cools {
            return self.held_reason(ask);
        }
        match &ask.spec.place {
            Place::Refused(objection) => return Some(AskReason::Refused(objection.clone())),
            Place::Gated | Place::On { .. } | Place::Succeeded | Place::Failed { .. } => return None,
            Place::Pending => {}
        }
        if ask.leaving.is_some() || ask.failing {
            return None;
        }
        if let Some((refusal, _)) = &ask.refused {
            return Some(AskReason::BindRefused(refusal.clone()));
        }
        match (ask.app, ask.group) {
            (None, None) => self.single_reason(id),
            (None, Some(group)) => self.groupless_reason(ask.spec.declared_by.clone(), group),
            (Some(app), group) => self.member_reason(id, app, group),
        }
    }

    /// A swap goes on by itself within moments, unless the placeholder cannot be deleted.
    fn parked_reason(&self, id: AskId) -> Option<AskReason> {
        let ask = &self.books.asks[id];
        let seat = self.books.groups[ask.group?].seats.get(ask.seat?)?;
        let SeatState::Releasing { placeholder, .. } = seat.state else { return None };
        let (refusal, _) = self.books.asks.get(placeholder)?.refused.as_ref()?;
        Some(AskReason::PlaceholderKept(refusal.clone()))
    }

    fn groupless_reason(&self, declared_by: Option<Text>, group: GroupId) -> Option<AskReason> {
        let (name, is_closed) = (self.books.groups[group].key.name.clone(), self.books.groups[group].closed_out);
        Some(if is_closed {
            AskReason::ApplicationClosed(name)
        } else {
            AskReason::TaskGroupNotFound { group: name, declared_by }
        })
    }

    fn single_reason(&self, id: AskId) -> Option<AskReason> {
        let namespace = &self.books.asks[id].spec.key.namespace;
        if self.books.lacks_namespace(namespace) {
            return Some(AskReason::NamespaceUnknown(namespace.clone()));
        }
        match self.books.single_queue(id) {
            Err(RejectReason::QueueNotFound(queue) | RejectReason::QueueDraining(queue))
                if !self.books.listed.queues =>
            {
                Some(AskReason::QueueUnknown(queue))
            }
            Err(reason) => Some(AskReason::Queue(reason)),
            Ok(queue) => self.ordinary_reason(id, queue),
        }
    }

    fn member_reason(&self, id: AskId, app_id: AppId, group: Option<GroupId>) -> Option<AskReason> {
        let (ask, app) = (&self.books.asks[id], &self.books.apps[app_id]);
        match app.state() {
            AppState::Rejected if self.books.gangs[app.gang].waits.is_some() => self.gang_reason(app.gang),
            AppState::Rejected => {
                let code = app.rejected.first()?.code();
                Some(AskReason::Rejected { code, text: join(&app.rejected) })
            }
            AppState::New | AppState::Resuming | AppState::Completed | AppState::Killed => self.gang_reason(app.gang),
            AppState::Accepted if !app.groups.is_empty() => self.reserving_reason(id, app.gang),
            AppState::Accepted | AppState::Running | AppState::Waiting => match ask.waits_for {
                WaitsFor::Room(PodLine { queue, .. }) => self.ordinary_reason(id, queue),
                WaitsFor::Seat(_) => self.seat_reason(id, group?),
                WaitsFor::Start(_) => self.gang_reason(app.gang),
                WaitsFor::Nothing | WaitsFor::Queue => None,
            },
        }
    }

    /// Why a pod waits that has a node and is not bound: in mode NonStrict others of its gang may have none for long.
    fn held_reason(&self, ask: &Ask) -> Option<AskReason> {
        let gang = self.books.apps[ask.app?].gang;
        let is_held = matches!(ask.state, AskState::Assumed { sent: false, .. }) && self.books.holds_one_by_one(gang);
        (is_held && self.books.gangs[gang].is_before_start()).then_some(AskReason::SeatHeld(gang))
    }

    fn gang_reason(&self, gang: GangId) -> Option<AskReason> {
        self.books.gangs[gang].waits.clone().map(|reason| AskReason::Gang(gang, reason))
    }

    /// Of a gang that fits no nodes, exactly the pods that the plan wanted to place are Unschedulable: its placeholders
    /// where it has them, else its members; so that an autoscaler sees exactly what is missing (01, 1.3).
    fn reserving_reason(&self, id: AskId, gang: GangId) -> Option<AskReason> {
        let reason = self.books.gangs[gang].waits.as_ref()?;
        if matches!(reason, Reason::WaitingForCapacity { .. }) && self.is_wanted(id) {
            return Some(AskReason::Wanted(gang));
        }
        let is_shown = !reason.is_progress() && !self.books.asks[id].is_placeholder();
        is_shown.then(|| AskReason::Gang(gang, reason.clone()))
    }

    fn is_wanted(&self, id: AskId) -> bool {
        let ask = &self.books.asks[id];
        let Some(group) = ask.group.map(|group| &self.books.groups[group]) else {
            return ask.app.is_some_and(|app| self.books.gang_of(app).originators.iter().any(|(_, own)| *own == id));
        };
        if ask.is_placeholder() {
            return true;
        }
        // Where placeholders are made for all only those members are planned for which none can stand in.
        let has_own_seat = !group.reserves_for_all() || !group.spec().shape.stands_in_for(&ask.spec.shape);
        has_own_seat && group.cut.as_ref().is_some_and(|cut| ask.rank() <= *cut)
    }

    /// Why a member waits that counts on a held seat. If the quota refuses what it needs beyond the seat, the seat is
    /// too small. Otherwise only nodes lack room, and more nodes would help.
    fn seat_reason(&self, id: AskId, group: GroupId) -> Option<AskReason> {
        let group = &self.books.groups[group];
        let (_, placeholder) = group.seats.held().next()?;
        let excess = self.books.request(id).excess_over(self.books.request(placeholder));
        let refused = excess_refused(&self.books, self.books.apps[group.app?].queue?, &excess);
        match refused.map(|refused| refused.excess.resource) {
            Some(resource) => {
                let more = excess.get(&resource);
                Some(AskReason::SeatTooSmall { resource, more, placeholder })
            }
            None => Some(AskReason::Capacity(self.books.asks[id].class?)),
        }
    }

    /// The sentence for a pod's reason, with counts and the binding constraint; of nodes as it was said last.
    pub fn ask_message(&self, reason: &AskReason) -> String {
        self.ask_words(reason, &self.lacks)
    }

    /// The same from a look at the nodes now.
    pub fn ask_message_anew(&self, reason: &AskReason) -> String {
        self.ask_words(reason, &Lacks::default())
    }

    fn ask_words(&self, reason: &AskReason, said: &Lacks) -> String {
        match reason {
            AskReason::Capacity(class) => match said.of_class(*class) {
                Some(text) => text.to_string(),
                None => self.nodes_lack(&Scratch::default(), *class),
            },
            AskReason::Gang(gang, reason) => self.gang_words(*gang, reason, said),
            AskReason::Wanted(gang) => match &self.books.gangs[*gang].waits {
                Some(waits) => self.gang_words(*gang, waits, said),
                None => reason.to_string(),
            },
            AskReason::SeatHeld(gang) => match &self.books.gangs[*gang].waits {
                Some(waits) => format!("{reason}: {}", self.gang_words(*gang, waits, said)),
                None => reason.to_string(),
            },
            AskReason::TaskGroupNotFound { .. }
            | AskReason::ApplicationClosed(_)
            | AskReason::Refused(_)
            | AskReason::Rejected { .. }
            | AskReason::Queue(_)
            | AskReason::QueueUnknown(_)
            | AskReason::NamespaceUnknown(_)
            | AskReason::Quota(_)
            | AskReason::BehindFirst(_)
            | AskReason::TooLarge(_)
            | AskReason::SeatTooSmall { .. }
            | AskReason::PlaceholderKept(_)
            | AskReason::BindRefused(_) => reason.to_string(),
        }
    }

    fn gang_words(&self, gang: GangId, reason: &Reason, said: &Lacks) -> String {
        if let Reason::MembersRefused { group, .. } = reason {
            let cause = self.first_refused(gang, *group).map_or_else(String::new, |cause| format!("; {cause}"));
            return format!("{reason}{cause}");
        }
        if !reason.is_of_nodes() {
            return reason.to_string();
        }
        if said.is_put_off(gang) {
            return format!("{reason}; looking again");
        }
        said.of_gang(gang).map_or_else(|| self.gang_lacks_now(gang, reason), ToString::to_string)
    }

    /// The first refused pod of a task group, or of those outside the groups of a gang, with its cause.
    fn first_refused(&self, gang: GangId, group: Option<GroupId>) -> Option<String> {
        let of_group = group.and_then(|group| self.books.groups.get(group)).map(|group| &group.asks);
        let outside = || self.books.gangs[gang].apps.iter().map(|app| &self.books.apps[*app].asks).collect();
        let asks = of_group.map_or_else(outside, |asks| vec![asks]);
        let asks = asks.into_iter().flatten().filter(|ask| !self.books.is_ordinary(**ask));
        // Of one that is being deleted nobody need be told: another may have come in its place.
        let specs = asks.map(|ask| &self.books.asks[*ask].spec).filter(|spec| !spec.terminating);
        let refused = specs.filter_map(|spec| match &spec.place {
            Place::Refused(objection) => Some((&spec.key.name, objection.subject())),
            Place::Gated | Place::Pending | Place::On { .. } | Place::Succeeded | Place::Failed { .. } => None,
        });
        refused.min().map(|(pod, field)| format!("{pod} uses {field}"))
    }

    /// Which member has come that can use no held seat, and what the TaskGroup says otherwise than the member (01, 1.4).
    fn what_no_seat_suits(&self, group: &Group) -> Option<String> {
        group.seats.held().next()?;
        let placeholder = &group.spec().shape;
        let members = group.without_node().map(|(_, ask)| &self.books.asks[*ask].spec);
        let misfit = members.into_iter().find(|member| !placeholder.stands_in_for(&member.shape))?;
        let why = what_a_placeholder_lacks(placeholder, &misfit.shape);
        Some(format!("; {} waits beside a held seat: {why}", misfit.key.name))
    }

    /// That these members of a group are given seats of their own, and why the first of them is.
    pub(in crate::core) fn own_seats_sentence(&self, group: GroupId, members: &[AskId]) -> String {
        let specs = members.iter().map(|member| &self.books.asks[*member].spec);
        let Some(first) = specs.min_by(|one, other| one.key.cmp(&other.key)) else { return String::new() };
        let why = what_a_placeholder_lacks(&self.books.groups[group].spec().shape, &first.shape);
        let name = &first.key.name;
        match members.len() {
            1 => format!("{name} is given a seat of its own, for which no placeholder can stand in: {why}"),
            count => format!(
                "{count} members are given seats of their own, for which no placeholders can stand in; of {name}: {why}"
            ),
        }
    }

    /// Whether a task group's stage passes by itself within moments.
    pub fn is_in_progress(&self, id: GroupId) -> bool {
        let Some(group) = self.books.groups.get(id) else { return false };
        let app = group.app.map(|app| &self.books.apps[app]);
        app.is_some_and(|app| match app.state() {
            AppState::New | AppState::Accepted => {
                self.books.gangs[app.gang].waits.as_ref().is_none_or(Reason::is_progress)
            }
            // An open or kept seat stays so until a member comes.
            AppState::Running => !app.placed && group.seats.tally().open + group.seats.tally().kept == 0,
            AppState::Resuming | AppState::Waiting | AppState::Rejected | AppState::Completed | AppState::Killed => {
                false
            }
        })
    }

    /// Whether what a task group waits for is likely to come within moments, though it need not: members, while seats are kept.
    /// Whoever made the pods that were lost makes others at once as a rule.
    pub fn may_pass_soon(&self, id: GroupId) -> bool {
        let keeps = |group: &&Group| group.app.is_some_and(|app| self.books.keeps_seats(app));
        let group = self.books.groups.get(id).filter(keeps);
        let waits_for_members =
            |code| matches!(code, Code::SeatsKept | Code::WaitingForMembers | Code::WaitingForCompletion);
        self.is_in_progress(id) || group.is_some_and(|group| waits_for_members(self.group_reason(group)))
    }

    /// Everything that is shown of a task group.
    pub fn group_report(&self, id: GroupId) -> Option<GroupReport> {
        let group = self.books.groups.get(id)?;
        let spec = group.spec.as_ref()?;
        let app = group.app.map(|app| &self.books.apps[app]);
        let state = app.map_or(AppState::Rejected, |app| app.state());
        Some(GroupReport {
            state,
            // The incarnation that an earlier process wrote counts until this process has judged the application.
            incarnation: app.map_or(0, |app| app.incarnation.max(spec.remembered.incarnation)),
            reason: self.group_reason(group),
            ask: group.app.map(|app| placeholder_ask(&self.books, app)).unwrap_or_default(),
            seats: group.seats.tally(),
            required: spec.min_member,
            members: group.members,
            kept: group.kept.len() as u32,
            ended: group.ended.clone(),
            replaced: group.replaced,
            accepted: !matches!(state, AppState::New | AppState::Rejected),
            past_gate: app.is_some_and(|app| {
                // One that begins anew keeps its place among the applications of its queue.
                let is_before = matches!(self.books.gangs[app.gang].stage(), Stage::Gate | Stage::BackOff { .. });
                app.admitted && !is_before || app.has_started() || app.is_over()
            }),
            placed: app.is_some_and(|app| app.placed),
            deadlines: group.app.map(|app| self.books.deadlines(app)).unwrap_or_default(),
            style: spec.style,
            timed_out: app.and_then(|app| app.timed_out.clone()),
            unstarted_lives: app.map_or(0, |app| app.unstarted_lives),
            generation: spec.generation,
            queue: self.queue_shown(id)?,
        })
    }

    /// The queue in which the application of a task group is counted; of one that is in none, the queue that the spec names, or
    /// else that of its namespace.
    pub fn queue_shown(&self, id: GroupId) -> Option<Text> {
        let group = self.books.groups.get(id)?;
        let spec = group.spec.as_ref()?;
        let own = group.app.and_then(|app| self.books.apps[app].queue);
        let said = || self.books.path_of_work(&group.key.namespace, spec.queue.as_ref());
        Some(own.map_or_else(said, |queue| self.books.queues[queue].path.clone()))
    }

    /// Who submitted the application of a task group, if that is known.
    pub fn submitter_shown(&self, id: GroupId) -> Option<&Arc<Submitter>> {
        let app = self.books.groups.get(id)?.app?;
        self.books.queues.submitter(self.books.apps[app].queue?)
    }

    /// For whom a pod is counted that has a node, or is to get one, if its own object says otherwise. Who has no name is nobody:
    /// so count the pods of a gang of which it is not known who submitted it.
    pub fn counted_for_another(&self, id: AskId) -> Option<Submitter> {
        let ask = self.books.asks.get(id)?;
        let charged = self.books.queues.submitter(ask.charge.as_ref()?.queue?);
        let is_another = ask.spec.submitter.as_ref() != charged;
        is_another.then(|| charged.map(|submitter| (**submitter).clone()).unwrap_or_default())
    }

    /// The one reason that says most.
    fn group_reason(&self, group: &Group) -> Code {
        let Some(app) = group.app.map(|app| &self.books.apps[app]) else { return Code::ApplicationClosed };
        let waits = self.books.gangs[app.gang].waits.as_ref();
        match app.state() {
            // A rejected application has at least one reason.
            AppState::Rejected => {
                let refused = || app.rejected.first().map_or(Code::Submitted, RejectReason::code);
                waits.map_or_else(refused, Reason::code)
            }
            AppState::New | AppState::Accepted => waits.map_or(Code::Submitted, Reason::code),
            AppState::Resuming => Code::Resuming,
            AppState::Running => running_reason(group, app).0,
            AppState::Waiting => Code::WaitingForCompletion,
            AppState::Killed => waits.map_or(Code::PlaceholderTimeout, Reason::code),
            AppState::Completed => waits.map_or_else(|| completed(group).0, Reason::code),
        }
    }

    /// The sentence beside the reason of a task group; of nodes as it was said last.
    pub fn group_message(&self, id: GroupId) -> String {
        self.group_words(id, &self.lacks)
    }

    /// The same from a look at the nodes now.
    pub fn group_message_anew(&self, id: GroupId) -> String {
        self.group_words(id, &Lacks::default())
    }

    fn group_words(&self, id: GroupId, said: &Lacks) -> String {
        let Some(group) = self.books.groups.get(id) else { return String::new() };
        let Some(app) = group.app.map(|app| &self.books.apps[app]) else {
            return self.outside_message(id);
        };
        let waits = self.books.gangs[app.gang].waits.as_ref();
        match app.state() {
            AppState::Rejected => match waits {
                Some(reason) => self.gang_words(app.gang, reason, said),
                None => join(&app.rejected),
            },
            AppState::Resuming => self.resuming_words(app),
            AppState::Killed => match waits {
                Some(reason) => self.gang_words(app.gang, reason, said),
                None => timed_out_words(app),
            },
            AppState::New | AppState::Accepted => match waits {
                Some(reason) => {
                    let words = self.gang_words(app.gang, reason, said) + &self.held_words(app.gang);
                    words + &self.kept_words(app) + &self.holds_up(app.gang)
                }
                None => "submitted; not planned yet".into(),
            },
            AppState::Running => {
                let suits = self.what_no_seat_suits(group).unwrap_or_default();
                running_reason(group, app).1 + &self.kept_words(app) + &suits + &self.not_ready(id)
            }
            AppState::Waiting => {
                let ended = match how_ended(group) {
                    Some(ended) => {
                        format!("{ended}; nothing is left to run, and the application completes at its deadline")
                    }
                    None => "nothing runs and nothing is pending; the application completes at its deadline".into(),
                };
                ended + &self.kept_words(app)
            }
            AppState::Completed => match waits {
                Some(reason) => self.gang_words(app.gang, reason, said),
                None => completed(group).1,
            },
        }
    }

    /// `; 3 of 5 seats are held meanwhile`, of a gang whose seats are held one by one; empty where none is.
    fn held_words(&self, id: GangId) -> String {
        let held = self
            .books
            .groups_of(id)
            .map(|group| group.seats.tally())
            .fold(0, |held, tally| held + tally.assumed + tally.held);
        if held == 0 || !self.books.holds_one_by_one(id) {
            return String::new();
        }
        let all: u32 = self.books.groups_of(id).map(|group| group.seats.len()).sum();
        format!("; {held} of {all} seats are held meanwhile")
    }

    fn resuming_words(&self, app: &App) -> String {
        let left: u32 = app.groups.iter().map(|group| self.books.groups[*group].members.placeholders).sum();
        let leave = if left == 1 { "placeholder leaves" } else { "placeholders leave" };
        format!("{}; {left} {leave}, then its pods are placed one by one", timed_out_words(app))
    }

    /// What is said of a gang that waits for this.
    pub(in crate::core) fn gang_words_now(&self, gang: GangId, reason: &Reason) -> String {
        self.gang_words(gang, reason, &self.lacks)
    }

    /// `; node n1 is not ready (2 members)`, of nodes where members of a task group are; empty without any.
    fn not_ready(&self, id: GroupId) -> String {
        let is_member = |ask: &&AskId| {
            let ask = &self.books.asks[**ask];
            ask.group == Some(id) && !ask.is_placeholder()
        };
        let nodes = self.books.not_ready.iter().take(NOT_READY_MOST).filter_map(|node| {
            let members = self.books.residents.get(node)?.iter().filter(is_member).count();
            Some((self.books.nodes.name(*node)?, members)).filter(|_| members > 0)
        });
        let mut nodes: Vec<_> = nodes.collect();
        nodes.sort_unstable();
        let word = |(name, members): &(&Text, usize)| {
            let noun = if *members == 1 { "member" } else { "members" };
            format!("; node {name} is not ready ({members} {noun})")
        };
        nodes.iter().take(NOT_READY_NAMED).map(word).collect()
    }
}

fn join(reasons: &[RejectReason]) -> String {
    reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Why a placeholder cannot stand in for a member.
fn what_a_placeholder_lacks(placeholder: &Shape, member: &Shape) -> String {
    let fields: Vec<_> = placeholder.lacks_fields_of(member).collect();
    if fields.is_empty() {
        "it requests more than minResource".to_owned()
    } else {
        format!("the placeholderTemplate does not have the same {}", fields.join(" and "))
    }
}
