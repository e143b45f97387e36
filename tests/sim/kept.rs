//! I2, I3: for a while the room of a member that was lost is for the next one (01, 1.5), by what its process was told.
//!
//! Less is claimed than is promised: whatever may end a hold, or may have ended it, ends it here, so that it does not have to
//! be known what the process made of it. So nothing is claimed
//! - for placeholders and pods outside task groups, nor for members that were beyond the seats, were refused by their node, or
//!   may be of a life that is over;
//! - for a gang that had not been placed as a whole, of which a task group was edited or is gone, or the PodGroup of which it
//!   was made, or whose status says that it does not run or that it timed out; nor while a pod of it waits, or when one came
//!   since (it may have taken the seat, and with it another one's room, or begun another life with all of them), nor where one
//!   ran or has succeeded beyond the seats (it takes the next seat that is lost), or has succeeded and is gone (of whom nobody
//!   knows which seat it had);
//! - on a node that had given more than it has, or that changed since, or where somebody else put something since: what is
//!   kept there may have been moved;
//! - beyond the first hold: that one who comes renews it for the others is not asked;
//! - of another process than the one that was told: kept seats are memory. Nor of one that was told before it had looked at
//!   everything: it begins with what is there then.

use gangline::core::base::ids::{Key, Uid};

use super::{GroupSeen, PodSeen, Process};
use crate::sim::amount::Amount;
use crate::sim::oracle::times_out;

/// How long a seat is kept where the task group does not say.
const HOLD_S: u32 = 60;

/// The room of a member that is lost.
#[derive(Clone)]
pub(super) struct Lost {
    /// The seat: of this task group, in this life, the number.
    pub(super) of: Uid,
    life: u32,
    seat: u32,
    pub(super) node: String,
    pub(super) queue: String,
    asks: Amount,
    until_ms: u64,
}

impl Process {
    /// A pod is gone, or what it is now has ended: nobody has its place in `pods`.
    pub(super) fn note_loss(&mut self, old: &PodSeen, ended: Option<&PodSeen>) {
        if old.succeeded && ended.is_none() {
            self.gone_well.extend(old.life_of.clone());
        }
        if let Some(of) = old.life_of.clone().filter(|_| old.has_room() && !old.placeholder) {
            let until_ms = self.hold_until_ms(&of);
            self.kept_until.entry(of).and_modify(|until| *until = until_ms.max(*until)).or_insert(until_ms);
        }
        let is_lost = self.has_begun && ended.is_none_or(|pod| pod.ended && !pod.succeeded && !pod.refused);
        if let Some(lost) = self.room_of(old).filter(|lost| is_lost && self.is_kept(lost) && self.fits(lost)) {
            self.lost.insert(old.uid.clone(), lost);
        }
    }

    /// Whether a gang may begin anew then in the room of those that it lost: it takes nothing from those before it.
    pub(crate) fn may_begin_in_kept_room(&self, of: &Uid, at_ms: u64) -> bool {
        let gang = self.groups.get(of).into_iter().flat_map(|own| &own.gang);
        let gang = gang.filter_map(|key| self.group_uids.get(key)).chain([of]);
        gang.filter_map(|uid| self.kept_until.get(uid)).any(|until| at_ms <= *until)
    }

    /// How long room is kept that a task group loses now.
    fn hold_until_ms(&self, of: &Uid) -> u64 {
        let group = self.groups.get(of).and_then(|own| own.last.as_ref());
        let hold_s = group.and_then(|group| group.spec.seat_hold_seconds).unwrap_or(HOLD_S);
        self.now_ms + 1_000 * u64::from(hold_s)
    }

    fn room_of(&self, old: &PodSeen) -> Option<Lost> {
        let is_member = old.has_room() && !old.placeholder && !old.outlived;
        let (of, life, seat) = (old.life_of.clone().filter(|_| is_member)?, old.life?, old.seat?);
        let until_ms = self.hold_until_ms(&of);
        Some(Lost { of, life, seat, node: old.node.clone()?, queue: old.queue.clone()?, asks: old.asks, until_ms })
    }

    /// Whether the hold of a member goes on: nothing became of its gang since that was placed as a whole, but what it lost.
    fn is_kept(&self, lost: &Lost) -> bool {
        let Some(own) = self.groups.get(&lost.of) else { return false };
        let stays = |key: &Key| {
            let uid = self.group_uids.get(key).filter(|uid| !self.some_went_well(uid));
            let runs = |group: &GroupSeen| group.runs_as_it_was(lost.life, &lost.queue) && !self.is_orphaned(group);
            uid.and_then(|uid| self.groups.get(uid)).is_some_and(runs)
        };
        let is_there = self.group_uids.get(&own.key) == Some(&lost.of) && own.gang.iter().all(stays);
        // Whose seat is beyond those that there are by now takes the next one that is lost.
        let is_beyond = |pod: &PodSeen| {
            let group = pod.life_of.as_ref().and_then(|of| self.groups.get(of));
            pod.seat.is_some() && group.is_some_and(|group| group.min <= pod.seat)
        };
        let is_settled =
            |(key, pod): (&Key, &PodSeen)| !self.is_of(key, pod, &lost.of) || lost.leaves_alone(pod) && !is_beyond(pod);
        self.now_ms < lost.until_ms && is_there && own.min > Some(lost.seat) && self.pods.iter().all(is_settled)
    }

    /// Whether members have succeeded and are gone: it saw them go, or the status that it found counts more than there are.
    fn some_went_well(&self, uid: &Uid) -> bool {
        let there = self.pods.values().filter(|pod| pod.succeeded && pod.life_of.as_ref() == Some(uid)).count();
        let status = self.groups.get(uid).and_then(|group| group.last.as_ref()?.status.as_ref());
        self.gone_well.contains(uid) || status.is_some_and(|status| status.counts.succeeded as usize > there)
    }

    /// Whether the node takes such pods, and has room for it beside all others.
    fn fits(&self, lost: &Lost) -> bool {
        let Some(node) = self.nodes.get(&Key::cluster(lost.node.as_str())) else { return false };
        let there = self.pods.values().filter(|pod| pod.has_room() && pod.node.as_deref() == Some(&lost.node));
        let coming = self.intents.values().filter(|intent| intent.node == lost.node);
        let all = there.map(|pod| pod.asks).chain(coming.map(|intent| intent.asks));
        let all: Vec<Amount> = all.chain(self.kept(|other| other.node == lost.node)).chain([lost.asks]).collect();
        let is_open = node.cordoned_ms.is_none() && node.tainted_ms.is_none();
        is_open && all.len() as u64 <= node.pods && all.into_iter().sum::<Amount>().is_within(node.has)
    }

    /// What is kept somewhere for those who come.
    pub(super) fn kept(&self, somewhere: impl Fn(&Lost) -> bool) -> impl Iterator<Item = Amount> {
        self.lost.values().filter(move |lost| somewhere(lost) && self.is_kept(lost)).map(|lost| lost.asks)
    }

    /// A pod comes, or gets a node: whoever it is of may have what was kept. While one of a gang waits, members of it that
    /// are being deleted may be of a life that is over.
    pub(super) fn note_comer(&mut self, key: &Key) {
        let Some(comer) = self.pods.get(key).filter(|pod| !pod.ended) else { return };
        let of_its_gang = |of: &Uid| self.is_of(key, comer, of);
        let taken: Vec<Uid> =
            self.lost.iter().filter(|(_, lost)| of_its_gang(&lost.of)).map(|(uid, _)| uid.clone()).collect();
        taken.iter().for_each(|uid| _ = self.lost.remove(uid));
    }

    pub(super) fn note_outlived(&mut self) {
        let waits =
            |of: &Uid| self.pods.iter().any(|(key, pod)| !pod.ended && pod.node.is_none() && self.is_of(key, pod, of));
        let is_outlived = |pod: &PodSeen| {
            pod.terminating
                && !pod.ended
                && !pod.outlived
                && pod.seat.is_some()
                && pod.life_of.as_ref().is_some_and(waits)
        };
        let outlived = self.pods.iter().filter(|(_, pod)| is_outlived(pod)).map(|(key, _)| key.clone());
        for key in outlived.collect::<Vec<_>>() {
            self.pods.entry(key).and_modify(|pod| pod.outlived = true);
        }
    }

    /// A node is not as it was: what was kept there may be kept elsewhere, or nowhere.
    pub(super) fn give_up_lost_on(&mut self, node: &str) {
        self.lost.retain(|_, lost| lost.node != node);
    }

    /// Whether a pod is of the gang of this task group, or says so, or said so once.
    fn is_of(&self, key: &Key, pod: &PodSeen, uid: &Uid) -> bool {
        let Some(group) = self.groups.get(uid) else { return false };
        let is_named = |name: &str| group.gang.iter().any(|of| of.namespace == key.namespace && &*of.name == name);
        let names = || pod.earlier.iter().flatten().chain(&pod.group);
        let bound_for = || pod.life_of.as_ref().and_then(|of| self.groups.get(of));
        names().any(|name| is_named(name))
            || bound_for().is_some_and(|other| group.gang.contains(&other.key))
            || pod.application.is_some() && pod.application.as_deref() == group.application()
    }
}

impl Lost {
    /// Whether a pod of the gang has no claim to the room: it has ended, or has its own.
    fn leaves_alone(&self, pod: &PodSeen) -> bool {
        let is_driver = pod.group.is_none() && !pod.placeholder;
        let has_seat = pod.life == Some(self.life) && pod.seat.is_some();
        let same_seat = pod.life_of.as_ref() == Some(&self.of) && pod.seat == Some(self.seat);
        let is_elsewhere = is_driver || has_seat && !same_seat;
        pod.ended && !pod.succeeded || pod.node.is_some() && !pod.perhaps_gone && is_elsewhere
    }
}

impl GroupSeen {
    fn application(&self) -> Option<&str> {
        let named = self.last.as_ref().and_then(|group| group.spec.application_id.as_deref());
        named.or(Some(&*self.key.name))
    }

    /// Whether it runs in this life and this queue, was placed as a whole, and was never edited.
    fn runs_as_it_was(&self, life: u32, queue: &str) -> bool {
        let Some(group) = self.last.as_ref().filter(|_| !self.edited) else { return false };
        let named = group.spec.queue.as_deref().unwrap_or("root.default");
        group.status.as_ref().is_some_and(|status| {
            let runs = matches!(status.application_state.as_str(), "Running" | "Waiting");
            let placed = status.conditions.iter().any(|one| one.type_ == "Placed" && one.status == "True");
            let same = status.incarnation == life && status.counts.required == group.spec.min_member;
            runs && placed && same && named == queue && !times_out(status)
        })
    }
}
