//! The lines in which gangs wait for their turn before their start (01, 1.2.5).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::core::base::ids::{AppId, AskId, ClassId, GangId, KeptId, NodeId, QueueId, Text};
use crate::core::base::resources::Totals;
use crate::core::model::ask::Rank;
use crate::core::model::books::Books;
use crate::core::model::claims::Claim;
use crate::core::model::gang::Stage;
use crate::core::model::group::Group;

/// Ordinary pods that are alike: what keeps one of them waiting keeps those behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodLine {
    /// Their queue.
    pub queue: QueueId,
    /// Their class.
    pub class: ClassId,
    /// Each of them would start an application: one that is first in line may keep it waiting (01, 1.2.6). Pods of
    /// applications that have started are never kept for that reason.
    pub starts: bool,
    /// Their application, where the queue is `Fair`: those of one do not stand behind those of another.
    pub app: Option<AppId>,
}

/// Work that waits for the same thing: if the first of a line cannot go on, nor can those behind it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Line {
    /// Ordinary pods.
    Pods(PodLine),
    /// Gangs of one queue before the gate that ask for the same.
    Gate(QueueId, Arc<Form>),
    /// One gang past the gate, or a round of one that has started.
    Gang(GangId),
}

/// What a gang before the gate asks for: two with the same form fit the same limits and the same nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Form {
    /// What the queue must hold.
    pub need: Totals,
    /// Admission makes the same of placeholders in one namespace: those of its task groups.
    namespaces: Vec<Text>,
    applications: usize,
    groups: Vec<GroupForm>,
    originators: Alike,
    /// Room that is kept for it: nobody else has the same.
    kept: Vec<KeptId>,
}

/// What one task group asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GroupForm {
    open: u32,
    /// The class of its placeholders, if it has such; the form is a user of it.
    placeholder: Option<ClassId>,
    /// The members that its seats may be given to.
    members: Alike,
}

/// Pods in their order, those of one class after each other counted.
type Alike = Vec<(ClassId, u32)>;

/// What the plan of a round is made of, beside nodes and limits. Who begins to wait, or ceases to, makes it another one: a plan
/// passes over who fits nowhere for somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundForm {
    /// Of each task group how many it places, and who may be among them.
    groups: Vec<(u32, Candidates)>,
    originators: Candidates,
    /// Room that is kept for it, and where.
    kept: Vec<(KeptId, NodeId)>,
}

/// Pods in their order, each with what it asks for.
type Candidates = Vec<(AskId, Option<ClassId>)>;

/// A gang's place among those that try to start, or to start some of their members once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Before the gate.
    Gate {
        /// Its place in the order of a pass.
        rank: Rank,
        /// Its queue.
        queue: QueueId,
        /// What it asks for.
        form: Arc<Form>,
    },
    /// Past the gate.
    Past {
        /// Its place in the order of a pass.
        rank: Rank,
        /// Its queue.
        queue: QueueId,
        /// What it still has to be given.
        need: Totals,
    },
    /// It has started, and members of it start together once more.
    Round {
        /// Its place in the order of a pass.
        rank: Rank,
        /// Its queue.
        queue: QueueId,
        /// Who may be placed.
        form: Arc<RoundForm>,
    },
}

/// Gangs of one form in one queue before the gate.
#[derive(Clone, Debug, Default)]
pub struct GateLine {
    /// In the order of a pass.
    pub gangs: BTreeMap<Rank, GangId>,
    /// Those of them that came, or changed, since the line was last told why it waits.
    pub fresh: BTreeSet<GangId>,
}

impl Books {
    /// Gives a gang another place among those that try to start, or none. A line that it joins, leaves or stands in is
    /// looked at in the next pass; but not that of a round which is what it was before. Its plan would come to the same: it is
    /// made of the form, of nodes and of limits, and a line that sleeps is woken by what it lacked of these two. Nor would
    /// anything else be told, since numbers of limits are told anew by waking it, and whom the plan wants follows from the form.
    pub fn set_turn(&mut self, id: GangId, turn: Option<Turn>) {
        let old = std::mem::replace(&mut self.gangs[id].turn, turn);
        if old != self.gangs[id].turn {
            self.leave_turn(id, old);
            self.join_turn(id);
            self.doubt(id);
        } else {
            match old {
                Some(Turn::Gate { form, .. }) => self.release_form(&form),
                Some(Turn::Round { .. }) => return,
                Some(Turn::Past { .. }) | None => {}
            }
        }
        self.look_at(id);
    }

    /// Takes a gang out of those that try to start.
    pub fn take_no_turn(&mut self, id: GangId) {
        let old = self.gangs[id].turn.take();
        self.leave_turn(id, old);
    }

    /// The line in which a gang stands is looked at in the next pass.
    fn look_at(&mut self, id: GangId) {
        let line = match &self.gangs[id].turn {
            Some(Turn::Gate { queue, form, .. }) => {
                let line = (*queue, form.clone());
                self.gate.entry(line.clone()).or_default().fresh.insert(id);
                Line::Gate(line.0, line.1)
            }
            Some(Turn::Past { .. } | Turn::Round { .. }) => Line::Gang(id),
            None => return,
        };
        self.changes.lines.insert(line);
    }

    fn leave_turn(&mut self, id: GangId, old: Option<Turn>) {
        match old {
            Some(Turn::Gate { rank, queue, form }) => {
                let line = (queue, form);
                if let Some(gangs) = self.gate.get_mut(&line) {
                    gangs.gangs.remove(&rank);
                    gangs.fresh.remove(&id);
                    if gangs.gangs.is_empty() {
                        self.gate.remove(&line);
                    }
                }
                self.release_form(&line.1);
                self.changes.lines.insert(Line::Gate(line.0, line.1));
            }
            Some(Turn::Past { rank, queue, .. }) => {
                self.queues.unclaim(queue, &rank);
                self.changes.lines.insert(Line::Gang(id));
            }
            Some(Turn::Round { .. }) => drop(self.changes.lines.insert(Line::Gang(id))),
            None => {}
        }
    }

    fn join_turn(&mut self, id: GangId) {
        match &self.gangs[id].turn {
            Some(Turn::Gate { rank, queue, form }) => {
                let line = self.gate.entry((*queue, form.clone())).or_default();
                line.gangs.insert(rank.clone(), id);
            }
            Some(Turn::Past { rank, queue, need }) => {
                let claim = Claim { gang: id, queue: *queue, need: need.clone(), blocked: false };
                self.queues.claim(*queue, rank, &claim);
            }
            // Who has started is asked for no place.
            Some(Turn::Round { .. }) | None => {}
        }
    }

    /// Nodes block a gang past the gate.
    pub fn block(&mut self, id: GangId) {
        if let Some(Turn::Past { rank, queue, .. }) = &self.gangs[id].turn {
            self.queues.block(*queue, rank);
        }
    }

    /// The turn of a gang that lacks something and may try; `None` while it is in no queue. A form is a user of the
    /// classes of its placeholders: who asks for it gives it to [`Self::set_turn`].
    pub fn turn_of(&mut self, id: GangId, rank: Rank) -> Option<Turn> {
        let queue = self.queue_of(id)?;
        if *self.gangs[id].stage() != Stage::Gate {
            return Some(Turn::Past { rank, queue, need: self.open_ask(id) });
        }
        Some(Turn::Gate { rank, queue, form: Arc::new(self.form_of(id)) })
    }

    /// What the gang still has to be given, beyond what is kept for it.
    pub fn open_ask(&self, id: GangId) -> Totals {
        self.beyond_kept(id, self.whole_open_ask(id))
    }

    fn whole_open_ask(&self, id: GangId) -> Totals {
        let gang = &self.gangs[id];
        if let Some(ask) = &gang.real_ask {
            return ask.clone();
        }
        let mut ask = Totals::default();
        self.groups_of(id).for_each(|group| ask.add_all(&self.open_seats_ask(group)));
        for (_, originator) in &gang.originators {
            ask.add(self.request(*originator), 1);
        }
        ask
    }

    /// What a gang before its start asks for. A form is a user of the classes of its placeholders: who asks for it gives it
    /// back with [`Self::release_form`].
    pub fn form_of(&mut self, id: GangId) -> Form {
        let gang = &self.gangs[id];
        if gang.groups.is_empty() {
            // Its pods do not start together: each is an ask of its own, once the gang is let in.
            return Form { applications: gang.apps.len(), ..Form::default() };
        }
        let groups = gang.groups.clone().into_iter().map(|group| {
            let shape = Some(&self.groups[group]).filter(|group| group.uses_placeholders());
            let shape = shape.map(|group| group.spec().shape.clone());
            let placeholder = shape.map(|shape| self.classes.intern(&shape, &self.nodes));
            let group = &self.groups[group];
            let members = self.members_for_seats(group).map(|ask| self.asks[ask].class);
            GroupForm { open: group.seats.tally().open, placeholder, members: alike(members) }
        });
        let groups = groups.collect();
        let gang = &self.gangs[id];
        let originators = alike(gang.originators.iter().map(|(_, ask)| self.asks[*ask].class));
        let namespaces = self.groups_of(id).map(|group| group.key.namespace.clone()).collect();
        let kept = self.kept_of_gang(id);
        Form { need: self.open_ask(id), namespaces, applications: gang.apps.len(), groups, originators, kept }
    }

    /// What the next round of a gang is made of. Each candidate counts, and not how many are alike: whom the plan wanted to place
    /// is told to these by name.
    pub(in crate::core) fn round_form(&self, id: GangId) -> RoundForm {
        let with_class = |ask: AskId| (ask, self.asks[ask].class);
        let of_group = |group: &Group| {
            let placeholders = group.seats.open_with_placeholder().map(|(_, ask)| ask);
            let candidates = self.members_for_seats(group).chain(placeholders);
            (self.places_to_plan(group), candidates.map(with_class).collect())
        };
        let kept = self.kept_of_gang(id).into_iter();
        RoundForm {
            groups: self.groups_of(id).map(of_group).collect(),
            originators: self.gangs[id].originators.iter().map(|(_, ask)| with_class(*ask)).collect(),
            kept: kept.filter_map(|kept| Some((kept, self.kept[kept].charge.as_ref()?.node))).collect(),
        }
    }

    /// Gives a form back.
    pub fn release_form(&mut self, form: &Form) {
        for class in form.groups.iter().filter_map(|group| group.placeholder) {
            self.classes.release(class);
            self.due.dropped.insert(class);
        }
    }
}

impl Line {
    /// The queue in which those in it wait; of a gang past the gate its turn says it.
    pub fn queue(&self) -> Option<QueueId> {
        match self {
            Self::Pods(PodLine { queue, .. }) | Self::Gate(queue, _) => Some(*queue),
            Self::Gang(_) => None,
        }
    }
}

impl Turn {
    /// Whether the gang is past the gate.
    pub const fn is_past_gate(&self) -> bool {
        matches!(self, Self::Past { .. })
    }

    /// The place in the order of a pass.
    pub const fn rank(&self) -> &Rank {
        match self {
            Self::Gate { rank, .. } | Self::Past { rank, .. } | Self::Round { rank, .. } => rank,
        }
    }
}

impl Form {
    /// Whether all of it fits the quota that is kept for it.
    pub fn asks_for_nothing_new(&self) -> bool {
        !self.kept.is_empty() && self.need.is_nothing()
    }

    /// Whether nothing of it starts together.
    pub fn is_alone(&self) -> bool {
        self.groups.is_empty()
    }

    /// The class of the placeholders of each task group.
    pub fn placeholders(&self) -> impl Iterator<Item = Option<ClassId>> {
        self.groups.iter().map(|group| group.placeholder)
    }
}

fn alike(classes: impl Iterator<Item = Option<ClassId>>) -> Alike {
    let mut alike: Alike = Vec::new();
    for class in classes.flatten() {
        match alike.last_mut() {
            Some((last, count)) if *last == class => *count += 1,
            Some(_) | None => alike.push((class, 1)),
        }
    }
    alike
}
