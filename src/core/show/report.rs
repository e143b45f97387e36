//! What is to be shown: which task groups, pods and queues changed, and what to say of each.

use std::sync::Arc;

use crate::core::base::ids::{AskId, GangId, GroupId, Text};
use crate::core::base::resources::Totals;
use crate::core::codes::Code;
use crate::core::decision::Decision;
use crate::core::event::{Place, Role, Style, Submitter};
use crate::core::gang::judge::placeholder_ask;
use crate::core::model::application::App;
use crate::core::model::ask::Shown;
use crate::core::model::countdown::{Deadlines, TimedOut};
use crate::core::model::gang::Stage;
use crate::core::model::group::{Ended, Group, Members};
use crate::core::model::lifecycle::AppState;
use crate::core::model::membership::Unlisted;
use crate::core::model::seat::Tally;
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

    pub(super) fn gang_words(&self, gang: GangId, reason: &Reason, said: &Lacks) -> String {
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
            AppState::Running => running_reason(group, app, self.books.starts_in_rounds(group)).0,
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
                let round =
                    waits.map_or_else(String::new, |waits| format!("; {}", self.gang_words(app.gang, waits, said)));
                let (_, words) = running_reason(group, app, self.books.starts_in_rounds(group));
                words + &round + &self.kept_words(app) + &suits + &self.not_ready(id)
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

pub(super) fn join(reasons: &[RejectReason]) -> String {
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
