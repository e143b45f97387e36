//! Limits of users and groups (01, 1.2.3): what somebody has in a queue is charged there, in the queues above, and by every limit
//! of these that counts for its submitter (ADR 34).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Queue, Queues, charged_in};
use crate::core::base::ids::{QueueId, Text};
use crate::core::event::{QueueSpec, Submitter, SubmitterLimit};

/// Stands for every user, each by itself, or for everybody of whom no group is named, together.
pub const EVERYBODY: &str = "*";

/// What an entry of the tree is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A queue.
    Queue,
    /// What one submitter has in a leaf queue. It has no limit of its own, and no place in the order of queues.
    Share {
        /// Who.
        submitter: Arc<Submitter>,
        /// The limits that count for it, the nearest queue's first.
        limits: Vec<QueueId>,
    },
    /// A limit of a queue: its tallies are those of everything in the queue and below it that counts for this user or group.
    Limit(Whose),
}

/// For whom a limit counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    /// One user.
    User(Text),
    /// The members of a group together; [`EVERYBODY`]: all of whom no group is named.
    Group(Text),
}

/// Who has a part of which queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    /// By leaf queue and submitter.
    of: BTreeMap<(QueueId, Arc<Submitter>), QueueId>,
    /// Limits that count for somebody, by the queue that has them.
    limits: BTreeMap<(QueueId, Whose), QueueId>,
}

impl Part {
    /// The limits that count for a submitter's part.
    pub fn limits(&self) -> &[QueueId] {
        match self {
            Self::Share { limits, .. } => limits,
            Self::Queue | Self::Limit(_) => &[],
        }
    }

    /// Whether it is what one submitter has in a queue.
    pub const fn is_share(&self) -> bool {
        matches!(self, Self::Share { .. })
    }
}

impl Whose {
    /// How a limit of a queue is called: `root.data (user alice)`. No queue has such a name.
    pub fn of(&self, queue: &str) -> Text {
        format!("{queue} ({self})").into()
    }
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "user {name}"),
            Self::Group(name) => write!(f, "group {name}"),
        }
    }
}

impl QueueSpec {
    /// What limits a submitter here: the first limit that names the user, else the first for every user; and the first that
    /// names one of its groups, else the first for those without.
    pub fn limits_of(&self, submitter: &Submitter) -> impl Iterator<Item = (Whose, &SubmitterLimit)> {
        let user = |name: &str| self.limits.iter().find(|limit| limit.users.iter().any(|user| **user == *name));
        let of_user = user(&submitter.user).or_else(|| user(EVERYBODY));
        let named = self.limits.iter().find_map(|limit| {
            let group = limit.groups.iter().find(|group| submitter.groups.contains(group))?;
            Some((Whose::Group(group.clone()), limit))
        });
        let others = || {
            let limit = self.limits.iter().find(|limit| limit.groups.iter().any(|group| **group == *EVERYBODY))?;
            Some((Whose::Group(EVERYBODY.into()), limit))
        };
        let of_user = of_user.map(|limit| (Whose::User(submitter.user.clone()), limit));
        of_user.into_iter().chain(named.or_else(others))
    }
}

impl Queues {
    /// The queue of a submitter's part of it; any other is its own.
    pub fn leaf(&self, id: QueueId) -> QueueId {
        let queue = self.get(id).filter(|queue| queue.part.is_share());
        queue.and_then(|queue| queue.parent).unwrap_or(id)
    }

    /// Where work of a submitter is charged that is in a leaf queue: to its part of that. To the queue where it is not known
    /// who submitted it. A part is forgotten when nothing refers to it.
    pub fn share(&mut self, leaf: QueueId, submitter: Option<&Arc<Submitter>>) -> QueueId {
        let Some(submitter) = submitter else { return leaf };
        let key = (leaf, submitter.clone());
        if let Some(id) = self.shares.of.get(&key) {
            return *id;
        }
        let part = Part::Share { submitter: submitter.clone(), limits: Vec::new() };
        let id = self.arena.insert(Queue::new(self.arena[leaf].path.clone(), Some(leaf), part));
        self.arena[leaf].referrers += 1;
        self.shares.of.insert(key, id);
        self.put_under_limits(id);
        id
    }

    /// Who submitted what is charged here; `None` of a queue.
    pub fn submitter(&self, id: QueueId) -> Option<&Arc<Submitter>> {
        match &self.get(id)?.part {
            Part::Share { submitter, .. } => Some(submitter),
            Part::Queue | Part::Limit(_) => None,
        }
    }

    /// A leaf queue and the parts of it.
    pub fn with_parts(&self, leaf: QueueId) -> Vec<QueueId> {
        let parts = self.shares.of.range((leaf, Arc::default())..).take_while(|((of, _), _)| *of == leaf);
        std::iter::once(leaf).chain(parts.map(|(_, id)| *id)).collect()
    }

    /// The limits of users and groups that count for somebody in a queue or below it.
    pub fn limits_in(&self, id: QueueId) -> impl Iterator<Item = (&Whose, &Queue)> {
        let from = (id, Whose::User("".into()));
        let limits = self.shares.limits.range(from..).take_while(move |((of, _), _)| *of == id);
        limits.map(|((_, whose), id)| (whose, &self.arena[*id]))
    }

    /// Whether a path is the name of a limit of a user or group.
    pub fn is_limit(&self, path: &str) -> bool {
        self.find(path).is_some_and(|id| matches!(self.arena[id].part, Part::Limit(_)))
    }

    /// How many parts and limits there are.
    pub fn parts(&self) -> usize {
        self.shares.of.len() + self.shares.limits.len()
    }

    /// Everything whose limit counts for what is charged here: the limits of its submitter, then the queue and those above.
    pub fn charged(&self, id: QueueId) -> impl Iterator<Item = QueueId> {
        charged_in(&self.arena, id)
    }

    /// Everything that counts what is charged here.
    pub fn counting(&self, id: QueueId) -> impl Iterator<Item = QueueId> {
        let own = Some(id).filter(|id| self.arena[*id].part.is_share());
        own.into_iter().chain(self.charged(id))
    }

    /// Queues, parts of them, and limits.
    pub fn all(&self) -> impl Iterator<Item = (QueueId, &Queue)> {
        self.arena.iter()
    }

    /// A queue has other limits of users and groups: they count for what is there by now.
    pub(super) fn limit_anew(&mut self, changed: QueueId) {
        let parts: Vec<_> = self.shares.of.values().copied().collect();
        let concerned: Vec<_> = parts.into_iter().filter(|part| self.path(*part).any(|at| at == changed)).collect();
        concerned.into_iter().for_each(|part| self.put_under_limits(part));
    }

    /// Brings a submitter's part under the limits that count for it, and takes it out of others.
    fn put_under_limits(&mut self, id: QueueId) {
        let Some(submitter) = self.submitter(id).cloned() else { return };
        let mut now = Vec::new();
        for queue in self.path(id).collect::<Vec<_>>() {
            let limits = self.arena[queue].spec.limits_of(&submitter);
            let limits: Vec<_> = limits.map(|(whose, limit)| (whose, QueueSpec::from(limit))).collect();
            now.extend(limits.into_iter().map(|(whose, spec)| self.limit(queue, whose, spec)));
        }
        let old = match &mut self.arena[id].part {
            Part::Share { limits, .. } => std::mem::replace(limits, now.clone()),
            Part::Queue | Part::Limit(_) => Vec::new(),
        };
        for limit in now.iter().filter(|limit| !old.contains(limit)) {
            self.count_part(id, *limit, true);
            self.retain(*limit);
        }
        for limit in old.iter().filter(|limit| !now.contains(limit)) {
            self.count_part(id, *limit, false);
            self.release(*limit);
        }
    }

    /// A limit of a queue, with what it leaves now.
    fn limit(&mut self, queue: QueueId, whose: Whose, spec: QueueSpec) -> QueueId {
        let key = (queue, whose);
        let id = match self.shares.limits.get(&key) {
            Some(id) => *id,
            None => {
                let path = key.1.of(&self.arena[queue].path);
                let id = self.arena.insert(Queue::new(path.clone(), Some(queue), Part::Limit(key.1.clone())));
                self.by_path.insert(path, id);
                self.arena[queue].referrers += 1;
                self.shares.limits.insert(key, id);
                id
            }
        };
        if self.arena[id].spec != spec {
            self.arena[id].spec = spec;
            self.moved.loosened.insert(id);
            self.moved.tightened.insert(id);
            self.moved.relimited = true;
        }
        id
    }

    /// Counts all of a submitter's part by a limit, or takes it back.
    fn count_part(&mut self, part: QueueId, limit: QueueId, comes: bool) {
        let part = self.arena[part].clone();
        let limit = &mut self.arena[limit];
        for (rank, claim) in part.claims.iter() {
            if comes { limit.claims.add(rank, claim) } else { limit.claims.remove(rank) }
        }
        for (count, of_part) in limit.applications.iter_mut().zip(part.applications) {
            *count = if comes { *count + of_part } else { *count - of_part };
        }
        if comes {
            limit.allocated.add_all(&part.allocated);
            limit.pending.add_all(&part.pending);
            limit.admitted += part.admitted;
        } else {
            limit.allocated.sub_all(&part.allocated);
            limit.pending.sub_all(&part.pending);
            limit.admitted -= part.admitted;
        }
    }

    /// Nothing refers to a part, or counts by a limit, any more. Who waits for the limit does so no more.
    pub(super) fn end_part(&mut self, id: QueueId) {
        let Queue { path, parent: Some(queue), part, .. } = self.arena[id].clone() else { return };
        match part {
            Part::Queue => {}
            Part::Share { submitter, limits } => {
                self.shares.of.remove(&(queue, submitter));
                limits.into_iter().for_each(|limit| self.release(limit));
            }
            Part::Limit(whose) => {
                self.shares.limits.remove(&(queue, whose));
                self.by_path.remove(&path);
                self.moved.loosened.insert(id);
            }
        }
    }
}

impl From<&SubmitterLimit> for QueueSpec {
    fn from(limit: &SubmitterLimit) -> Self {
        Self { max: limit.max.clone(), max_applications: limit.max_applications, ..Self::default() }
    }
}
