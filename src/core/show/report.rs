//! What is to be shown: which task groups, pods and queues changed, and what to say of each.

use crate::core::base::ids::{AppId, AskId, ClassId, GangId, GroupId, QueueId, Text};
use crate::core::base::resources::{Amount, Totals};
use crate::core::codes::Code;
use crate::core::decision::Decision;
use crate::core::event::{Place, Role};
use crate::core::gang::judge::placeholder_ask;
use crate::core::gang::replace::excess_refused;
use crate::core::model::ask::{AskState, WaitsFor};
use crate::core::model::group::Group;
use crate::core::model::lifecycle::AppState;
use crate::core::model::queue::DEFAULT_QUEUE;
use crate::core::model::seat::{SeatState, Tally};
use crate::core::place::misfit::misfits;
use crate::core::place::overlay::Scratch;
use crate::core::place::plan::{ShortNow, short_now};
use crate::core::reason::{AskReason, Reason, RejectReason};
use crate::core::step::Scheduler;
use crate::core::time::Wall;

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
    /// Members and placeholders by what became of them.
    pub members: crate::core::model::group::Members,
    /// Placeholders that gave their seat to a member.
    pub replaced: u32,
    /// Accepted by its queue.
    pub accepted: bool,
    /// The whole ask was found to fit the quota.
    pub past_gate: bool,
    /// Every seat had a bound member once.
    pub placed: bool,
    /// When Waiting ends.
    pub completes: Option<Wall>,
    /// The generation of the spec in force.
    pub generation: i64,
    /// The queue in which its application is counted; of one that is in none, the queue that the spec names.
    pub queue: Text,
}

/// Everything that is shown of one queue.
#[derive(Clone, Debug, Default)]
pub struct QueueReport {
    /// Used by it and all below it.
    pub allocated: Totals,
    /// Asked by waiting applications of it and all below it.
    pub pending: Totals,
    /// What is left of each resource limited here or above.
    pub headroom: Vec<(Text, i128)>,
    /// Applications by state.
    pub applications: Vec<(AppState, u32)>,
}

impl Scheduler {
    /// Notes why a gang waits, and that it is to be shown.
    pub(in crate::core) fn wait(&mut self, id: GangId, reason: Reason) {
        let gang = &mut self.books.gangs[id];
        if gang.waits.as_ref() == Some(&reason) {
            return;
        }
        // Pods show no more than the code of this reason, so other numbers are shown anew on the task groups only.
        let is_new = gang.waits.as_ref().map(Reason::code) != Some(reason.code());
        gang.waits = Some(reason);
        if is_new {
            self.books.show_gang(id);
        } else {
            self.books.changes.groups.extend(&self.books.gangs[id].groups);
        }
    }

    /// Emits what changed, in the order of names.
    pub(in crate::core) fn report_changes(&mut self) {
        let groups = std::mem::take(&mut self.books.changes.groups);
        let mut groups: Vec<_> =
            groups.into_iter().filter_map(|id| Some((self.books.groups.get(id)?.key.clone(), id))).collect();
        groups.sort_unstable();
        for (_, id) in groups {
            if self.books.groups[id].spec.is_some() {
                self.decide(Decision::ShowGroup(id));
            }
        }
        let asks = self.books.changes.asks.take();
        self.books.by_name(asks).into_iter().for_each(|id| self.report_ask(id));
        self.report_queues();
    }

    fn report_ask(&mut self, id: AskId) {
        let told = self.ask_reason(id).map(|reason| (reason.code(), reason.lasting_words()));
        if self.books.asks[id].shown != told {
            self.books.asks[id].shown = told;
            self.decide(Decision::ShowAsk(id));
        }
    }

    fn report_queues(&mut self) {
        let mut queues: Vec<_> = std::mem::take(&mut self.books.changes.queues)
            .into_iter()
            .filter(|id| self.books.queues.get(*id).is_some())
            .flat_map(|id| self.books.queues.path(id).collect::<Vec<_>>())
            .collect();
        queues.sort_unstable_by(|a, b| self.books.queues[*a].path.cmp(&self.books.queues[*b].path));
        queues.dedup();
        for id in queues {
            self.decide(Decision::ShowQueue(self.books.queues[id].path.clone()));
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
            return None;
        }
        match &ask.spec.place {
            Place::Refused(unsupported) => return Some(AskReason::Unsupported(unsupported.clone())),
            Place::Gated | Place::On { .. } | Place::Succeeded | Place::Failed { .. } => return None,
            Place::Pending => {}
        }
        if ask.leaving.is_some() {
            return None;
        }
        if let Some((refusal, _)) = &ask.refused {
            return Some(AskReason::BindRefused(refusal.clone()));
        }
        match (ask.app, ask.group) {
            (None, None) => self.single_reason(id),
            (None, Some(group)) => self.groupless_reason(group),
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

    fn groupless_reason(&self, group: GroupId) -> Option<AskReason> {
        let group = &self.books.groups[group];
        let name = group.key.name.clone();
        Some(if group.closed_out { AskReason::ApplicationClosed(name) } else { AskReason::TaskGroupNotFound(name) })
    }

    fn single_reason(&self, id: AskId) -> Option<AskReason> {
        let ask = &self.books.asks[id];
        let path = ask.spec.queue.as_deref().unwrap_or(DEFAULT_QUEUE);
        match self.books.queues.usable(path) {
            Err(RejectReason::QueueNotFound(queue) | RejectReason::QueueDraining(queue))
                if !self.books.listed.queues =>
            {
                Some(AskReason::QueueUnknown(queue))
            }
            Err(reason) => Some(AskReason::Queue(reason)),
            Ok(queue) => self.ordinary_reason(id, queue),
        }
    }

    fn ordinary_reason(&self, id: AskId, queue: QueueId) -> Option<AskReason> {
        let mut asked = Totals::default();
        asked.add(self.books.request(id), 1);
        match self.books.queues.refuses(queue, &asked) {
            Some(refused) => Some(match self.books.queues.exceeds_max(queue, &asked).into_iter().next() {
                Some(excess) => AskReason::TooLarge(excess),
                None => AskReason::Quota(refused),
            }),
            None => Some(AskReason::Capacity(self.books.asks[id].class?)),
        }
    }

    fn member_reason(&self, id: AskId, app_id: AppId, group: Option<GroupId>) -> Option<AskReason> {
        let (ask, app) = (&self.books.asks[id], &self.books.apps[app_id]);
        match app.state() {
            AppState::Rejected => {
                let code = app.rejected.first()?.code();
                Some(AskReason::Rejected { code, text: join(&app.rejected) })
            }
            AppState::New | AppState::Completed => self.gang_reason(app.gang),
            AppState::Accepted if !app.groups.is_empty() => self.reserving_reason(id, app.gang),
            AppState::Accepted | AppState::Running | AppState::Waiting => match ask.waits_for {
                WaitsFor::Room(queue, _) => self.ordinary_reason(id, queue),
                WaitsFor::Seat(_) => self.seat_reason(id, group?),
                WaitsFor::Start(_) => self.gang_reason(app.gang),
                WaitsFor::Nothing | WaitsFor::Queue => None,
            },
        }
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
        !group.reserves_for_all() && group.cut.as_ref().is_some_and(|cut| ask.rank() <= *cut)
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

    /// The sentence for a pod's reason, with counts and the binding constraint.
    pub fn ask_message(&self, reason: &AskReason) -> String {
        match reason {
            AskReason::Capacity(class) => self.capacity_sentence(&Scratch::default(), *class),
            AskReason::Gang(gang, reason) => self.gang_message(*gang, reason),
            AskReason::Wanted(gang) => match &self.books.gangs[*gang].waits {
                Some(waits) => self.gang_message(*gang, waits),
                None => reason.to_string(),
            },
            AskReason::TaskGroupNotFound(_)
            | AskReason::ApplicationClosed(_)
            | AskReason::Unsupported(_)
            | AskReason::Rejected { .. }
            | AskReason::Queue(_)
            | AskReason::QueueUnknown(_)
            | AskReason::Quota(_)
            | AskReason::TooLarge(_)
            | AskReason::SeatTooSmall { .. }
            | AskReason::PlaceholderKept(_)
            | AskReason::BindRefused(_) => reason.to_string(),
        }
    }

    fn gang_message(&self, gang: GangId, reason: &Reason) -> String {
        match reason {
            Reason::WaitingForCapacity { .. } => match short_now(&self.books, gang) {
                Some(ShortNow { demand, fit, nodes }) => {
                    let reason = Reason::WaitingForCapacity { fit, need: demand.count };
                    format!("{reason}, then {}", self.capacity_sentence(&nodes, demand.class))
                }
                None => format!("{reason}; looking again"),
            },
            Reason::WaitingBehind { refused, .. } => match short_now(&self.books, gang) {
                Some(ShortNow { demand, fit, nodes }) => {
                    let reason = Reason::WaitingBehind { fit, need: demand.count, refused: refused.clone() };
                    format!("{reason}; {}", self.capacity_sentence(&nodes, demand.class))
                }
                None => format!("{reason}; trying again soon"),
            },
            Reason::WaitingForTaskGroups { .. }
            | Reason::WaitingForQueues { .. }
            | Reason::WaitingForFirstPod
            | Reason::WaitingForMembers { .. }
            | Reason::WaitingForQuota(_)
            | Reason::WaitingForApplications { .. }
            | Reason::Settling
            | Reason::CreatingPlaceholders { .. }
            | Reason::BindingPlaceholders { .. }
            | Reason::Held { .. }
            | Reason::PlaceholdersLeaving { .. }
            | Reason::PlaceholderRejected(_)
            | Reason::PlaceholdersLost(_)
            | Reason::JoinedLate { .. }
            | Reason::ReservationLost { .. } => reason.to_string(),
            Reason::MembersRefused { group, .. } => match self.first_refused(gang, *group) {
                Some(cause) => format!("{reason}; {cause}"),
                None => reason.to_string(),
            },
        }
    }

    /// The first refused pod of a task group, or of those outside the groups of a gang, with its cause.
    fn first_refused(&self, gang: GangId, group: Option<GroupId>) -> Option<String> {
        let of_group = group.and_then(|group| self.books.groups.get(group)).map(|group| &group.asks);
        let outside = || self.books.gangs[gang].apps.iter().map(|app| &self.books.apps[*app].asks).collect();
        let asks = of_group.map_or_else(outside, |asks| vec![asks]);
        let refused = asks.into_iter().flatten().filter_map(|ask| match &self.books.asks[*ask].spec.place {
            Place::Refused(unsupported) => Some((&self.books.asks[*ask].spec.key.name, &unsupported.field)),
            Place::Gated | Place::Pending | Place::On { .. } | Place::Succeeded | Place::Failed { .. } => None,
        });
        refused.min().map(|(pod, field)| format!("{pod} uses {field}"))
    }

    /// "0/20 nodes take one more: 15 Insufficient cpu, …" in kube-scheduler's words, with the nearest miss; the nodes
    /// as seen through a plan.
    fn capacity_sentence(&self, plan: &Scratch, class: ClassId) -> String {
        let histogram = misfits(&self.books.nodes, &self.books.classes, plan, class);
        let request = &self.books.classes.shape(class).request;
        let mut text = format!("{}/{} nodes take one more", histogram.fit, histogram.nodes);
        let causes: Vec<_> =
            histogram.iter().map(|(cause, count)| format!("{count} {}", cause.wording(request))).collect();
        if !causes.is_empty() {
            text.push_str(&format!(": {}", causes.join(", ")));
        }
        if let Some(near) = histogram.nearest
            && let (Some(resource), Some(node)) = (near.lacks.resource(request), self.books.nodes.name(near.node))
        {
            text.push_str(&format!(
                "; nearest is {node}, {} {resource} short",
                Amount(resource, i128::from(near.missing))
            ));
        }
        text
    }

    /// Whether a task group's stage passes by itself within moments.
    pub fn is_in_progress(&self, id: GroupId) -> bool {
        let Some(group) = self.books.groups.get(id) else { return false };
        let app = group.app.map(|app| &self.books.apps[app]);
        app.is_some_and(|app| match app.state() {
            AppState::New | AppState::Accepted => {
                self.books.gangs[app.gang].waits.as_ref().is_none_or(Reason::is_progress)
            }
            // An open seat stays open until a member comes.
            AppState::Running => !app.placed && group.seats.tally().open == 0,
            AppState::Waiting | AppState::Rejected | AppState::Completed => false,
        })
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
            replaced: group.replaced,
            accepted: !matches!(state, AppState::New | AppState::Rejected),
            past_gate: app.is_some_and(|app| {
                app.admitted || matches!(app.state(), AppState::Running | AppState::Waiting | AppState::Completed)
            }),
            placed: app.is_some_and(|app| app.placed),
            completes: app.and_then(|app| Some(app.idle?.ends(self.completion_timeout(app)).1)),
            generation: spec.generation,
            queue: self.queue_shown(group),
        })
    }

    fn queue_shown(&self, group: &Group) -> Text {
        let own = group.app.and_then(|app| self.books.apps[app].queue);
        own.map_or_else(|| group.spec().queue.clone(), |queue| self.books.queues[queue].path.clone())
    }

    /// The one reason that says most.
    fn group_reason(&self, group: &Group) -> Code {
        let Some(app) = group.app.map(|app| &self.books.apps[app]) else { return Code::ApplicationClosed };
        let waits = self.books.gangs[app.gang].waits.as_ref();
        match app.state() {
            // A rejected application has at least one reason.
            AppState::Rejected => app.rejected.first().map_or(Code::Submitted, RejectReason::code),
            AppState::New | AppState::Accepted => waits.map_or(Code::Submitted, Reason::code),
            AppState::Running => running_reason(group, app.placed).0,
            AppState::Waiting => Code::WaitingForCompletion,
            AppState::Completed => waits.map_or(Code::Completed, Reason::code),
        }
    }

    /// The sentence beside the reason of a task group. It may look at every node, so it is made only when it is written
    /// or asked for.
    pub fn group_message(&self, id: GroupId) -> String {
        let Some(group) = self.books.groups.get(id) else { return String::new() };
        let Some(app) = group.app.map(|app| &self.books.apps[app]) else {
            return self.outside_message(id);
        };
        let waits = self.books.gangs[app.gang].waits.as_ref();
        match app.state() {
            AppState::Rejected => join(&app.rejected),
            AppState::New | AppState::Accepted => match waits {
                Some(reason) => self.gang_message(app.gang, reason),
                None => "submitted; not planned yet".into(),
            },
            AppState::Running => running_reason(group, app.placed).1,
            AppState::Waiting => {
                "nothing runs and nothing is pending; the application completes at its deadline".into()
            }
            AppState::Completed => match waits {
                Some(reason) => self.gang_message(app.gang, reason),
                None => "the application is complete".into(),
            },
        }
    }

    /// Everything that is shown of a queue.
    pub fn queue_report(&self, id: QueueId) -> Option<QueueReport> {
        let queue = self.books.queues.get(id)?;
        let mut report = QueueReport { allocated: queue.allocated.clone(), ..QueueReport::default() };
        let counts = AppState::ALL.into_iter().zip(queue.applications);
        report.applications = counts.filter(|(_, count)| *count > 0).collect();
        report.pending = queue.pending.clone();
        report.headroom = self.books.queues.headroom(id);
        Some(report)
    }
}

fn running_reason(group: &Group, placed: bool) -> (Code, String) {
    let (tally, all) = (group.seats.tally(), group.seats.len());
    if tally.open > 0 {
        let lost = tally.open;
        let comes = if placed { "are ordinary pods" } else { "are placed first" };
        let text = format!("{lost} of {all} seats have no member and nothing holds them; members that come {comes}");
        return (Code::PartiallyLost, text);
    }
    if placed || tally.taken == all {
        return (Code::Running, format!("{} of {all} members run or have run", tally.taken));
    }
    let text = format!("{} of {all} members are bound, {} seats are held for those to come", tally.taken, tally.held);
    (Code::Starting, text)
}

fn join(reasons: &[RejectReason]) -> String {
    reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
