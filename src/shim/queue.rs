//! The tree of Queue objects: which of them have a valid place, and what is in force (design 01, 1.12).

mod limits;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

use super::quantity::Quantity;
use super::spec_errors::{Errors, is_divisible, is_other_resource};
use super::{escape, requests, selector, syntax};
use crate::api::queue::{self, Queue};
use crate::core::base::ids::Text;
use crate::core::base::resources::{Amount, Limit};
use crate::core::event::{Event, HeadOfLine, LeafSpec, QueueSpec, SortPolicy};
use crate::core::reason::SpecError;

/// Most resources that a queue limits; as many as a TaskGroup asks for.
pub const MAX_RESOURCES: usize = 16;
/// What is said of users and groups.
const LIMITS: &str = "spec.limits";
const NOBODY_KNOWN: &str = "have no effect: nothing says who submits what (the chart's config.submitters)";
/// What the queues of namespaces are made of.
const TEMPLATE: &str = "spec.childTemplate";
/// Queues that exist, unlimited, whether or not there is an object.
pub const IMPLICIT: [&str; 2] = ["root", "root.default"];

/// All Queue objects. What one object says is judged together with the queues above it; a queue whose spec is wrong
/// keeps the last spec that was right; a queue without a valid parent is in force no more, and only limits what still
/// runs there. One whose limit is larger than that of a queue above is in force all the same, since the smallest limit
/// on a path counts. Otherwise a queue that stays in force when its parent is shrunk would be out of force after a
/// restart (ADR 0010).
#[derive(Clone, Debug, Default)]
pub struct QueueTree {
    /// Who submitted an object is known, so that limits of users and groups can count.
    knows_submitters: bool,
    // By path, so that a queue comes before those below it and these are adjacent.
    queues: BTreeMap<Text, Observed>,
}

#[derive(Clone, Debug)]
struct Observed {
    said: Said,
    /// What is wrong now, with the object or its place.
    problems: Vec<SpecError>,
    standing: Standing,
}

/// What follows from the spec of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// Nothing: it was never right, or is wrong and has no valid place.
    Void,
    /// It has no valid place: this limits the pods that run there.
    Displaced(QueueSpec),
    /// The last spec that was right, while the parent is in force.
    InForce(QueueSpec),
}

impl Standing {
    const fn in_force(&self) -> Option<&QueueSpec> {
        match self {
            Self::InForce(spec) => Some(spec),
            Self::Void | Self::Displaced(_) => None,
        }
    }
}

/// What an object says by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    spec: QueueSpec,
    errors: Vec<SpecError>,
    /// What is right and changes nothing, with the reason.
    without_effect: Vec<SpecError>,
}

impl QueueTree {
    /// No Queue objects, where it is known who submitted an object if it `is`.
    pub fn knowing_submitters(is: bool) -> Self {
        Self { knows_submitters: is, ..Self::default() }
    }

    /// Takes a Queue as last observed. The events are in order: parents before children.
    pub fn upsert(&mut self, name: &str, queue: &Queue) -> Vec<Event> {
        let mut said = read(name, queue);
        if !self.knows_submitters && !said.spec.limits.is_empty() {
            said.spec.limits.clear();
            said.without_effect.push(SpecError { field: LIMITS.into(), problem: NOBODY_KNOWN.into() });
        }
        self.put(name, said)
    }

    /// Takes a Queue that does not decode; what was in force stays.
    pub fn unreadable(&mut self, name: &str, problem: &str) -> Vec<Event> {
        let error = SpecError { field: "spec".into(), problem: escape::message(problem) };
        self.put(name, Said { spec: QueueSpec::default(), errors: vec![error], without_effect: Vec::new() })
    }

    /// Takes a Queue that was deleted. Queues below it are displaced first, since they have no parent any more; `root`
    /// and `root.default` are back to what they are without an object.
    pub fn gone(&mut self, name: &str) -> Vec<Event> {
        let Some(known) = self.queues.remove(name) else { return Vec::new() };
        let mut events = self.judge_below(name);
        self.judge_promises_above(name);
        match known.standing {
            Standing::InForce(_) if IMPLICIT.contains(&name) => {
                events.insert(0, Event::Queue(name.into(), QueueSpec::default()));
            }
            Standing::InForce(_) | Standing::Displaced(_) => events.push(Event::QueueGone(name.into())),
            Standing::Void => {}
        }
        events
    }

    /// Everything wrong with a queue, at once; `None` = nothing, or no such object.
    pub fn problem(&self, name: &str) -> Option<&[SpecError]> {
        self.queues.get(name).map(|known| &*known.problems).filter(|problems| !problems.is_empty())
    }

    /// What is in force for a queue: `None` = it has no valid place, or never had a valid spec.
    pub fn in_force(&self, name: &str) -> Option<&QueueSpec> {
        self.queues.get(name).and_then(|known| known.standing.in_force())
    }

    /// Whether the object's spec is wrong and an earlier one counts.
    pub fn keeps_earlier(&self, name: &str) -> bool {
        self.queues.get(name).is_some_and(|known| known.standing.in_force().is_some() && !known.said.errors.is_empty())
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// The queues below one, from the top down.
    pub fn below(&self, name: &str) -> impl Iterator<Item = &Text> {
        let prefix = format!("{name}.");
        let from = self.queues.range(Text::from(&*prefix)..).map(|(name, _)| name);
        from.take_while(move |name| name.starts_with(&prefix))
    }

    fn put(&mut self, name: &str, said: Said) -> Vec<Event> {
        match self.queues.get_mut(name) {
            // Only status or metadata changed.
            Some(known) if known.said == said => return Vec::new(),
            Some(known) => known.said = said,
            None => {
                drop(self.queues.insert(name.into(), Observed { said, problems: Vec::new(), standing: Standing::Void }))
            }
        }
        let own = self.judge(&Text::from(name));
        let events = own.into_iter().chain(self.judge_below(name)).collect();
        self.judge_promises_above(name);
        events
    }

    /// What a queue is promised may be more, beside the others, than the queue above it is. No spec comes into force, or goes,
    /// for that.
    fn judge_promises_above(&mut self, name: &str) {
        let event = parent(name).and_then(|above| self.judge(&Text::from(above)));
        debug_assert!(event.is_none(), "a queue is in force, or not, by itself and by those above it");
    }

    /// Judges the queues below one again: those that come into force top down, then those that go bottom up.
    fn judge_below(&mut self, name: &str) -> Vec<Event> {
        let below: Vec<Text> = self.below(name).cloned().collect();
        let (mut events, mut gone) = (Vec::new(), Vec::new());
        for event in below.iter().filter_map(|name| self.judge(name)) {
            if matches!(event, Event::Queue(..)) { events.push(event) } else { gone.push(event) }
        }
        events.extend(gone.into_iter().rev());
        events
    }

    /// Judges one queue by what is in force above it.
    fn judge(&mut self, name: &Text) -> Option<Event> {
        let (placed, problems) = self.problems_of(name);
        let known = self.queues.get_mut(name)?;
        known.problems = problems;
        let now = match (placed, known.said.errors.is_empty()) {
            (true, true) => Standing::InForce(known.said.spec.clone()),
            (true, false) => known.standing.in_force().cloned().map_or(Standing::Void, Standing::InForce),
            (false, true) => Standing::Displaced(known.said.spec.clone()),
            (false, false) => Standing::Void,
        };
        if known.standing == now {
            return None;
        }
        known.standing = now.clone();
        Some(match now {
            Standing::InForce(spec) => Event::Queue(name.clone(), spec),
            Standing::Displaced(spec) => Event::QueueDisplaced(name.clone(), spec),
            Standing::Void => Event::QueueGone(name.clone()),
        })
    }

    /// Whether the parent is in force, and everything wrong.
    fn problems_of(&self, name: &str) -> (bool, Vec<SpecError>) {
        let Some(known) = self.queues.get(name) else { return (false, Vec::new()) };
        let mut errors = Errors::from(known.said.errors.clone());
        errors.extend(known.said.without_effect.clone());
        errors.extend(self.broken_limits(name, &known.said.spec));
        errors.extend(self.broken_promises(name, &known.said.spec));
        errors.extend(self.broken_template(name, &known.said.spec));
        let Some(parent) = parent(name) else { return (true, errors.into_sorted()) };
        let placed = self.is_in_force(parent);
        errors.unless(placed, "spec.parent", format!("queue {parent} does not exist or has no valid place"));
        for (resource, max) in known.said.spec.max.iter() {
            if let Some((above, limit)) = self.limit_above(parent, resource).filter(|(_, limit)| max > *limit) {
                let (max, limit) = (Amount(resource, max), Amount(resource, limit));
                errors.add(
                    format!("spec.max[{resource}]"),
                    format!("{max} is more than the {limit} of {above}, which counts"),
                );
            }
        }
        (placed, errors.into_sorted())
    }

    /// What is promised to a queue and cannot be kept: more than may be used there, or than the queue above is promised to
    /// it and those beside it. In force all the same: it is an order among queues, and takes nothing from anybody.
    fn broken_promises(&self, name: &str, spec: &QueueSpec) -> Vec<SpecError> {
        let mut errors = Errors::default();
        for (resource, promised) in spec.guaranteed.iter() {
            let field = format!("spec.guaranteed[{resource}]");
            let promise = Amount(resource, promised);
            if let Some((at, limit)) = self.limit_at(name, spec, resource).filter(|(_, limit)| promised > *limit) {
                errors.add(&field, format!("{promise} is more than the {} that {at} may use", Amount(resource, limit)));
            }
            let below = self.promised_below(name, resource);
            if below > promised {
                let below = Amount(resource, below);
                errors.add(&field, format!("the queues below are promised {below} together, more than this {promise}"));
            }
        }
        errors.into_sorted()
    }

    /// What a template gives to the queues of namespaces and they cannot have. In force all the same: the smallest limit
    /// counts.
    fn broken_template(&self, name: &str, spec: &QueueSpec) -> Vec<SpecError> {
        let mut errors = Errors::default();
        let Some(template) = &spec.template else { return Vec::new() };
        let (max, guaranteed) = (template.max.iter(), template.guaranteed.iter());
        let given = max.map(|given| ("max", given)).chain(guaranteed.map(|given| ("guaranteed", given)));
        for (what, (resource, given)) in given {
            let own =
                template.max.get(resource).filter(|_| what == "guaranteed").map(|limit| ("the same template", limit));
            let limits = own.into_iter().chain(self.limit_at(name, spec, resource));
            if let Some((at, limit)) = limits.min_by_key(|(_, limit)| *limit).filter(|(_, limit)| given > *limit) {
                let (given, limit) = (Amount(resource, given), Amount(resource, limit));
                errors
                    .add(format!("{TEMPLATE}.{what}[{resource}]"), format!("{given} is more than the {limit} of {at}"));
            }
        }
        errors.into_sorted()
    }

    /// What is left to a user or group and they cannot have. In force all the same: the smallest limit counts.
    fn broken_limits(&self, name: &str, spec: &QueueSpec) -> Vec<SpecError> {
        let mut errors = Errors::default();
        for (number, limit) in spec.limits.iter().enumerate() {
            for (resource, given) in limit.max.iter() {
                if let Some((at, most)) = self.limit_at(name, spec, resource).filter(|(_, most)| given > *most) {
                    let (given, most) = (Amount(resource, given), Amount(resource, most));
                    let problem = format!("{given} is more than the {most} of {at}, which counts");
                    errors.add(format!("{LIMITS}[{number}].max[{resource}]"), problem);
                }
            }
        }
        errors.into_sorted()
    }

    /// The smallest limit of a resource on the path of a queue, with the queue that has it.
    fn limit_at<'a>(&self, name: &'a str, spec: &QueueSpec, resource: &str) -> Option<(&'a str, i128)> {
        let own = spec.max.get(resource).map(|limit| (name, limit));
        let above = std::iter::successors(parent(name), |name| parent(name));
        let above = above.filter_map(|above| Some((above, self.in_force(above)?.max.get(resource)?)));
        own.into_iter().chain(above).min_by_key(|(_, limit)| *limit)
    }

    /// What the queues directly below one are promised together: by what their objects say, or said when they were right.
    fn promised_below(&self, name: &str, resource: &str) -> i128 {
        let direct = self.below(name).filter(|below| parent(below) == Some(name));
        let spec = |known: &Observed| {
            let is_right = known.said.errors.is_empty();
            let spec = if is_right { Some(&known.said.spec) } else { known.standing.in_force() };
            spec.and_then(|spec| spec.guaranteed.get(resource))
        };
        direct.filter_map(|below| self.queues.get(below)).filter_map(spec).sum()
    }

    fn is_in_force(&self, name: &str) -> bool {
        match self.queues.get(name) {
            Some(known) => known.standing.in_force().is_some() || IMPLICIT.contains(&name),
            None => IMPLICIT.contains(&name),
        }
    }

    /// The limit of a resource in the nearest queue that has one, from `name` upwards.
    fn limit_above<'a>(&self, name: &'a str, resource: &str) -> Option<(&'a str, i128)> {
        let limit = |name: &&str| self.in_force(name).and_then(|spec| spec.max.get(resource));
        let above = std::iter::successors(Some(name), |name| parent(name));
        above.filter_map(|name| limit(&name).map(|limit| (name, limit))).next()
    }
}

/// The path of the queue above.
pub fn parent(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(parent, _)| parent)
}

fn read(name: &str, queue: &Queue) -> Said {
    let mut errors = Errors::default();
    errors.unless(
        syntax::is_queue_path(name),
        "metadata.name",
        "must be a queue path of at most 63 characters: root, or root. and DNS labels joined by dots",
    );
    match (parent(name), queue.spec.parent.as_deref()) {
        (expected, said) if expected == said => {}
        (Some(expected), _) => errors.add("spec.parent", format!("must be {expected}, the name without its last part")),
        (None, _) => errors.add("spec.parent", "must not be set: this queue has none"),
    }
    let head_of_line = queue.spec.head_of_line.and_then(|bound| read_head_of_line(bound, &mut errors));
    let (selector, template) = (queue.spec.namespace_selector.as_ref(), queue.spec.child_template.as_ref());
    let has_heirs = template.is_none() || selector.is_some();
    errors.unless(has_heirs, "spec.childTemplate", "needs a namespaceSelector, which says for which namespaces it is");
    let spec = QueueSpec {
        max: read_amounts("spec.max", &queue.spec.max, &mut errors),
        guaranteed: read_amounts("spec.guaranteed", &queue.spec.guaranteed, &mut errors),
        sort_policy: queue.spec.sort_policy.map(SortPolicy::from),
        priority_offset: queue.spec.priority_offset.unwrap_or(0),
        stopped: queue.spec.stopped.unwrap_or(false),
        max_applications: queue.spec.max_applications,
        head_of_line,
        limits: limits::read(&queue.spec.limits, &mut errors),
        namespaces: selector.map(|said| selector::read("spec.namespaceSelector", said, &mut errors)),
        template: template.map(|said| read_template(said, &mut errors)),
    };
    Said { spec, errors: errors.into_sorted(), without_effect: Vec::new() }
}

impl From<queue::SortPolicy> for SortPolicy {
    fn from(policy: queue::SortPolicy) -> Self {
        match policy {
            queue::SortPolicy::Fifo => Self::Fifo,
            queue::SortPolicy::StateAware => Self::StateAware,
            queue::SortPolicy::Fair => Self::Fair,
        }
    }
}

fn read_head_of_line(bound: queue::HeadOfLine, errors: &mut Errors) -> Option<HeadOfLine> {
    match (bound.max_overtakes, bound.after_seconds) {
        (None, None) => Some(HeadOfLine::Unbounded),
        (Some(most), None) => Some(HeadOfLine::MaxOvertakes(most)),
        (None, Some(seconds)) => Some(HeadOfLine::After(u64::from(seconds) * 1_000)),
        (Some(_), Some(_)) => {
            errors.add("spec.headOfLine", "must have maxOvertakes or afterSeconds, not both");
            None
        }
    }
}

fn read_template(said: &queue::ChildTemplate, errors: &mut Errors) -> LeafSpec {
    LeafSpec {
        max: read_amounts(&format!("{TEMPLATE}.max"), &said.max, errors),
        guaranteed: read_amounts(&format!("{TEMPLATE}.guaranteed"), &said.guaranteed, errors),
        sort_policy: said.sort_policy.map(SortPolicy::from),
        max_applications: said.max_applications,
    }
}

/// A map of resources and amounts, as far as it is right.
pub(super) fn read_amounts(field: &str, said: &BTreeMap<String, ApiQuantity>, errors: &mut Errors) -> Limit {
    let count = said.len();
    errors.unless(count <= MAX_RESOURCES, field, format!("must have at most {MAX_RESOURCES} resources, has {count}"));
    let mut amounts = Vec::new();
    for (name, amount) in said.iter().take(MAX_RESOURCES) {
        match read_amount(name, &amount.0) {
            Ok(amount) => amounts.push((name.as_str().into(), amount)),
            Err(problem) => errors.add(format!("{field}[{name}]"), problem),
        }
    }
    Limit::new(amounts)
}

fn read_amount(name: &str, amount: &str) -> Result<i128, String> {
    if !is_divisible(name) && name != "pods" && !is_other_resource(name) {
        return Err("must be cpu, memory, ephemeral-storage, pods, hugepages-SIZE or a name with a domain".to_owned());
    }
    let amount: Quantity = amount.parse().map_err(|problem| format!("{amount:?} {problem}"))?;
    if amount.is_negative() {
        return Err("must not be negative".to_owned());
    }
    Ok(i128::from(requests::amount(name, amount)))
}

#[cfg(test)]
mod tests;
