//! What nodes lack for those who wait for room: said once for all who wait for the same, kept, and said anew when nodes
//! have changed. So what an object shows is true, and making it costs no more than so many looks at the nodes a minute.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::ids::{AskId, ClassId, GangId, KeptId, Text};
use crate::core::base::resources::Amount;
use crate::core::model::ask::Ask;
use crate::core::model::gang::NUMBERS_MS;
use crate::core::model::timers::Timer;
use crate::core::model::turn::Turn;
use crate::core::place::misfit::misfits;
use crate::core::place::overlay::Scratch;
use crate::core::place::plan::{ShortNow, first_demands, short_now};
use crate::core::reason::{NEAREST, Reason, Short, without_numbers};
use crate::core::step::Scheduler;
use crate::core::time::{Millis, Mono};

/// What was said, and to whom it is to be said.
#[derive(Clone, Debug, Default)]
pub(in crate::core) struct Lacks {
    /// To gangs, which say it to their pods; empty: not yet.
    gangs: BTreeMap<GangId, Text>,
    /// To pods that wait alone, by what they ask for.
    classes: BTreeMap<ClassId, OfClass>,
    /// To these it is said in this step, or in one of the next.
    due: BTreeSet<Whom>,
    /// Pods that show other numbers than those that were said last.
    old: BTreeSet<AskId>,
    /// When it was said anew to all.
    renewed: Option<Mono>,
}

/// Pods that wait alone and ask for the same.
#[derive(Clone, Debug, Default)]
struct OfClass {
    text: Option<Text>,
    asks: BTreeSet<AskId>,
    /// Those that came since it was last said.
    fresh: BTreeSet<AskId>,
}

/// Who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    Gang(GangId),
    Class(ClassId),
}

/// What the plans of gangs that ask for the same fall short of, by what they ask for and what is kept for them.
type Plans = BTreeMap<(Vec<(ClassId, u32)>, Vec<KeptId>), Option<Lack>>;

/// What a plan falls short of.
#[derive(Clone, Debug)]
struct Lack {
    class: ClassId,
    fit: u32,
    need: u32,
    nodes: String,
}

/// Nodes often come and change several at a time: so long it is waited for the next.
const SOON_MS: Millis = 1_000;
/// So many plans and looks at every node are made for it in one step.
const LOOKS_PER_STEP: usize = 64;
/// So many gangs are told in one step, also where they share plans: each costs a look at its members.
const GANGS_PER_STEP: usize = 1_024;
/// So many pods show other numbers in one turn. That they lack something else all show at once.
const OLD_PER_TURN: usize = 1_024;

impl Lacks {
    /// A gang's reason is another one now; `is_new`: it waits for something else.
    pub(super) fn gang_waits(&mut self, id: GangId, is_new: bool) {
        if is_new {
            self.gangs.remove(&id);
        }
        self.due.insert(Whom::Gang(id));
    }

    /// A pod waits alone for room.
    pub(super) fn pod_waits(&mut self, id: AskId, class: ClassId) {
        let of_class = self.classes.entry(class).or_default();
        of_class.fresh.insert(id);
        if of_class.text.as_ref().is_none_or(|text| text.is_empty()) {
            self.due.insert(Whom::Class(class));
        }
    }

    /// These pods show other numbers before long.
    pub(super) fn are_old(&mut self, asks: impl IntoIterator<Item = AskId>) {
        self.old.extend(asks);
    }

    /// Nobody is of a class any more.
    pub(in crate::core) fn forget(&mut self, class: ClassId) {
        self.classes.remove(&class);
    }

    /// Whether something is to be said now.
    pub(in crate::core) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// What a gang was told.
    pub(super) fn of_gang(&self, id: GangId) -> Option<&Text> {
        self.gangs.get(&id).filter(|text| !text.is_empty())
    }

    /// Whether a gang is told in a later step, since many are told in this one.
    pub(super) fn is_put_off(&self, id: GangId) -> bool {
        self.gangs.get(&id).is_some_and(|text| text.is_empty())
    }

    /// What pods of a class were told.
    pub(super) fn of_class(&self, id: ClassId) -> Option<&Text> {
        self.classes.get(&id)?.text.as_ref().filter(|text| !text.is_empty())
    }

    /// How many are remembered.
    pub(in crate::core) fn sizes(&self) -> [(&'static str, usize); 3] {
        [
            ("what was said of nodes", self.gangs.len() + self.classes.len()),
            ("to whom something of nodes is said", self.due.len()),
            ("pods with old numbers", self.old.len()),
        ]
    }

    /// It is said in a later step. What is shown meanwhile may be another sentence: then all show it again.
    fn put_off(&mut self, whom: Whom) {
        match whom {
            Whom::Gang(id) => drop(self.gangs.entry(id).or_default()),
            Whom::Class(id) => drop(self.classes.entry(id).or_default().text.get_or_insert_default()),
        }
        self.due.insert(whom);
    }
}

impl Scheduler {
    /// The time has come to look at the nodes anew for all who wait for room, and to show some of the other numbers.
    pub(in crate::core) fn renew_lacks(&mut self) {
        let lacks = &mut self.lacks;
        lacks.renewed = Some(self.books.now.mono);
        let gangs = lacks.gangs.keys().map(|id| Whom::Gang(*id));
        lacks.due.extend(gangs.chain(lacks.classes.keys().map(|id| Whom::Class(*id))));
        self.show_some_old();
    }

    /// What those were told who wait for some limits has other numbers now: the task groups of gangs show them with their
    /// reasons, and pods here.
    pub(in crate::core) fn renew_limits(&mut self) {
        for line in self.lines.tell_numbers(&self.books.queues) {
            let asks = self.books.ordinary.get(&line).into_iter().flatten();
            self.lacks.are_old(asks.map(|(_, ask)| *ask));
        }
        self.show_some_old();
    }

    fn show_some_old(&mut self) {
        let lacks = &mut self.lacks;
        let later = lacks.old.iter().nth(OLD_PER_TURN).copied();
        let later = later.map(|first| lacks.old.split_off(&first)).unwrap_or_default();
        let now = std::mem::replace(&mut lacks.old, later);
        self.show_again(now);
    }

    /// Says to all who are due what nodes lack for them, and sees to it that it is said anew if nodes have changed.
    pub(super) fn tell_lacks(&mut self) {
        if self.lacks.gangs.len() > self.books.gangs.len() {
            let gangs = &self.books.gangs;
            self.lacks.gangs.retain(|id, _| gangs.get(*id).is_some());
        }
        let mut plans = Plans::new();
        let (mut classes, mut gangs) = (0, 0);
        for whom in std::mem::take(&mut self.lacks.due) {
            if plans.len() + classes >= LOOKS_PER_STEP || gangs >= GANGS_PER_STEP {
                self.lacks.put_off(whom);
                continue;
            }
            match whom {
                Whom::Gang(id) => {
                    gangs += 1;
                    self.tell_gang(id, &mut plans);
                }
                Whom::Class(id) => {
                    classes += 1;
                    self.tell_class(id);
                }
            }
        }
        let nodes = std::mem::take(&mut self.books.changes.nodes);
        let somebody_waits = !self.lacks.gangs.is_empty() || !self.lacks.classes.is_empty();
        if (nodes && somebody_waits || !self.lacks.old.is_empty()) && !self.books.timers.is_set(Timer::Nodes) {
            let soon = self.books.now.mono.after(SOON_MS);
            let next = self.lacks.renewed.map_or(soon, |renewed| renewed.after(NUMBERS_MS).max(soon));
            self.books.timers.set(Timer::Nodes, next);
        }
    }

    fn tell_gang(&mut self, id: GangId, plans: &mut Plans) {
        let waits = self.books.gangs.get(id).and_then(|gang| gang.waits.as_ref()).filter(|reason| reason.is_of_nodes());
        let Some(text) = waits.map(|reason| self.gang_lacks(id, reason, plans)) else {
            self.lacks.gangs.remove(&id);
            return;
        };
        let text = Text::from(text);
        let old = self.lacks.gangs.insert(id, text.clone());
        let Some(old) = old.filter(|old| *old != text) else { return };
        self.books.changes.groups.extend(&self.books.gangs[id].groups);
        self.show_later(&old, &text, self.books.shown_of_gang(id));
    }

    fn tell_class(&mut self, id: ClassId) {
        let Some(OfClass { text: old, mut asks, fresh }) = self.lacks.classes.remove(&id) else { return };
        let waits = |ask: &AskId| self.books.asks.get(*ask).filter(|ask| ask.class == Some(id) && ask.is_pending());
        let shows = |ask: &Ask| ask.shown.as_ref().is_none_or(|shown| shown.code.is_unschedulable());
        asks.retain(|ask| waits(ask).is_some_and(shows));
        asks.extend(fresh.into_iter().filter(|ask| waits(ask).is_some()));
        if asks.is_empty() {
            return;
        }
        let text = Text::from(self.nodes_lack(&Scratch::default(), id));
        let of_class = OfClass { text: Some(text.clone()), asks, fresh: BTreeSet::new() };
        if let Some(old) = old.filter(|old| *old != text) {
            self.show_later(&old, &text, of_class.asks.iter().copied().collect());
        }
        self.lacks.classes.insert(id, of_class);
    }

    /// What these pods show is not true any more: they show at once that it is something else, and other numbers before
    /// long.
    fn show_later(&mut self, old: &str, new: &str, asks: Vec<AskId>) {
        if without_numbers(old).eq(without_numbers(new)) {
            self.lacks.are_old(asks);
        } else {
            self.show_again(asks);
        }
    }

    /// Shows the reason of these pods anew, though it is the same.
    pub(super) fn show_again(&mut self, asks: impl IntoIterator<Item = AskId>) {
        for id in asks {
            if let Some(ask) = self.books.asks.get_mut(id) {
                ask.shown = None;
                self.books.changes.asks.insert(id);
            }
        }
    }

    /// What a gang says that waits for nodes, from a look at them.
    pub(super) fn gang_lacks_now(&self, id: GangId, reason: &Reason) -> String {
        self.gang_lacks(id, reason, &mut Plans::new())
    }

    fn gang_lacks(&self, id: GangId, reason: &Reason, plans: &mut Plans) -> String {
        let demands = first_demands(&self.books, id).unwrap_or_default();
        let asked = demands.iter().map(|demand| (demand.class, demand.count)).collect();
        let lack = plans.entry((asked, self.books.kept_of_gang(id))).or_insert_with(|| {
            let ShortNow { demand, fit, nodes } = short_now(&self.books, id, &demands)?;
            let lacks = self.nodes_lack(&nodes, demand.class);
            Some(Lack { class: demand.class, fit, need: demand.count, nodes: lacks })
        });
        let Some(Lack { class, fit, need, nodes }) = lack else { return format!("{reason}; looking again") };
        let short = Short { who: self.who_is_short(id, *class), fit: *fit, need: *need };
        reason.with_lack(&short, nodes)
    }

    /// The task groups of a gang whose seats go to pods of a class; none if only pods outside task groups are.
    fn who_is_short(&self, id: GangId, class: ClassId) -> Vec<Text> {
        let form = match self.books.gangs[id].turn() {
            Some(Turn::Gate { form, .. }) => Some(form),
            Some(Turn::Past { .. } | Turn::Round { .. }) | None => None,
        };
        let groups = self.books.groups_of(id).enumerate().filter(|(at, group)| {
            let placeholders = group.seats.open_with_placeholder().map(|(_, ask)| ask);
            let mut first =
                self.books.members_for_seats(group).chain(placeholders).take(self.books.places_to_plan(group) as usize);
            let to_be_made = form.and_then(|form| form.placeholders().nth(*at).flatten());
            to_be_made == Some(class) || first.any(|ask| self.books.asks[ask].class == Some(class))
        });
        groups.map(|(_, group)| group.called()).collect()
    }

    /// "0/20 nodes are available: 15 Insufficient cpu, …" in kube-scheduler's words, with the nearest miss; the nodes as
    /// seen through a plan.
    pub(super) fn nodes_lack(&self, plan: &Scratch, class: ClassId) -> String {
        let histogram = misfits(&self.books.nodes, &self.books.classes, plan, class);
        if histogram.nodes == 0 {
            return "there is no node".to_owned();
        }
        let request = &self.books.classes.shape(class).request;
        let mut text = format!("{}/{} nodes are available", histogram.fit, histogram.nodes);
        let causes: Vec<_> =
            histogram.iter().map(|(cause, count)| format!("{count} {}", cause.wording(request))).collect();
        if !causes.is_empty() {
            text.push_str(&format!(": {}", causes.join(", ")));
        }
        if let Some(near) = histogram.nearest
            && let (Some(resource), Some(node)) = (near.lacks.resource(request), self.books.nodes.name(near.node))
        {
            let missing = Amount(resource, i128::from(near.missing));
            text.push_str(&format!("{NEAREST}{node}, {missing} {resource} short"));
        }
        text
    }
}
