//! Plans: reads the books, and writes no more than its own notes.

use crate::core::base::ids::{AskId, ClassId, KeptId, NodeId};
use crate::core::model::ask::{Ask, AskState};
use crate::core::model::books::Books;
use crate::core::place::bounds::{Bounds, Vain};
use crate::core::place::fill::{Demand, Placed, Shortfall, fill, fill_some};
use crate::core::place::misfit::{fits, fits_shape};
use crate::core::place::overlay::Scratch;
use crate::core::place::puzzle::STEPS;
use crate::core::place::tight::{Miss, fill_tight};

/// What a plan is made with: the overlay says what this plan has put where, the bounds what is known about room between
/// plans. Neither is part of the books.
#[derive(Clone, Debug, Default)]
pub struct Planner {
    overlay: Scratch,
    /// Room that is kept for the gang of the present plan. With such nothing is learned about room, and nothing known is
    /// believed: it is there for nobody else.
    own: Vec<KeptId>,
    /// What is known about room.
    pub bounds: Bounds,
    /// Where the last plan put its demands.
    placed: Vec<Placed>,
    /// How many gangs and rounds were planned.
    pub(super) plans: u64,
}

impl Planner {
    /// Finds nodes for all demands, or for none. If a single demand falls short, the number that fit bounds every plan
    /// until nodes get more room.
    pub(super) fn fill(&mut self, books: &Books, demands: &[Demand]) -> Result<&[Placed], Shortfall> {
        self.placed.clear();
        self.begin(books);
        let result = fill(&books.nodes, &books.classes, &mut self.overlay, demands, &mut self.placed);
        if let ([demand], Err(Shortfall { fit, .. }), true) = (demands, &result, self.own.is_empty()) {
            self.bounds.learn(books, demand.class, *fit);
        }
        result.map(|()| &*self.placed)
    }

    /// Finds nodes for all demands, or for none, when their first order does not. What was searched for in vain is not
    /// searched for again before nodes get more room. Counts the steps of a search down, and all that are known up.
    pub(super) fn fill_tight(
        &mut self,
        books: &Books,
        demands: &[Demand],
        left: &mut u32,
        known: &mut u32,
    ) -> Result<&[Placed], Miss> {
        let is_for_all = self.own.is_empty();
        if let Some(Vain { is_proven, steps }) = self.vain(demands) {
            *known = known.saturating_add(steps);
            return Err(if is_proven { Miss::Searched } else { Miss::GaveUp });
        }
        let before = *left;
        self.placed.clear();
        self.begin(books);
        self.bounds.count_search();
        let result = fill_tight(&books.nodes, &books.classes, &mut self.overlay, demands, &mut self.placed, left);
        let steps = before - *left;
        *known = known.saturating_add(steps);
        match result {
            _ if !is_for_all => {}
            Err(Miss::Alone(Shortfall { demand, fit })) => self.bounds.learn(books, demands[demand].class, fit),
            Err(Miss::Searched) => self.bounds.note_vain(demands, Vain { is_proven: true, steps }),
            // A search that began with less than the whole bound says nothing of one that has it.
            Err(Miss::GaveUp) if before == STEPS => self.bounds.note_vain(demands, Vain { is_proven: false, steps }),
            Err(Miss::GaveUp) | Ok(()) => {}
        }
        result.map(|()| &*self.placed)
    }

    /// How often nodes were looked for, for all of a gang or of a round.
    pub const fn plans(&self) -> u64 {
        self.plans
    }

    /// Begins a plan, with the room that is kept for its gang.
    pub(super) fn begin(&mut self, books: &Books) {
        self.overlay.begin();
        for kept in &self.own {
            credit_kept(&mut self.overlay, books, *kept);
        }
    }

    /// The next plans are made with this kept room, until it is taken back.
    pub(super) fn own(&mut self, kept: Vec<KeptId>) {
        self.own = kept;
    }

    /// Whether some room is kept for the gang of the present plan.
    pub(super) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// How many more pods of a class fit at most, where that is known.
    pub(super) fn bound_of(&self, class: ClassId) -> Option<u32> {
        self.bounds.of(class).filter(|_| self.own.is_empty())
    }

    /// What a search for these demands came to, if it was in vain and nodes have got no more room since.
    pub(super) fn vain(&self, demands: &[Demand]) -> Option<Vain> {
        self.bounds.vain(demands).filter(|_| self.own.is_empty())
    }

    /// Finds nodes for as many pods of a class as fit, for pods that do not need each other: the nodes, each with how
    /// many.
    pub fn fill_some(&mut self, books: &Books, class: ClassId, count: u32) -> &[Placed] {
        self.overlay.begin();
        self.fill_more(books, class, count)
    }

    fn fill_more(&mut self, books: &Books, class: ClassId, count: u32) -> &[Placed] {
        let fit: u32 = self.fill_beside(books, class, count).iter().map(|placed| placed.count).sum();
        if fit < count {
            self.bounds.learn(books, class, 0);
        }
        &self.placed
    }

    /// The nodes for as many pods of a class as fit beside what this plan has placed.
    pub(super) fn fill_beside(&mut self, books: &Books, class: ClassId, count: u32) -> &[Placed] {
        self.placed.clear();
        let demand = Demand { class, count };
        fill_some(&books.nodes, &books.classes, &mut self.overlay, demand, &mut self.placed);
        &self.placed
    }

    /// A node for one pod of a class.
    pub fn find(&mut self, books: &Books, class: ClassId) -> Option<NodeId> {
        self.overlay.begin();
        self.find_beside(books, class)
    }

    /// A node for one pod of a class, with what the overlay says given back.
    fn find_beside(&mut self, books: &Books, class: ClassId) -> Option<NodeId> {
        if self.bounds.is_full(class) {
            return None;
        }
        self.fill_more(books, class, 1).first().map(|placed| placed.node)
    }

    /// The node that was chosen for the member of a swap, if it takes the member now that its placeholder is gone.
    pub fn place_of_swap(&mut self, books: &Books, member: AskId) -> Option<NodeId> {
        let ask = &books.asks[member];
        let node = ask.charge.as_ref()?.node;
        self.overlay.begin();
        self.give_back(ask);
        fits(&books.nodes, &books.classes, &self.overlay, ask.class?, node).is_ok().then_some(node)
    }

    /// Whether the node that a parked member was to have takes it when its placeholder is gone.
    pub fn swap_has_room(&mut self, books: &Books, placeholder: AskId, member: AskId) -> bool {
        let (ask, leaves) = (&books.asks[member], &books.asks[placeholder]);
        let Some((node, class)) = ask.charge.as_ref().map(|charge| charge.node).zip(ask.class) else { return false };
        self.overlay.begin();
        self.give_back(ask);
        self.give_back(leaves);
        fits(&books.nodes, &books.classes, &self.overlay, class, node).is_ok()
    }

    /// Another node for it.
    pub fn other_place_of_swap(&mut self, books: &Books, member: AskId) -> Option<NodeId> {
        self.overlay.begin();
        self.give_back(&books.asks[member]);
        self.find_beside(books, books.asks[member].class?)
    }

    /// Gives back, in this plan only, what a pod has on the books.
    fn give_back(&mut self, ask: &Ask) {
        if let Some(charge) = &ask.charge {
            self.overlay.credit(charge.node, &charge.on_node, &ask.spec.shape.ports, 1);
        }
    }

    /// Whether a class fits a node with one placeholder gone from it: ports and everything else included, so that a
    /// seat is never given up for a member that cannot use it.
    pub fn fits_instead(&mut self, books: &Books, class: ClassId, placeholder: AskId, node: NodeId) -> bool {
        let shape = &books.asks[placeholder].spec.shape;
        self.overlay.begin();
        self.overlay.credit(node, &shape.request, &shape.ports, 1);
        fits(&books.nodes, &books.classes, &self.overlay, class, node).is_ok()
    }

    /// Whether a class fits a node where this seat is kept, with the kept seat given back.
    pub fn fits_kept(&mut self, books: &Books, class: ClassId, kept: KeptId, node: NodeId) -> bool {
        self.overlay.begin();
        credit_kept(&mut self.overlay, books, kept);
        fits(&books.nodes, &books.classes, &self.overlay, class, node).is_ok()
    }

    /// A node for one pod of a class, with a kept seat given back: where the seat is kept the pod was found not to fit.
    pub fn find_beside_kept(&mut self, books: &Books, class: ClassId, kept: KeptId) -> Option<NodeId> {
        self.overlay.begin();
        credit_kept(&mut self.overlay, books, kept);
        self.find_beside(books, class)
    }

    /// A node for one pod of a class, but not this one.
    pub fn find_but(&mut self, books: &Books, class: ClassId, not: NodeId) -> Option<NodeId> {
        if self.bounds.is_full(class) {
            return None;
        }
        self.overlay.begin();
        if books.nodes.spec(not).is_some() {
            // As if it were full.
            let shape = books.classes.shape(class);
            self.overlay.take(not, &shape.request, &shape.ports, u32::MAX);
        }
        // That no other node has room does not say that none has.
        self.fill_beside(books, class, 1).first().map(|placed| placed.node)
    }

    /// Whether a seat can be kept where it is: the node takes such pods, and is not overdrawn.
    pub fn kept_may_stay(&mut self, books: &Books, kept: KeptId) -> bool {
        let Some((node, ..)) = books.kept[kept].on_node(books) else { return false };
        self.fits_kept(books, books.kept[kept].class, kept, node)
    }

    /// Whether a pod can still be bound to the node that it was given.
    pub fn still_fits(&mut self, books: &Books, id: AskId) -> bool {
        let Some(ask) = books.asks.get(id) else { return false };
        let (AskState::Assumed { node, .. }, Some(class)) = (ask.state, ask.class) else { return false };
        self.overlay.begin();
        self.overlay.credit(node, &ask.spec.shape.request, &ask.spec.shape.ports, 1);
        !ask.spec.terminating && fits(&books.nodes, &books.classes, &self.overlay, class, node).is_ok()
    }

    /// Whether a member could take the place of a placeholder: the node takes such pods and is not overdrawn by others.
    /// A placeholder that is being deleted is on the books until it is gone, but does not count here.
    pub fn may_stay(&mut self, books: &Books, placeholder: AskId) -> bool {
        let Some(node) = books.asks[placeholder].node() else { return false };
        self.overlay.begin();
        for id in books.residents.get(&node).into_iter().flatten() {
            let ask = &books.asks[*id];
            if *id == placeholder || ask.leaving.is_some() {
                self.overlay.credit(node, &ask.spec.shape.request, &ask.spec.shape.ports, 1);
            }
        }
        fits_shape(&books.nodes, &self.overlay, &books.asks[placeholder].spec.shape, node).is_ok()
    }
}

/// As if nothing were kept for this seat.
pub(super) fn credit_kept(overlay: &mut Scratch, books: &Books, kept: KeptId) {
    if let Some((node, request, ports)) = books.kept.get(kept).and_then(|kept| kept.on_node(books)) {
        overlay.credit(node, request, ports, 1);
    }
}
