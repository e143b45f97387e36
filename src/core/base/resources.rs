//! Amounts of resources: what one pod asks, what many use, what a queue may use.

use std::collections::BTreeMap;
use std::fmt;

use crate::core::base::ids::Text;

/// Index of cpu in millicores.
pub const CPU: usize = 0;
/// Index of memory in bytes.
pub const MEMORY: usize = 1;
/// Index of ephemeral storage in bytes.
pub const STORAGE: usize = 2;
/// Index of the number of pods.
pub const PODS: usize = 3;
/// Kubernetes' names of the resources that every node has, by index.
pub const BASE_NAMES: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pods"];

/// What one pod asks for or one node offers. Absent = 0. Amounts beyond `i64` are stored as `i64::MAX`, as the API
/// server's own arithmetic does, and so fit nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resources {
    /// cpu (millicores), memory (bytes), ephemeral storage (bytes), pods.
    pub base: [i64; 4],
    /// Everything else (extended resources, huge pages) by name; sorted, no zeros.
    pub rare: Vec<(Text, i64)>,
}

impl Resources {
    /// cpu in millicores and memory in bytes for one pod.
    pub fn pod(cpu: i64, memory: i64) -> Self {
        Self { base: [cpu, memory, 0, 1], rare: Vec::new() }
    }

    /// Sets the amount of a resource by its Kubernetes name; cpu in millicores.
    pub fn set(&mut self, name: &str, amount: i64) {
        if let Some(index) = BASE_NAMES.iter().position(|base| *base == name) {
            self.base[index] = amount;
            return;
        }
        match (self.rare.binary_search_by(|(other, _)| (**other).cmp(name)), amount) {
            (Ok(at), 0) => drop(self.rare.remove(at)),
            (Ok(at), _) => self.rare[at].1 = amount,
            (Err(_), 0) => {}
            (Err(at), _) => self.rare.insert(at, (name.into(), amount)),
        }
    }

    /// The amount of a resource by its Kubernetes name; cpu in millicores.
    pub fn get(&self, name: &str) -> i64 {
        match BASE_NAMES.iter().position(|base| *base == name) {
            Some(index) => self.base[index],
            None => self.rare.binary_search_by(|(other, _)| (**other).cmp(name)).map_or(0, |at| self.rare[at].1),
        }
    }

    /// Every resource with its amount, base resources first; zeros of base resources included.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        let base = BASE_NAMES.iter().copied().zip(self.base);
        base.chain(self.rare.iter().map(|(name, amount)| (&**name, *amount)))
    }

    fn combine(&self, other: &Self, join: impl Fn(i64, i64) -> i64) -> Self {
        let mut result = self.clone();
        for (name, amount) in other.iter() {
            result.set(name, join(self.get(name), amount));
        }
        for (name, amount) in &self.rare {
            result.set(name, join(*amount, other.get(name)));
        }
        result
    }

    /// The larger amount of each resource.
    pub fn larger(&self, other: &Self) -> Self {
        self.combine(other, i64::max)
    }

    /// The sum of each resource; saturates.
    pub fn plus(&self, other: &Self) -> Self {
        self.combine(other, i64::saturating_add)
    }

    /// What of `self` goes beyond `other`, never below 0.
    pub fn excess_over(&self, other: &Self) -> Self {
        self.combine(other, |mine, theirs| mine.saturating_sub(theirs).max(0))
    }

    /// The first resource, in order of names, of which `self` asks more than `other` has.
    pub fn first_beyond(&self, other: &Self) -> Option<&str> {
        self.iter().find(|(name, amount)| *amount > other.get(name)).map(|(name, _)| name)
    }
}

/// A sum over many pods; exact. Absent = 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Totals {
    base: [i128; 4],
    rare: BTreeMap<Text, i128>,
}

impl Totals {
    /// Adds `times` copies. Cannot overflow: `times` is at most 2^32 per call and there are fewer than 2^31 calls.
    pub fn add(&mut self, resources: &Resources, times: u32) {
        self.apply(resources, i128::from(times));
    }

    /// Takes `times` copies away.
    ///
    /// # Panics
    /// If more is taken than there is: our own books would be wrong.
    pub fn sub(&mut self, resources: &Resources, times: u32) {
        self.apply(resources, -i128::from(times));
        self.assert_sound();
    }

    fn apply(&mut self, resources: &Resources, times: i128) {
        for (total, amount) in self.base.iter_mut().zip(resources.base) {
            *total += times * i128::from(amount);
        }
        for (name, amount) in &resources.rare {
            let total = self.rare.entry(name.clone()).or_default();
            *total += times * i128::from(*amount);
            if *total == 0 {
                self.rare.remove(name);
            }
        }
    }

    /// Adds another total.
    pub fn add_all(&mut self, other: &Self) {
        for (total, amount) in self.base.iter_mut().zip(other.base) {
            *total += amount;
        }
        for (name, amount) in &other.rare {
            *self.rare.entry(name.clone()).or_default() += amount;
        }
    }

    /// Takes another total away.
    ///
    /// # Panics
    /// If more is taken than there is: our own books would be wrong.
    pub fn sub_all(&mut self, other: &Self) {
        for (total, amount) in self.base.iter_mut().zip(other.base) {
            *total -= amount;
        }
        for (name, amount) in &other.rare {
            let total = self.rare.entry(name.clone()).or_default();
            *total -= amount;
            if *total == 0 {
                self.rare.remove(name);
            }
        }
        self.assert_sound();
    }

    /// What is left when these are taken away, of each resource nothing at least.
    #[must_use]
    pub fn without(mut self, resources: &Resources) -> Self {
        for (total, amount) in self.base.iter_mut().zip(resources.base) {
            *total = (*total - i128::from(amount)).max(0);
        }
        for (name, amount) in &resources.rare {
            if let Some(total) = self.rare.get_mut(name) {
                *total = (*total - i128::from(*amount)).max(0);
            }
        }
        self.rare.retain(|_, total| *total != 0);
        self
    }

    /// Whether it is nothing of anything.
    pub fn is_nothing(&self) -> bool {
        self.iter().next().is_none()
    }

    fn assert_sound(&self) {
        assert!(self.base.iter().chain(self.rare.values()).all(|amount| *amount >= 0), "a total went below zero");
    }

    /// The amounts of the base resources, by index.
    pub fn base(&self) -> [i128; 4] {
        self.base
    }

    /// The amount of a resource.
    pub fn get(&self, name: &str) -> i128 {
        match BASE_NAMES.iter().position(|base| *base == name) {
            Some(index) => self.base[index],
            None => self.rare.get(name).copied().unwrap_or(0),
        }
    }

    /// The names of the resources that only some nodes have and that are not zero.
    pub fn rare(&self) -> impl Iterator<Item = &str> {
        self.rare.keys().map(|name| &**name)
    }

    /// Every resource that is not zero.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i128)> {
        let base = BASE_NAMES.iter().copied().zip(self.base).filter(|(_, amount)| *amount != 0);
        base.chain(self.rare.iter().map(|(name, amount)| (&**name, *amount)))
    }

    /// Whether some amount is at least `i64::MAX`: a request in this sum was so large that it was saturated (see
    /// [`Resources`]), or the sum itself is beyond what is counted.
    pub fn is_saturated(&self) -> bool {
        self.iter().any(|(_, amount)| amount >= i128::from(i64::MAX))
    }
}

/// What may be used at most. Absent = no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit(BTreeMap<Text, i128>);

/// The binding resource of a limit that does not hold an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The resource's Kubernetes name.
    pub resource: Text,
    /// What is asked; cpu in millicores.
    pub asked: i128,
    /// What is left of the limit, never below 0.
    pub left: i128,
    /// The limit.
    pub max: i128,
}

impl Limit {
    /// A limit from resource names and amounts; cpu in millicores.
    pub fn new(amounts: impl IntoIterator<Item = (Text, i128)>) -> Self {
        Self(amounts.into_iter().collect())
    }

    /// The limit of a resource.
    pub fn get(&self, name: &str) -> Option<i128> {
        self.0.get(name).copied()
    }

    /// Every limited resource.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i128)> {
        self.0.iter().map(|(name, amount)| (&**name, *amount))
    }

    /// The names of the limited resources.
    pub fn names(&self) -> impl Iterator<Item = &Text> {
        self.0.keys()
    }

    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        self.0.is_empty()
    }

    /// The first resource of which `asked` on top of `used` goes beyond the limit. A resource that is not asked for
    /// is never in the way, even where more is used than the limit allows (a quota lowered below usage).
    pub fn refuses(&self, used: &Totals, asked: &Totals) -> Option<Excess> {
        self.all_refused(used, asked).next()
    }

    /// Every resource of which `asked` on top of `used` goes beyond the limit.
    pub fn all_refused(&self, used: &Totals, asked: &Totals) -> impl Iterator<Item = Excess> {
        self.0.iter().filter_map(|(name, max)| {
            let (asked, left) = (asked.get(name), (max - used.get(name)).max(0));
            (asked > left).then(|| Excess { resource: name.clone(), asked, left, max: *max })
        })
    }
}

/// An amount as Kubernetes prints it: `500m`, `2`, `4Gi`.
pub struct Amount<'a>(pub &'a str, pub i128);

impl fmt::Display for Amount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BINARY: [(&str, i128); 6] =
            [("Ei", 1 << 60), ("Pi", 1 << 50), ("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
        let Self(name, amount) = *self;
        if name == "cpu" {
            return if amount % 1000 == 0 { write!(f, "{}", amount / 1000) } else { write!(f, "{amount}m") };
        }
        let bytes = name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
        match BINARY.iter().find(|(_, unit)| bytes && amount != 0 && amount % unit == 0) {
            Some((suffix, unit)) => write!(f, "{}{suffix}", amount / unit),
            None => write!(f, "{amount}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_that_is_not_asked_for_is_never_in_the_way() {
        let limit = Limit::new([("cpu".into(), 1000), ("memory".into(), 10)]);
        let (mut used, mut asked) = (Totals::default(), Totals::default());
        used.add(&Resources::pod(0, 20), 1);
        asked.add(&Resources::pod(1000, 0), 1);
        assert_eq!(limit.refuses(&used, &asked), None);
        asked.add(&Resources::pod(1, 0), 1);
        let excess = Excess { resource: "cpu".into(), asked: 1001, left: 1000, max: 1000 };
        assert_eq!(limit.refuses(&used, &asked), Some(excess));
    }

    #[test]
    fn rare_resources_combine_from_both_sides() {
        let (mut left, mut right) = (Resources::default(), Resources::default());
        left.set("a/x", 3);
        right.set("a/y", 5);
        right.set("a/x", 4);
        let max = left.larger(&right);
        assert_eq!((max.get("a/x"), max.get("a/y")), (4, 5));
        assert_eq!(right.excess_over(&left).rare, vec![("a/x".into(), 1), ("a/y".into(), 5)]);
        assert_eq!(right.first_beyond(&left), Some("a/x"));
    }

    #[test]
    fn amounts_read_as_kubernetes_prints_them() {
        for (name, amount, text) in [
            ("cpu", 500, "500m"),
            ("cpu", 2000, "2"),
            ("memory", 4 << 30, "4Gi"),
            ("memory", 1001, "1001"),
            ("pods", 1024, "1024"),
        ] {
            assert_eq!(Amount(name, amount).to_string(), text);
        }
    }
}
