//! Members that are placed alike: interned shapes, each with the set of nodes it may use.

use std::sync::Arc;

use crate::core::base::arena::{Arena, Lookup};
use crate::core::base::bits::Bits;
use crate::core::base::ids::{ClassId, NodeId};
use crate::core::model::fit::Constraints;
use crate::core::model::node::Nodes;
use crate::core::shape::Shape;

/// All classes in use. Shapes that differ only in request or ports share one set of eligible nodes: an elastic job
/// has many sizes but one selector.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    by_shape: Lookup<Arc<Shape>, ClassId>,
    classes: Arena<ClassId, Class>,
    by_constraints: Lookup<Arc<Constraints>, usize>,
    /// `None` = free.
    selections: Vec<Option<Selection>>,
}

/// One shape in use.
#[derive(Clone, Debug)]
struct Class {
    shape: Arc<Shape>,
    users: u32,
    selection: usize,
}

/// The nodes that satisfy one set of constraints.
#[derive(Clone, Debug)]
struct Selection {
    constraints: Arc<Constraints>,
    classes: u32,
    eligible: Bits,
}

impl Classes {
    /// The class of a shape, with one more user.
    pub fn intern(&mut self, shape: &Arc<Shape>, nodes: &Nodes) -> ClassId {
        if let Some(id) = self.by_shape.get(&**shape) {
            self.classes[*id].users += 1;
            return *id;
        }
        let selection = self.select(Constraints::of(shape), nodes);
        let id = self.classes.insert(Class { shape: shape.clone(), users: 1, selection });
        self.by_shape.insert(shape.clone(), id);
        id
    }

    /// Gives one use back; the class disappears with its last.
    ///
    /// # Panics
    /// If the class is not in use.
    pub fn release(&mut self, id: ClassId) {
        let class = &mut self.classes[id];
        class.users -= 1;
        if class.users == 0 {
            let class = self.classes.remove(id).expect("the class was just read");
            self.by_shape.remove(&*class.shape);
            self.deselect(class.selection);
        }
    }

    /// Whether the class still has a user.
    pub fn contains(&self, id: ClassId) -> bool {
        self.classes.get(id).is_some()
    }

    /// The shape of a class.
    ///
    /// # Panics
    /// If the class is not in use, as all that take a [`ClassId`].
    pub fn shape(&self, id: ClassId) -> &Arc<Shape> {
        &self.classes[id].shape
    }

    /// How many nodes a class may use, were they empty and large enough; O(1).
    pub fn eligible_count(&self, id: ClassId) -> usize {
        self.eligible(id).len()
    }

    /// Whether a class may use a node, were it empty and large enough.
    #[cfg(test)]
    pub fn is_eligible(&self, id: ClassId, node: NodeId) -> bool {
        self.eligible(id).contains(node.index as usize)
    }

    /// A node's labels, taints or schedulability changed, or the node came or went: renews its bit in every set.
    /// Must be told before the next plan.
    pub fn node_changed(&mut self, nodes: &Nodes, node: NodeId) {
        let spec = nodes.name(node).zip(nodes.spec(node));
        for selection in self.selections.iter_mut().flatten() {
            let eligible = spec.is_some_and(|(name, spec)| selection.constraints.check(name, spec).is_ok());
            selection.eligible.set(node.index as usize, eligible);
        }
    }

    /// How many classes are in use.
    pub(crate) fn len(&self) -> usize {
        self.classes.len()
    }

    pub(in crate::core) fn eligible(&self, id: ClassId) -> &Bits {
        &self.selection(id).eligible
    }

    pub(in crate::core) fn constraints(&self, id: ClassId) -> &Constraints {
        &self.selection(id).constraints
    }

    fn selection(&self, id: ClassId) -> &Selection {
        self.selections[self.classes[id].selection].as_ref().expect("a class keeps its selection")
    }

    fn select(&mut self, constraints: Constraints, nodes: &Nodes) -> usize {
        if let Some(at) = self.by_constraints.get(&constraints) {
            self.selections[*at].as_mut().expect("a known selection is in use").classes += 1;
            return *at;
        }
        let mut eligible = Bits::default();
        for (id, name, spec) in nodes.iter() {
            eligible.set(id.index as usize, constraints.check(name, spec).is_ok());
        }
        let constraints = Arc::new(constraints);
        let at = self.selections.iter().position(Option::is_none).unwrap_or(self.selections.len());
        if at == self.selections.len() {
            self.selections.push(None);
        }
        self.selections[at] = Some(Selection { constraints: constraints.clone(), classes: 1, eligible });
        self.by_constraints.insert(constraints, at);
        at
    }

    fn deselect(&mut self, at: usize) {
        let selection = self.selections[at].as_mut().expect("a class keeps its selection");
        selection.classes -= 1;
        if selection.classes == 0 {
            self.by_constraints.remove(&*selection.constraints);
            self.selections[at] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::base::resources::Resources;
    use crate::core::shape::NodeSpec;

    fn spec(zone: &str) -> NodeSpec {
        NodeSpec { labels: [("zone".into(), zone.into())].into(), ..NodeSpec::default() }
    }

    fn shape(zone: &str, cpu: i64) -> Arc<Shape> {
        let selector = [("zone".into(), zone.into())].into();
        Arc::new(Shape { selector, request: Resources::pod(cpu, 0), ..Shape::default() })
    }

    #[test]
    fn shapes_of_one_selector_share_their_nodes() {
        let (mut nodes, mut classes) = (Nodes::default(), Classes::default());
        for name in ["a", "b", "c"] {
            let _ = nodes.see(&name.into(), spec(if name == "c" { "2" } else { "1" }));
        }
        let (one, same) = (classes.intern(&shape("1", 1), &nodes), classes.intern(&shape("1", 1), &nodes));
        let (big, other) = (classes.intern(&shape("1", 2), &nodes), classes.intern(&shape("2", 1), &nodes));
        assert_eq!((one, classes.len(), classes.selections.len()), (same, 3, 2));
        assert_eq!([one, big, other].map(|id| classes.eligible_count(id)), [2, 2, 1]);
        for id in [one, big, other] {
            classes.release(id);
        }
        assert_eq!((classes.len(), classes.by_constraints.len()), (1, 1));
        classes.release(same);
        assert_eq!((classes.len(), classes.by_constraints.len()), (0, 0));
        classes.intern(&shape("3", 1), &nodes);
        assert_eq!(classes.selections.len(), 2);
    }

    #[test]
    fn a_changed_node_moves_between_classes() {
        let (mut nodes, mut classes) = (Nodes::default(), Classes::default());
        let (one, two) = (classes.intern(&shape("1", 1), &nodes), classes.intern(&shape("2", 1), &nodes));
        let mut check = |change: &dyn Fn(&mut Nodes) -> Option<NodeId>, expected: [bool; 2]| {
            let node = change(&mut nodes).expect("something changed");
            classes.node_changed(&nodes, node);
            assert_eq!([one, two].map(|id| classes.is_eligible(id, node)), expected);
            assert_eq!([one, two].map(|id| classes.eligible_count(id)), expected.map(usize::from));
        };
        check(&|nodes| Some(nodes.see(&"a".into(), spec("1")).node), [true, false]);
        check(&|nodes| Some(nodes.see(&"a".into(), spec("2")).node), [false, true]);
        check(&|nodes| Some(nodes.see(&"a".into(), NodeSpec { unschedulable: true, ..spec("2") }).node), [false; 2]);
        check(&|nodes| Some(nodes.see(&"a".into(), spec("1")).node), [true, false]);
        check(&|nodes| nodes.gone("a"), [false; 2]);
        check(&|nodes| Some(nodes.see(&"b".into(), spec("2")).node), [false, true]);
    }
}
