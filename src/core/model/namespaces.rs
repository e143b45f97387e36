//! Which queues are for a namespace, and where its work goes that names none (01, 1.12, 1.2.3).

use std::collections::BTreeSet;

use crate::core::base::ids::{QueueId, Text};
use crate::core::event::NamespaceSpec;
use crate::core::model::application::App;
use crate::core::model::books::Books;
use crate::core::model::queue::{DEFAULT_QUEUE, MAX_PATH};
use crate::core::reason::RejectReason;

/// A namespace that has been seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// As last observed.
    pub spec: NamespaceSpec,
    /// Paths of the queues that choose it.
    pub chosen_by: BTreeSet<Text>,
}

/// Where work of a namespace goes that names no queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// No queue chooses the namespace: to `root.default`.
    Default,
    /// To this queue.
    Queue(Text),
    /// Nowhere: the name of its own queue below this one would be too long.
    NameTooLong(Text),
    /// Nowhere: it says that its queue is below this one, which gives it none.
    NotBelow(Text),
}

/// The path of the own queue of a namespace.
pub fn own_path(above: &str, namespace: &str) -> Text {
    format!("{above}.{namespace}").into()
}

impl Books {
    /// The namespaces of an application, in order: its own, or those of its task groups where these lie in several.
    pub fn namespaces_of<'a>(&'a self, app: &'a App) -> impl Iterator<Item = &'a Text> {
        let own = Some(&app.key.namespace).filter(|own| !own.is_empty());
        let of_groups = app.groups.iter().map(|group| &self.groups[*group].key.namespace);
        // Task groups are in the order of their namespaces.
        let mut last = None;
        let of_groups =
            of_groups.filter(move |namespace| own.is_none() && last.replace(*namespace) != Some(*namespace));
        own.into_iter().chain(of_groups)
    }

    /// Whether nobody can know yet where work of a namespace goes.
    pub fn lacks_namespace(&self, namespace: &Text) -> bool {
        !self.queues.choosing().is_empty() && !self.namespaces.contains_key(namespace)
    }

    /// Where work of a namespace goes that names no queue: of several queues that choose the namespace into the first by path
    /// that takes it, unless the namespace says below which one its queue is.
    pub fn home(&self, namespace: &Text) -> Home {
        let Some(known) = self.namespaces.get(namespace).filter(|_| !self.queues.choosing().is_empty()) else {
            return Home::Default;
        };
        match &known.spec.says.above {
            Some(above) => {
                let gives = self.queues.leaf_below(above, &known.spec.says).is_some();
                let home = self.home_in(namespace, known, above).filter(|_| gives);
                home.unwrap_or_else(|| Home::NotBelow(above.clone()))
            }
            None => {
                let mut homes = known.chosen_by.iter().filter_map(|queue| self.home_in(namespace, known, queue));
                homes.next().unwrap_or(Home::Default)
            }
        }
    }

    /// What a queue is to a namespace that it chooses; nothing where one above it does not, or it has queues below it and
    /// gives none to namespaces.
    fn home_in(&self, namespace: &Text, known: &Namespace, queue: &Text) -> Option<Home> {
        let id = known.chosen_by.get(queue).and_then(|queue| self.queues.find(queue))?;
        if self.queues.closed_to(id, namespace, &known.chosen_by).is_some() {
            return None;
        }
        let own = own_path(queue, namespace);
        match (self.queues[id].spec.template.is_some(), self.queues.is_leaf(id)) {
            (true, _) if own.len() > MAX_PATH => Some(Home::NameTooLong(queue.clone())),
            (true, _) => Some(Home::Queue(own)),
            (false, true) => Some(Home::Queue(queue.clone())),
            (false, false) => None,
        }
    }

    /// The path of the queue of work of a namespace that names this one, or none. Where that has no place it is that of the
    /// queue in which it is charged if it runs all the same.
    pub fn path_of_work(&self, namespace: &Text, named: Option<&Text>) -> Text {
        match named {
            Some(path) => path.clone(),
            None => match self.home(namespace) {
                Home::Queue(path) => path,
                Home::Default | Home::NameTooLong(_) | Home::NotBelow(_) => DEFAULT_QUEUE.into(),
            },
        }
    }

    /// The queue of work of a namespace that names this one, or none.
    ///
    /// # Errors
    /// Why it takes none.
    pub fn queue_of_work(&self, namespace: &Text, named: Option<&Text>) -> Result<QueueId, RejectReason> {
        let namespace = || namespace.clone();
        if named.is_none() {
            match self.home(&namespace()) {
                Home::Default | Home::Queue(_) => {}
                Home::NameTooLong(queue) => {
                    return Err(RejectReason::QueueNameTooLong { queue, namespace: namespace() });
                }
                Home::NotBelow(queue) => {
                    return Err(RejectReason::ParentQueueNotOpen { queue, namespace: namespace() });
                }
            }
        }
        let path = self.path_of_work(&namespace(), named);
        self.closed(&namespace(), &path).map_or_else(|| self.queues.usable(&path), Err)
    }

    /// Why a queue that takes work takes none of this namespace, if it does not.
    fn closed(&self, namespace: &Text, path: &Text) -> Option<RejectReason> {
        let id = self.queues.find(path).filter(|id| self.queues[*id].defined)?;
        let none = BTreeSet::new();
        let chosen_by = self.namespaces.get(namespace).map_or(&none, |known| &known.chosen_by);
        let by = self.queues.closed_to(id, namespace, chosen_by)?.clone();
        Some(RejectReason::QueueNotOpen { queue: path.clone(), namespace: namespace.clone(), by })
    }
}
