//! The quota tree: what each queue and all below it use and may use (01, 1.12).

mod leaf;

use std::collections::{BTreeMap, BTreeSet};

use crate::core::base::arena::{Arena, Lookup};
use crate::core::base::ids::{GangId, QueueId, Text};
use crate::core::base::resources::{Excess, Resources, Totals};
use crate::core::event::{HeadOfLine, QueueSpec};
use crate::core::model::ask::Rank;
use crate::core::model::claims::{Claim, Claims};
use crate::core::model::lifecycle::AppState;
use crate::core::model::queue::share::{Part, Shares};
use crate::core::time::{Mono, Wall};
pub use leaf::MAX_PATH;

mod refuse;
pub mod share;
pub mod standing;

/// The queue of pods and task groups that name none.
pub const DEFAULT_QUEUE: &str = "root.default";

/// The root of the tree.
pub const ROOT: &str = "root";

/// One queue.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Its path, `root.data`.
    pub path: Text,
    /// The queue above; `None` for the root. Of what is no queue, see [`Part`], the one to which it belongs.
    pub parent: Option<QueueId>,
    /// Whether it is a queue, or what some submitter may use of one.
    pub part: Part,
    /// Its limits. While it drains: those of its Queue object if there is one, else the last ones.
    pub spec: QueueSpec,
    /// A Queue object defines it, or the queue above gives it to a namespace, or it is `root` or `root.default`. Otherwise
    /// it drains: what runs stays charged, nothing new is accepted.
    pub defined: bool,
    /// The namespace whose own queue it is, or was; `None` of one that a Queue object defines or defined last.
    pub namespace: Option<Text>,
    /// Used by the queue and all below it, placeholders and kept seats included.
    pub allocated: Totals,
    /// Asked by the gangs in the queue and all below it that are past the gate and have no nodes yet.
    pub claims: Claims,
    /// For whom headroom is kept, beside those who are past the gate.
    pub keeps: Option<Keep>,
    /// Applications past the gate in the queue and all below it.
    pub admitted: u32,
    /// Applications in the queue and all below it, by state in the order of [`AppState::ALL`].
    pub applications: [u32; AppState::ALL.len()],
    /// What the waiting ones among them ask for.
    pub pending: Totals,
    /// Gangs of it that are between the open gate and their first running pod; blocked by nodes or not.
    pub starting: BTreeSet<GangId>,
    /// Number of defined queues directly below: a leaf has none.
    pub children: u32,
    /// Charges, applications and queues that refer to it: it is forgotten when nothing does.
    pub referrers: u32,
}

/// The tree.
#[derive(Clone, Debug)]
pub struct Queues {
    arena: Arena<QueueId, Queue>,
    by_path: Lookup<Text, QueueId>,
    /// Who has a part of which queue.
    shares: Shares,
    /// Limits of Queue objects without a valid place. Pods that still run in such a queue stay within them, also for a
    /// process that never saw the queue in force.
    displaced: Lookup<Text, QueueSpec>,
    /// Paths of the queues that choose namespaces.
    choosing: BTreeSet<Text>,
    /// Paths of the queues that were forgotten since [`Queues::take_drained`] was last called: they had drained, and
    /// nothing refers to them any more.
    drained: Vec<Text>,
    /// How many queues change the order of work: see [`QueueSpec::orders_something`].
    ordering: u32,
    /// What changed since [`Queues::take_moved`] was last called.
    moved: Moved,
}

/// Queues whose limits may hold more, or less, than they did.
#[derive(Clone, Debug, Default)]
pub struct Moved {
    /// Less is used or claimed, or another limit holds.
    pub loosened: BTreeSet<QueueId>,
    /// More is used or claimed, or another limit holds.
    pub tightened: BTreeSet<QueueId>,
    /// Something else is kept.
    pub kept: BTreeSet<QueueId>,
    /// A gang that was between the open gate and its start is so no more, or waits for nodes.
    pub calmed: BTreeSet<QueueId>,
    /// Some queue has another spec.
    pub relimited: bool,
}

/// Why a queue does not let something in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaExcess {
    /// Path of the queue that refuses: the leaf or an ancestor; behind it the user or group whose limit it is, if it is one:
    /// `root.data (user alice)`.
    pub queue: Text,
    /// What is asked and what is left.
    pub excess: Excess,
    /// How much of what is left other gangs have, if the ask would fit without them.
    pub kept: Option<Kept>,
}

/// Headroom that is kept for a gang which is first in line in its queue (01, 1.2.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Its queue, below this one or this one.
    pub leaf: QueueId,
    /// Its place in the order of a pass.
    pub rank: Rank,
    /// What it asks for.
    pub need: Totals,
    /// Since when it keeps others waiting. Where two gangs want headroom of one queue kept, the older one gets it.
    pub since: Mono,
    /// Who it is.
    pub first: First,
}

/// A gang that is first in line and keeps those behind it waiting (01, 1.2.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct First {
    /// `namespace/name` of its application, the first if it has several.
    pub application: Text,
    /// Path of its queue.
    pub queue: Text,
    /// Since when.
    pub since: Wall,
}

/// The part of what is left that gangs earlier in the order ask for (01, 1.2.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// How many such gangs.
    pub gangs: u32,
    /// How much of the resource.
    pub amount: i128,
    /// That one among them which is first in line in its queue, and for which it is kept.
    pub first: Option<First>,
}

impl Default for Queues {
    fn default() -> Self {
        let mut queues = Self {
            arena: Arena::default(),
            by_path: Lookup::default(),
            shares: Shares::default(),
            displaced: Lookup::default(),
            choosing: BTreeSet::new(),
            drained: Vec::new(),
            ordering: 0,
            moved: Moved::default(),
        };
        queues.define(DEFAULT_QUEUE, QueueSpec::default());
        queues.define(ROOT, QueueSpec::default());
        queues
    }
}

impl std::ops::Index<QueueId> for Queues {
    type Output = Queue;
    fn index(&self, id: QueueId) -> &Queue {
        &self.arena[id]
    }
}

impl Queue {
    fn new(path: Text, parent: Option<QueueId>, part: Part) -> Self {
        Self {
            path,
            parent,
            part,
            spec: QueueSpec::default(),
            defined: false,
            namespace: None,
            allocated: Totals::default(),
            claims: Claims::default(),
            keeps: None,
            admitted: 0,
            applications: [0; AppState::ALL.len()],
            pending: Totals::default(),
            starting: BTreeSet::new(),
            children: 0,
            referrers: 0,
        }
    }

    /// What is left of a resource beside what is used; `None` where that is not limited here.
    pub fn left_of(&self, resource: &str) -> Option<i128> {
        Some((self.spec.max.get(resource)? - self.allocated.get(resource)).max(0))
    }
}

impl Queues {
    /// A queue that may have been forgotten.
    pub fn get(&self, id: QueueId) -> Option<&Queue> {
        self.arena.get(id)
    }

    /// What is left of each resource that the queue or an ancestor limits: the minimum over the path. Limits of users and
    /// groups do not count.
    pub fn headroom(&self, id: QueueId) -> Vec<(Text, i128)> {
        let mut left: BTreeMap<Text, i128> = BTreeMap::new();
        for queue in self.path(id).map(|at| &self.arena[at]) {
            for name in queue.spec.max.names() {
                let here = queue.left_of(name).unwrap_or(0);
                let entry = left.entry(name.clone()).or_insert(here);
                *entry = here.min(*entry);
            }
        }
        left.into_iter().collect()
    }

    /// The queue of a path, if it is known.
    pub fn find(&self, path: &str) -> Option<QueueId> {
        self.by_path.get(path).copied()
    }

    /// The queue of a path. If none is known an undefined one is made, so that running pods are charged somewhere.
    pub fn at(&mut self, path: &str) -> QueueId {
        if let Some(id) = self.find(path) {
            return id;
        }
        let parent = path.rsplit_once('.').map(|(above, _)| self.at(above));
        let id = self.arena.insert(Queue::new(path.into(), parent, Part::Queue));
        self.by_path.insert(path.into(), id);
        self.put_spec(id, self.displaced.get(path).cloned().unwrap_or_default());
        if let Some(parent) = parent {
            self.arena[parent].referrers += 1;
        }
        id
    }

    /// Defines or changes a queue; returns whether anything changed.
    pub fn define(&mut self, path: &str, spec: QueueSpec) -> Option<QueueId> {
        self.displaced.remove(path);
        self.define_for(path, None, spec)
    }

    /// The same, as the own queue of a namespace or as a Queue object says.
    fn define_for(&mut self, path: &str, namespace: Option<&Text>, spec: QueueSpec) -> Option<QueueId> {
        let id = self.at(path);
        let queue = &mut self.arena[id];
        let (was_defined, parent) = (queue.defined, queue.parent);
        if was_defined && queue.spec == spec && queue.namespace.as_ref() == namespace {
            return None;
        }
        (queue.defined, queue.namespace) = (true, namespace.cloned());
        self.put_spec(id, spec);
        self.note_choosing(id);
        self.relimit(id);
        if let (false, Some(parent)) = (was_defined, parent) {
            self.arena[parent].children += 1;
        }
        Some(id)
    }

    /// The Queue object has no valid place: pods that run in the queue stay within these limits. Returns the queue, if
    /// it is known.
    pub fn displace(&mut self, path: &Text, spec: QueueSpec) -> Option<QueueId> {
        self.displaced.insert(path.clone(), spec.clone());
        let id = self.find(path)?;
        self.put_spec(id, spec);
        self.relimit(id);
        Some(id)
    }

    /// Forgets the limits of a queue without a valid place, since its object is gone or has a valid place now.
    pub fn forget_limits(&mut self, path: &str) {
        self.displaced.remove(path);
    }

    /// How many queues without a valid place have limits.
    pub fn displaced(&self) -> usize {
        self.displaced.len()
    }

    /// The queue drains within its limits. `root` and `root.default` become unlimited.
    pub fn undefine(&mut self, id: QueueId) {
        let queue = &mut self.arena[id];
        if *queue.path == *ROOT || *queue.path == *DEFAULT_QUEUE {
            self.put_spec(id, QueueSpec::default());
            self.note_choosing(id);
            return self.relimit(id);
        }
        if !std::mem::replace(&mut queue.defined, false) {
            return;
        }
        self.note_choosing(id);
        if let Some(parent) = self.arena[id].parent {
            self.arena[parent].children -= 1;
        }
        self.forget_if_idle(id);
    }

    /// Whether an application may be submitted to it.
    pub fn is_leaf(&self, id: QueueId) -> bool {
        self.arena[id].children == 0
    }

    /// The queue and its ancestors, leaf first.
    pub fn path(&self, id: QueueId) -> impl Iterator<Item = QueueId> {
        path_in(&self.arena, self.leaf(id))
    }

    /// All queues, to be shown in order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (QueueId, &Queue)> {
        self.arena.iter().filter(|(_, queue)| queue.part == Part::Queue)
    }

    /// How often, or how long, who is first in line in a queue is overtaken.
    pub fn head_of_line(&self, id: QueueId) -> HeadOfLine {
        self.path(id).find_map(|at| self.arena[at].spec.head_of_line).unwrap_or_default()
    }

    /// Keeps headroom of a queue for somebody, or for nobody any more.
    pub fn keep(&mut self, id: QueueId, keep: Option<Keep>) {
        let Some(queue) = self.arena.get_mut(id).filter(|queue| queue.keeps != keep) else { return };
        let leaf = keep.as_ref().map(|keep| keep.leaf);
        let old = std::mem::replace(&mut queue.keeps, keep);
        self.moved.loosened.insert(id);
        self.moved.tightened.insert(id);
        self.moved.kept.insert(id);
        // Who is first in line may leave it before what is kept is given up: its queue is asked for its place until then.
        leaf.into_iter().for_each(|leaf| self.retain(leaf));
        old.into_iter().for_each(|old| self.release(old.leaf));
    }

    /// Notes what a gang past the gate still has to be given.
    pub fn claim(&mut self, id: QueueId, rank: &Rank, claim: &Claim) {
        self.up(id, |queue| queue.claims.add(rank, claim));
        self.tighten(id);
    }

    /// Takes that back.
    pub fn unclaim(&mut self, id: QueueId, rank: &Rank) {
        self.up(id, |queue| queue.claims.remove(rank));
        self.loosen(id);
    }

    /// Nodes block a gang that has a claim: those behind it may start before it does.
    pub fn block(&mut self, id: QueueId, rank: &Rank) {
        let mut is_new = false;
        self.up(id, |queue| is_new |= queue.claims.block(rank));
        if is_new {
            self.loosen(id);
            self.moved.calmed.insert(self.leaf(id));
        }
    }

    /// A gang of a queue is past the open gate and has not started.
    pub fn begin_start(&mut self, id: QueueId, gang: GangId) {
        self.arena[id].starting.insert(gang);
    }

    /// It has, or is before the gate again.
    pub fn end_start(&mut self, id: QueueId, gang: GangId) {
        if self.arena.get_mut(id).is_some_and(|queue| queue.starting.remove(&gang)) {
            self.moved.calmed.insert(id);
        }
    }

    /// What changed since this was last asked.
    pub fn take_moved(&mut self) -> Moved {
        std::mem::take(&mut self.moved)
    }

    /// Whether [`Self::take_moved`] has something to tell.
    pub fn has_moved(&self) -> bool {
        let Moved { loosened, tightened, calmed, kept: _, relimited: _ } = &self.moved;
        !loosened.is_empty() || !tightened.is_empty() || !calmed.is_empty()
    }

    fn put_spec(&mut self, id: QueueId, spec: QueueSpec) {
        self.ordering += u32::from(spec.orders_something());
        let limits_others = self.arena[id].spec.limits != spec.limits;
        let old = std::mem::replace(&mut self.arena[id].spec, spec);
        self.ordering -= u32::from(old.orders_something());
        if limits_others {
            self.limit_anew(id);
        }
    }

    fn loosen(&mut self, id: QueueId) {
        let limited = charged_in(&self.arena, id).filter(|at| self.arena[*at].spec.limits_something());
        self.moved.loosened.extend(limited);
    }

    fn tighten(&mut self, id: QueueId) {
        let limited = charged_in(&self.arena, id).filter(|at| !self.arena[*at].spec.max.is_unlimited());
        self.moved.tightened.extend(limited);
    }

    /// Other limits hold.
    fn relimit(&mut self, id: QueueId) {
        // Those above put in order what is claimed and kept there by what this one is promised.
        let path: Vec<_> = self.path(id).collect();
        self.moved.loosened.extend(&path);
        self.moved.tightened.extend(&path);
        self.moved.relimited = true;
    }

    /// Charges `request` to the queue and its ancestors.
    pub fn charge(&mut self, id: QueueId, request: &Resources) {
        self.arena[id].referrers += 1;
        self.use_otherwise(id, |allocated| allocated.add(request, 1));
        self.tighten(id);
    }

    /// Takes a charge back.
    pub fn discharge(&mut self, id: QueueId, request: &Resources) {
        self.use_otherwise(id, |allocated| allocated.sub(request, 1));
        self.loosen(id);
        self.release(id);
    }

    /// A queue that has what it is promised goes behind those that have not, and before them no more: then what others
    /// claim and what is kept for them counts, or counts no more, for those who wait.
    fn use_otherwise(&mut self, id: QueueId, mut change: impl FnMut(&mut Totals)) {
        let old = self.are_ordered().then(|| self.standing(id).coarse());
        self.up(id, |queue| change(&mut queue.allocated));
        if old.is_some_and(|old| old != self.standing(id).coarse()) {
            self.loosen(id);
            self.tighten(id);
        }
    }

    /// Counts an application past the gate.
    pub fn admit(&mut self, id: QueueId) {
        self.up(id, |queue| queue.admitted += 1);
    }

    /// Takes back [`Self::admit`].
    pub fn dismiss(&mut self, id: QueueId) {
        self.up(id, |queue| queue.admitted -= 1);
        self.loosen(id);
    }

    /// Counts an application by its state and what it waits for, or takes it back.
    pub fn count_app(&mut self, id: QueueId, state: AppState, pending: &Totals, comes: bool) {
        self.up(id, |queue| {
            let count = &mut queue.applications[state as usize];
            *count = count.checked_add_signed(if comes { 1 } else { -1 }).expect("an application is counted once");
            if comes { queue.pending.add_all(pending) } else { queue.pending.sub_all(pending) }
        });
    }

    /// The queues that were forgotten since this was last asked.
    pub fn take_drained(&mut self) -> Vec<Text> {
        std::mem::take(&mut self.drained)
    }

    /// Whether [`Self::take_drained`] has something to tell.
    pub const fn has_drained(&self) -> bool {
        !self.drained.is_empty()
    }

    /// Keeps a queue known while something refers to it.
    pub fn retain(&mut self, id: QueueId) {
        self.arena[id].referrers += 1;
    }

    /// Ends a [`Self::retain`].
    pub fn release(&mut self, id: QueueId) {
        self.arena[id].referrers -= 1;
        self.forget_if_idle(id);
    }

    fn up(&mut self, id: QueueId, mut change: impl FnMut(&mut Queue)) {
        for at in self.arena[id].part.limits().to_vec() {
            change(&mut self.arena[at]);
        }
        let mut next = Some(id);
        while let Some(at) = next {
            let queue = &mut self.arena[at];
            change(queue);
            next = queue.parent;
        }
    }

    fn forget_if_idle(&mut self, id: QueueId) {
        let queue = &self.arena[id];
        if queue.defined || queue.referrers > 0 {
            return;
        }
        let (path, parent) = (queue.path.clone(), queue.parent);
        if queue.part == Part::Queue {
            self.by_path.remove(&path);
            self.put_spec(id, QueueSpec::default());
            self.drained.push(path);
        } else {
            self.end_part(id);
        }
        self.arena.remove(id);
        if let Some(parent) = parent {
            self.release(parent);
        }
    }
}

fn sum(one: &Totals, other: &Totals) -> Totals {
    let mut sum = one.clone();
    sum.add_all(other);
    sum
}

/// Whether a queue is one of these, or lies above or below one.
pub(in crate::core) fn is_on_path_of(path: &str, queues: &BTreeSet<Text>) -> bool {
    let mut up = std::iter::successors(Some(path), |path| path.rsplit_once('.').map(|(above, _)| above));
    let below = format!("{path}.");
    let is_below = |queue: &Text| queue.starts_with(&below);
    up.any(|path| queues.contains(path)) || queues.range(Text::from(&*below)..).next().is_some_and(is_below)
}

/// Whatever limits what is charged in a queue, or in a submitter's part of one.
fn charged_in(arena: &Arena<QueueId, Queue>, id: QueueId) -> impl Iterator<Item = QueueId> {
    let queue = &arena[id];
    let leaf = if queue.part.is_share() { queue.parent.unwrap_or(id) } else { id };
    queue.part.limits().iter().copied().chain(path_in(arena, leaf))
}

/// The queue and all above it, from the leaf upwards.
fn path_in(arena: &Arena<QueueId, Queue>, id: QueueId) -> impl Iterator<Item = QueueId> {
    std::iter::successors(Some(id), |id| arena[*id].parent)
}
