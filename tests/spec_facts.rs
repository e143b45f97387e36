//! Facts first, then consequences (02, 2.2): what a batch leads to does not hang on the order in which its facts came.

use gangline::core::decision::Decision;
use gangline::core::event::{GroupSpec, Place};
use gangline::core::shape::NodeSpec;

use crate::support::cluster::Cluster;

/// A fact, about another object than the others of its batch.
type Fact = Box<dyn Fn(&mut Cluster)>;

/// Every order of so many things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let Some(less) = count.checked_sub(1) else { return vec![Vec::new()] };
    let insert = |order: &Vec<usize>| {
        let at = |place: usize| {
            let mut longer = order.clone();
            longer.insert(place, less);
            longer
        };
        (0..count).map(at).collect::<Vec<_>>()
    };
    orders(less).iter().flat_map(insert).collect()
}

/// Whatever the order of the facts of a batch, the same is decided, and the end is the same.
fn check(what: &str, cluster: &Cluster, batch: &[Fact]) {
    let mut first = None;
    for order in orders(batch.len()) {
        let mut cluster = cluster.clone();
        order.iter().for_each(|fact| batch[*fact](&mut cluster));
        cluster.taken();
        cluster.step();
        let decided = cluster.taken();
        cluster.settle();
        let outcome = (decided, cluster.summary());
        let first = first.get_or_insert_with(|| outcome.clone());
        assert_eq!(outcome, *first, "{what}: {order:?}");
    }
}

/// Two placeholders leave for two members.
fn swapping() -> Cluster {
    let mut cluster = Cluster::default().nodes(3, 4).queue("root.q", 8);
    let spec = cluster.all("g", 2);
    cluster.submit("g", "root.q", spec);
    cluster.settle();
    cluster.members("g", 2);
    cluster.step();
    assert_eq!(
        cluster.waiting().iter().filter(|text| text.starts_with("release")).count(),
        2,
        "{:?}",
        cluster.waiting()
    );
    cluster.decisions.clear();
    cluster
}

fn placeholder(cluster: &Cluster, number: usize) -> String {
    let mut names = cluster.pods.keys().filter(|name| name.starts_with("ph-"));
    names.nth(number).expect("it is there").clone()
}

fn node_of(cluster: &Cluster, pod: &str) -> String {
    let Place::On { node, .. } = &cluster.pods[pod].1.place else { panic!("{pod} has a node") };
    node.to_string()
}

fn deleted(pod: &str) -> Fact {
    let pod = pod.to_owned();
    Box::new(move |cluster| cluster.delete(&pod))
}

fn placed(pod: &str, place: Place) -> Fact {
    let pod = pod.to_owned();
    Box::new(move |cluster| cluster.change(&pod, |spec| spec.place = place.clone()))
}

fn node_gone(node: &str) -> Fact {
    let node = node.to_owned();
    Box::new(move |cluster| cluster.lose_node(&node))
}

fn cordoned(node: &str) -> Fact {
    let node = node.to_owned();
    Box::new(move |cluster| {
        let allocatable = cluster.nodes[&node].allocatable.clone();
        cluster.show_node(&node, NodeSpec { allocatable, unschedulable: true, ..NodeSpec::default() });
    })
}

fn queue_of(cpu: i64) -> Fact {
    Box::new(move |cluster| cluster.set_queue("root.q", cpu))
}

fn queue_gone() -> Fact {
    Box::new(|cluster| cluster.lose_queue("root.q"))
}

fn group_gone() -> Fact {
    Box::new(|cluster| cluster.lose_group("g"))
}

fn single() -> Fact {
    Box::new(|cluster| cluster.single("s"))
}

/// 01, 1.4: "in one update", on what is known then: the node that goes with the placeholder takes no member.
#[test]
fn a_swap_ends_beside_other_facts() {
    let swapping = swapping();
    let (one, other) = (placeholder(&swapping, 0), placeholder(&swapping, 1));
    let node = node_of(&swapping, &one);
    let ends = || [deleted(&one), deleted(&other)];
    let with = |facts: Vec<Fact>| ends().into_iter().chain(facts).collect::<Vec<_>>();
    check("a node is cordoned", &swapping, &with(vec![cordoned(&node), single(), queue_of(1)]));
    check("a node goes", &swapping, &with(vec![node_gone(&node), single()]));
    check("a member goes", &swapping, &with(vec![deleted("g-0"), single(), queue_gone()]));
    check("a member is gated", &swapping, &with(vec![placed("g-0", Place::Gated), cordoned(&node)]));
    check("the task group goes", &swapping, &with(vec![group_gone(), cordoned(&node), single()]));
}

/// 01, 1.2.3: "objects of one `kubectl apply` arrive in any order". Also seed 004 "Code merges": "All RM events will now directly
/// be handled in the scheduler": in one step, with one result.
#[test]
fn everything_comes_at_once() {
    let gang = |name: &'static str| -> Fact {
        Box::new(move |cluster| {
            let spec = if name == "a" { cluster.direct(name, 2) } else { cluster.all(name, 2) };
            cluster.submit(name, "root.q", spec);
        })
    };
    let members = |name: &'static str| -> Fact { Box::new(move |cluster| cluster.members(name, 2)) };
    let node: Fact = Box::new(|cluster| cluster.node("n0", 4));
    let batch = [node, queue_of(3), gang("a"), gang("b"), members("a"), members("b")];
    check("all of it", &Cluster::default(), &batch);
}

/// 01, 1.2.4, 1.5: a gang is not what it was while its placeholders are being bound.
#[test]
fn a_gang_changes_while_it_reserves() {
    let mut cluster = Cluster::default().nodes(2, 2).queue("root.q", 4).queue("root.other", 4);
    let spec = cluster.all("g", 3);
    cluster.submit("g", "root.q", spec);
    cluster.step();
    cluster.carry("create");
    assert!(cluster.waiting().iter().any(|text| text.starts_with("bind")), "{:?}", cluster.waiting());
    cluster.decisions.clear();
    let moved = || -> Fact {
        Box::new(|cluster| {
            let mut spec = cluster.groups["g"].clone();
            (spec.queue, spec.generation) = (Some("root.other".into()), spec.generation + 1);
            cluster.apply("g", spec);
        })
    };
    let bound = placed(&placeholder(&cluster, 0), Place::On { node: "n1".into(), running: true });
    let gone = deleted(&placeholder(&cluster, 1));
    let mut batch = vec![moved(), gone, node_gone("n0"), queue_gone(), bound];
    check("it is moved", &cluster, &batch);
    batch[0] = group_gone();
    check("it goes", &cluster, &batch);
}

/// A placeholder is being created when it comes and goes, in one batch: its seat is planned again.
#[test]
fn a_placeholder_comes_and_goes_at_once() {
    let ends: [fn(&mut Cluster, &str); 3] = [
        |cluster, pod| cluster.delete(pod),
        |cluster, pod| {
            cluster.change(pod, |spec| spec.place = Place::Failed { reason: "Evicted".into(), refused: false })
        },
        |cluster, pod| cluster.change(pod, |spec| spec.terminating = true),
    ];
    for end in ends {
        let mut cluster = Cluster::default().nodes(1, 2);
        let spec = cluster.all("g", 1);
        cluster.apply("g", spec);
        cluster.step();
        let decided = std::mem::take(&mut cluster.decisions).into_iter();
        let mut created = decided.filter(|decision| matches!(decision, Decision::CreatePlaceholder(_)));
        let Some(Decision::CreatePlaceholder(name)) = created.next() else { panic!("it is created") };
        cluster.create(&name);
        let pod = placeholder(&cluster, 0);
        end(&mut cluster, &pod);
        cluster.taken();
        cluster.step();
        assert!(cluster.taken().contains(&"create g/0".to_owned()), "{:?}", cluster.report("g").message);
    }
}

/// Two swaps end at once, and the node of one has gone: its member does not take the room of the other.
#[test]
fn who_must_look_for_another_node_takes_nobodys() {
    for lost in [0, 1] {
        let mut cluster = Cluster::default().nodes(2, 1);
        for name in ["a", "b"] {
            let spec = cluster.all(name, 1);
            cluster.apply(name, spec);
        }
        cluster.settle();
        cluster.members("a", 1);
        cluster.members("b", 1);
        cluster.step();
        cluster.decisions.clear();
        let placeholders = [placeholder(&cluster, 0), placeholder(&cluster, 1)];
        cluster.lose_node(&node_of(&cluster, &placeholders[lost]));
        let stays = if placeholders[lost].contains("-a-") { "b-0" } else { "a-0" };
        placeholders.iter().for_each(|pod| cluster.delete(pod));
        cluster.taken();
        cluster.settle();
        let bound: Vec<String> = cluster.taken().into_iter().filter(|text| text.starts_with("bind")).collect();
        assert!(bound.len() == 1 && bound[0].starts_with(&format!("bind {stays} ")), "{stays} of {bound:?}");
    }
}

/// A node that goes and is back in one batch, as one that is made anew under its name, costs nobody a seat.
#[test]
fn a_node_is_made_anew() {
    let mut cluster = Cluster::default().nodes(1, 2);
    let spec = cluster.all("g", 2);
    cluster.apply("g", spec);
    cluster.settle();
    assert_eq!(cluster.report("g").seats.held, 2);
    cluster.taken();
    cluster.lose_node("n0");
    cluster.node("n0", 2);
    cluster.settle();
    assert_eq!((cluster.report("g").seats.held, cluster.taken()), (2, Vec::new()));
}

/// A TaskGroup is edited and gone in one batch: nothing of its application is left.
#[test]
fn edited_and_gone_at_once() {
    let mut cluster = Cluster::default().nodes(1, 2);
    let spec = cluster.all("g", 3);
    cluster.apply("g", spec.clone());
    cluster.settle();
    cluster.apply("g", GroupSpec { generation: spec.generation + 1, min_member: 2, ..spec });
    cluster.lose_group("g");
    cluster.settle();
    let placeholders: Vec<String> = cluster.pods.keys().cloned().collect();
    placeholders.iter().for_each(|pod| cluster.delete(pod));
    cluster.settle();
    let applications = cluster.applications("root.default");
    assert!(cluster.scheduler.books.apps.iter().next().is_none(), "{applications:?}");
}
