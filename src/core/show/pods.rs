//! What one pod is told: why it waits, and the sentence for it.

use crate::core::base::ids::{AppId, AskId, GangId, GroupId, Text};
use crate::core::event::{Place, Role};
use crate::core::gang::replace::excess_refused;
use crate::core::model::ask::{Ask, AskState, WaitsFor};
use crate::core::model::lifecycle::AppState;
use crate::core::model::seat::SeatState;
use crate::core::model::turn::PodLine;
use crate::core::place::overlay::Scratch;
use crate::core::reason::{AskReason, Objection, Reason, RejectReason};
use crate::core::show::lacks::Lacks;
use crate::core::show::report::join;
use crate::core::step::Scheduler;

impl Scheduler {
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
            Place::Refused(objection) => return Some(self.refused_reason(id, objection)),
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

    /// Why a pod is given no node. One that says itself that its gang has timed out is told what is said of the gang, as long as
    /// that is refused.
    fn refused_reason(&self, id: AskId, objection: &Objection) -> AskReason {
        let ask = &self.books.asks[id];
        let is_refused = |app: &AppId| self.books.apps[*app].state() == AppState::Rejected;
        let app = ask.app.filter(is_refused).filter(|_| matches!(objection, Objection::GivenUp(_)));
        let of_gang = app.and_then(|app| self.member_reason(id, app, ask.group));
        of_gang.unwrap_or_else(|| AskReason::Refused(Box::new(objection.clone())))
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
                WaitsFor::Seat(group) if self.books.starts_in_rounds(&self.books.groups[group]) => {
                    self.reserving_reason(id, app.gang)
                }
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
        let (gang, entry) = (gang, &self.books.gangs[gang]);
        // Those that start within moments are told nothing.
        let lasts = entry.waits.as_ref().is_some_and(|reason| !reason.is_progress());
        (is_held && lasts && entry.is_before_start()).then_some(AskReason::SeatHeld(gang))
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
        let may_have_its_own = !group.reserves_for_all() || self.books.starts_in_rounds(group);
        let has_own_seat = may_have_its_own || !group.spec().shape.stands_in_for(&ask.spec.shape);
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
}
