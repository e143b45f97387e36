//! What is said of the room that is kept for an application.

use crate::core::base::ids::{KeptId, Text};
use crate::core::model::application::App;
use crate::core::step::Scheduler;
use crate::core::time::Wall;

/// Room that is kept, for people.
#[derive(Clone, Debug)]
pub struct KeptReport {
    /// The pod that was lost.
    pub pod: Text,
    /// Where it is kept; `None` while there is no room for it, or no quota.
    pub node: Option<Text>,
    /// Until when.
    pub until: Wall,
}

impl Scheduler {
    /// One kept seat.
    pub fn kept_seat(&self, id: KeptId) -> Option<KeptReport> {
        let kept = self.books.kept.get(id)?;
        let node = kept.charge.as_ref().and_then(|charge| self.books.nodes.name(charge.node)).cloned();
        Some(KeptReport { pod: kept.rank.key.name.clone(), node, until: kept.until.1 })
    }

    /// `; the room of 3 lost pods is kept until … for those that come in their place`; empty where none is.
    pub(super) fn kept_words(&self, app: &App) -> String {
        let Some(id) = self.books.app_ids.get(&app.key).copied() else { return String::new() };
        let Some(until) = self.books.kept_until(id) else { return String::new() };
        let pods = match self.books.kept_of(id).count() {
            1 => format!("1 lost pod is kept until {until} for the one that comes in its place"),
            count => format!("{count} lost pods is kept until {until} for those that come in their place"),
        };
        let nowhere = match self.books.kept_of(id).filter(|kept| self.books.unhoused.contains(kept)).count() {
            0 => String::new(),
            count => format!(", but nothing is reserved now for {count} of them, for want of room or quota"),
        };
        format!("; the room of {pods}{nowhere}")
    }
}
