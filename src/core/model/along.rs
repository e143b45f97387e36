//! Members beyond the seats with which a gang starts: up to `totalMember` of those that are there (01, 1.3). On the books they have
//! a node and no seat, and their Binding is not decided before the gang has started.

use crate::core::base::ids::AskId;
use crate::core::model::books::Books;
use crate::core::model::group::Group;

impl Books {
    /// The waiting members of a task group that may start with its gang beyond its seats, in the order of a pass: without those for
    /// whom a seat is held or will be.
    pub(in crate::core) fn beyond_seats(&self, group: &Group) -> Vec<AskId> {
        let Some(total) = group.spec.as_ref().and_then(|spec| spec.total_member) else { return Vec::new() };
        let have = group.seats.len() + group.members.held_back.saturating_sub(group.seats.tally().members());
        let most = total.saturating_sub(have);
        let waiting = group.waiting.iter().map(|(_, ask)| *ask);
        waiting.skip(group.seats_for_waiting() as usize).take(most as usize).collect()
    }

    /// Those who go along with the start of a task group's gang beyond its seats, in the order of a pass.
    pub(in crate::core) fn going_along(&self, group: &Group) -> Vec<AskId> {
        if group.members.held_back == 0 {
            return Vec::new();
        }
        let found = group.asks.iter().filter(|ask| self.asks[**ask].goes_along());
        let mut found: Vec<_> = found.map(|ask| (self.asks[*ask].rank(), *ask)).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, ask)| ask).collect()
    }
}

impl Group {
    /// How many seats there are that those who wait may take.
    pub(in crate::core) fn seats_for_waiting(&self) -> u32 {
        let tally = self.seats.tally();
        tally.open + tally.binding + tally.held + tally.leaving
    }

    /// Whether somebody goes along with the start who could have a seat: one is open, or no other member waits for it.
    pub(in crate::core) fn wants_who_goes_along(&self) -> bool {
        let tally = self.seats.tally();
        let somebody_goes = self.members.held_back > tally.members();
        somebody_goes && (tally.open > 0 || (self.waiting.len() as u32) < self.seats_for_waiting())
    }
}
