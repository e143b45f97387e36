//! What YuniKorn's core refuses of a `queues.yaml` that has the right form (its `configvalidator.go`, 1.9): all of it.

use std::collections::{BTreeMap, BTreeSet};

use super::config::{Amounts, Filter, Limit, Partition, Queue, Reader, Rule, Said};

/// Amounts by resource, without where they stand.
type Sums = BTreeMap<String, i128>;

/// The queue that all others are below.
pub(super) const ROOT: &str = "root";
/// The partition that there is where none is named, and the only one that Kubernetes' shim uses.
pub(super) const DEFAULT: &str = "default";

/// Finds everything that is wrong with the partitions, and puts a root above their queues where there is none.
pub(super) fn check(partitions: &mut [Partition], reader: &mut Reader) {
    let mut names = BTreeSet::new();
    for partition in partitions {
        if partition.name.text.is_empty() {
            partition.name.text = DEFAULT.to_owned();
        }
        if !names.insert(partition.name.text.to_lowercase()) {
            reader.wrong(partition.name.at, format!("there is a partition {} already", partition.name.text));
        }
        let Some(queues) = partition.queues.take() else {
            reader.wrong(partition.at, "a partition must have queues");
            continue;
        };
        let root = rooted(queues, partition);
        check_root(&root, partition, reader);
        check_queue(&root, reader);
        check_sizes(&root, &Sums::new(), reader);
        check_applications(&root, reader);
        check_below(&root, &Bounds::default(), reader);
        partition.rules.iter().for_each(|rule| check_rule(rule, reader));
        partition.rules.iter().for_each(|rule| check_target(rule, &root, reader));
        check_nodes(partition, reader);
        partition.queues = Some(vec![root]);
    }
}

/// The root, with the limits of its partition where it has none of its own.
fn rooted(mut queues: Vec<Queue>, partition: &Partition) -> Queue {
    let mut root = match queues.pop() {
        Some(only) if queues.is_empty() && only.name.text.to_lowercase() == ROOT => only,
        last => Queue { at: partition.at, queues: queues.into_iter().chain(last).collect(), ..Queue::default() },
    };
    root.name.text = ROOT.to_owned();
    if root.limits.is_empty() {
        root.limits.clone_from(&partition.limits);
    }
    root
}

fn check_root(root: &Queue, partition: &Partition, reader: &mut Reader) {
    for (at, _) in root.sizes.guaranteed.iter().chain(&root.sizes.max) {
        reader.wrong(*at, "the root queue must not have resources");
    }
    let same = |limits: &[Limit]| -> Vec<_> {
        let names = |names: &[Said]| names.iter().map(|name| name.text.clone()).collect::<Vec<_>>();
        let sums = |limit: &Limit| limit.max.as_ref().map(sums);
        limits.iter().map(|one| (names(&one.users), names(&one.groups), sums(one), one.max_applications)).collect()
    };
    if let Some(first) = partition.limits.first().filter(|_| same(&partition.limits) != same(&root.limits)) {
        reader.wrong(first.at, "limits of the partition must be those of the root queue, or of one of them alone");
    }
}

/// ACLs, limits and names.
fn check_queue(queue: &Queue, reader: &mut Reader) {
    for acl in [&queue.admin_acl, &queue.submit_acl] {
        if acl.text.split_whitespace().count() > 2 {
            reader.wrong(acl.at, "an ACL is users, a space and groups: there is more than one space in it");
        }
    }
    check_limits(queue, reader);
    let mut names = BTreeSet::new();
    for child in &queue.queues {
        if !is_queue_name(&child.name.text) {
            let problem = format!("{:?} is no name of a queue: 1 to 64 of a-z A-Z 0-9 _ : # / @ -", child.name.text);
            reader.wrong(place(&child.name, child), problem);
        }
        if !names.insert(child.name.text.to_lowercase()) {
            reader.wrong(place(&child.name, child), format!("there is a queue {} here already", child.name.text));
        }
        check_queue(child, reader);
    }
}

fn place(name: &Said, queue: &Queue) -> crate::runtime::cli::source::Place {
    if name.text.is_empty() { queue.at } else { name.at }
}

fn is_queue_name(name: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"_:#/@-".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(is_fine)
}

fn check_limits(queue: &Queue, reader: &mut Reader) {
    let (mut users, mut groups) = (BTreeSet::new(), BTreeSet::new());
    for limit in &queue.limits {
        if limit.users.is_empty() && limit.groups.is_empty() {
            reader.wrong(limit.at, "a limit must have users or groups");
        }
        check_names(&limit.users, &mut users, "user", is_user, reader);
        check_names(&limit.groups, &mut groups, "group", is_group, reader);
        if groups.len() == 1 && groups.contains("*") {
            reader.wrong(limit.at, "a limit of all groups (*) must come after one of a group");
        }
        check_limit(limit, queue, reader);
    }
}

fn check_names(
    names: &[Said],
    seen: &mut BTreeSet<String>,
    what: &str,
    is_fine: fn(&str) -> bool,
    reader: &mut Reader,
) {
    for name in names {
        if name.text != "*" && !is_fine(&name.text) {
            reader.wrong(name.at, format!("{:?} is no name of a {what}", name.text));
        }
        if !seen.insert(name.text.clone()) {
            reader.wrong(name.at, format!("{what} {} has a limit here already", name.text));
        } else if name.text != "*" && seen.contains("*") {
            reader.wrong(name.at, format!("the limit of all {what}s (*) must be the last"));
        }
    }
}

fn check_limit(limit: &Limit, queue: &Queue, reader: &mut Reader) {
    let sums = limit.max.as_ref().map(sums).unwrap_or_default();
    if limit.max_applications == 0 && sums.is_empty() {
        reader.wrong(limit.at, "a limit must limit resources or applications");
    }
    if !sums.is_empty() && sums.values().all(|amount| *amount == 0) {
        reader.wrong(limit.at, "maxresources must be more than nothing");
    }
    if queue.max_applications.is_some_and(|(_, most)| most != 0 && most < limit.max_applications) {
        reader.wrong(limit.at, "maxapplications is more than that of the queue");
    }
    if let Some((name, _)) = beyond(&sums, &self::sums(&queue.sizes.max())) {
        reader.wrong(limit.at, format!("maxresources: {name} is more than the queue's max"));
    }
}

/// A name of letters, digits and signs that begins with a letter or `_`.
fn is_name(name: &str, signs: &[u8]) -> bool {
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    begins && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || signs.contains(&byte))
}

fn is_user(name: &str) -> bool {
    is_name(name.strip_suffix('$').unwrap_or(name), b":#/_.@-")
}

fn is_group(name: &str) -> bool {
    is_name(name, b":_.-")
}

fn sums(amounts: &Amounts) -> Sums {
    amounts.iter().map(|(name, amount)| (name.clone(), amount.number)).collect()
}

/// The first resource that is more than a bound says, where it says something.
fn beyond<'a>(sums: &'a Sums, bound: &Sums) -> Option<(&'a String, i128)> {
    let more = |(name, amount): &(&String, &i128)| bound.get(*name).is_some_and(|bound| bound < *amount);
    sums.iter().find(more).map(|(name, amount)| (name, *amount))
}

/// Sizes of a queue and of those below it; the answer is what all of them are promised.
fn check_sizes(queue: &Queue, above: &Sums, reader: &mut Reader) -> Sums {
    let (max, guaranteed) = (queue.sizes.max(), queue.sizes.guaranteed());
    for (name, amount) in max.iter().filter(|(name, amount)| above.get(*name).is_some_and(|most| *most < amount.number))
    {
        reader.wrong(amount.at, format!("max of {name} is more than that of a queue above"));
    }
    let own = sums(&max);
    for (name, amount) in
        guaranteed.iter().filter(|(name, amount)| own.get(*name).is_some_and(|most| *most < amount.number))
    {
        reader.wrong(amount.at, format!("guaranteed {name} is more than max"));
    }
    let mut most = above.clone();
    for (name, amount) in &own {
        most.entry(name.clone()).and_modify(|most| *most = (*most).min(*amount)).or_insert(*amount);
    }
    let mut sum = Sums::new();
    for (name, amount) in queue.queues.iter().flat_map(|child| check_sizes(child, &most, reader)).collect::<Vec<_>>() {
        *sum.entry(name).or_default() += amount;
    }
    let promised = sums(&guaranteed);
    for (bound, what) in [(&promised, "guaranteed"), (&most, "max")] {
        if let Some((name, _)) = beyond(&sum, bound) {
            reader.wrong(queue.at, format!("{what} of {name} is less than the queues below are guaranteed together"));
        }
    }
    if promised.values().all(|amount| *amount == 0) { sum } else { promised }
}

fn check_applications(queue: &Queue, reader: &mut Reader) {
    let most = queue.max_applications.map_or(0, |(_, most)| most);
    for child in &queue.queues {
        match child.max_applications {
            _ if most == 0 => {}
            Some((at, own)) if own > most => reader.wrong(at, "maxapplications is more than that of the queue above"),
            None | Some((_, 0)) => reader.wrong(child.at, "maxapplications must be set, since the queue above has it"),
            Some(_) => {}
        }
        check_applications(child, reader);
    }
}

/// What users and groups may use, as the queues above say.
#[derive(Clone, Default)]
struct Bounds {
    users: BTreeMap<String, (Sums, u64)>,
    groups: BTreeMap<String, (Sums, u64)>,
}

/// Limits are no more than those above: of the same user or group, or of all.
fn check_below(queue: &Queue, above: &Bounds, reader: &mut Reader) {
    let mut own = above.clone();
    for limit in &queue.limits {
        for (names, above, own) in
            [(&limit.users, &above.users, &mut own.users), (&limit.groups, &above.groups, &mut own.groups)]
        {
            for name in names {
                let sums = limit.max.as_ref().map(sums).unwrap_or_default();
                let bound = above.get(&name.text).or_else(|| above.get("*"));
                check_bound(name, (&sums, limit.max_applications), bound, reader);
                own.insert(name.text.clone(), (sums, limit.max_applications));
            }
        }
    }
    queue.queues.iter().for_each(|child| check_below(child, &own, reader));
}

fn check_bound(name: &Said, (sums, applications): (&Sums, u64), bound: Option<&(Sums, u64)>, reader: &mut Reader) {
    let Some((most, most_applications)) = bound else { return };
    if let Some((resource, _)) = beyond(sums, most) {
        reader.wrong(name.at, format!("maxresources of {}: {resource} is more than a queue above allows", name.text));
    }
    if *most_applications != 0 && (applications == 0 || applications > *most_applications) {
        reader.wrong(name.at, format!("maxapplications of {} is more than a queue above allows", name.text));
    }
}

fn check_rule(rule: &Rule, reader: &mut Reader) {
    let name = rule.name.text.to_lowercase();
    let at = if name.is_empty() { rule.at } else { rule.name.at };
    match &*name {
        "fixed" if rule.value.text.is_empty() => reader.wrong(at, "rule fixed must have a value: the queue"),
        "fixed" if !rule.value.text.split('.').all(is_queue_name) => {
            reader.wrong(rule.value.at, format!("{:?} is no path of a queue", rule.value.text));
        }
        "fixed" if rule.value.text.to_lowercase().starts_with(ROOT) && rule.parent.is_some() => {
            reader.wrong(rule.value.at, "a whole path must not have a parent rule");
        }
        "tag" if rule.value.text.is_empty() => reader.wrong(at, "rule tag must have a value: the tag"),
        "fixed" | "tag" | "user" | "provided" => {}
        _ => reader.wrong(at, format!("{:?} is no rule: user, fixed, provided and tag are", rule.name.text)),
    }
    rule.filter.iter().for_each(|filter| check_filter(filter, reader));
    rule.parent.iter().for_each(|parent| check_rule(parent, reader));
}

fn check_filter(filter: &Filter, reader: &mut Reader) {
    if !["", "allow", "deny"].contains(&&*filter.kind.text.to_lowercase()) {
        reader.wrong(filter.kind.at, format!("{:?} is no type of a filter: allow and deny are", filter.kind.text));
    }
    check_pattern(&filter.users, is_user, reader);
    check_pattern(&filter.groups, is_group, reader);
}

/// A single name of a filter may be a pattern.
fn check_pattern(names: &[Said], is_fine: fn(&str) -> bool, reader: &mut Reader) {
    let [name] = names else { return };
    let special = name.text.contains(['^', '$', '*', '+', '?', '(', ')', '[', '{', '}', '|']);
    let is_pattern = || special && regex::Regex::new(&name.text).is_ok();
    if !is_fine(&name.text) && !is_pattern() {
        reader.wrong(name.at, format!("{:?} is neither a name nor a regular expression", name.text));
    }
}

/// The queue that the fixed rules of a chain lead to must be there, or may be made.
fn check_target(rule: &Rule, root: &Queue, reader: &mut Reader) {
    let chain: Vec<&Rule> = std::iter::successors(Some(rule), |rule| rule.parent.as_deref()).collect();
    let chain: Vec<&Rule> = chain.into_iter().rev().collect();
    let is_fixed = |rule: &&&Rule| rule.name.text == "fixed";
    let fixed: Vec<&str> = chain.iter().take_while(is_fixed).map(|rule| &*rule.value.text).collect();
    let (Some(first), create) = (fixed.first(), rule.create.is_some_and(|(_, create)| create)) else { return };
    if fixed.contains(&"") {
        return;
    }
    let path = fixed.join(".").to_lowercase();
    let path = if first.to_lowercase().starts_with(ROOT) { path } else { format!("{ROOT}.{path}") };
    let is_within = fixed.len() < chain.len();
    // The flag counts, whether or not there are queues below.
    let is_parent = |queue: &Queue| queue.name.text == ROOT || queue.parent.is_some_and(|(_, parent)| parent);
    let mut queue = root;
    for part in path.split('.').skip(1) {
        match queue.queues.iter().find(|child| child.name.text.to_lowercase() == part) {
            Some(child) => queue = child,
            None if queue.queues.is_empty() && !is_parent(queue) => {
                return reader.wrong(rule.at, format!("{path} cannot be made, since {} is a leaf", queue.name.text));
            }
            None if create => return,
            None => return reader.wrong(rule.at, format!("there is no queue {path}, and create is not true")),
        }
    }
    if is_parent(queue) && !is_within {
        reader.wrong(rule.at, format!("{path} is no leaf"));
    } else if is_within && !is_parent(queue) {
        reader.wrong(rule.at, format!("{path} is not marked as a parent, and a queue is to be below it"));
    }
}

fn check_nodes(partition: &Partition, reader: &mut Reader) {
    if !["", "fair", "binpacking"].contains(&&*partition.node_order.text) {
        let problem = format!("{:?} is no order of nodes: fair and binpacking are", partition.node_order.text);
        reader.wrong(partition.node_order.at, problem);
    }
    for (name, _) in partition.weights.iter().filter(|(_, weight)| *weight < 0.0) {
        reader.wrong(name.at, format!("the weight of {} must not be negative", name.text));
    }
}
