//! The words of the scenarios: what each line does.

use std::collections::BTreeMap;

use gangline::core::base::ids::{Text, Uid};
use gangline::core::base::resources::Limit;
use gangline::core::decision::Decision;
use gangline::core::event::{AskSpec, BindOutcome, Event, Place, PlaceholderFor, QueueSpec, Reservation, Role, Style};
use gangline::core::model::countdown::Deadline;
use gangline::core::reason::{Objection, Refusal, Unsupported};
use gangline::core::shape::{NodeSpec, Shape};

use crate::support::cluster::{Cluster, listed, size};

/// The options of a line: `key=value`, each to be used once.
struct Options<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Options<'a> {
    fn take(&mut self, key: &str) -> Option<&'a str> {
        self.0.remove(key)
    }

    fn number<T: std::str::FromStr>(&mut self, key: &str, into: &mut T) -> Result<(), String> {
        self.take(key).map_or(Ok(()), |text| number(text).map(|number| *into = number))
    }

    fn text(&mut self, key: &str, into: &mut Text) {
        self.take(key).into_iter().for_each(|text| *into = text.into());
    }

    fn end(&self) -> Result<(), String> {
        self.0.keys().next().map_or(Ok(()), |key| Err(format!("{key}= has no meaning here")))
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is no number that fits"))
}

fn known<'a, T>(objects: &'a BTreeMap<String, T>, name: &str) -> Result<&'a T, String> {
    objects.get(name).ok_or_else(|| format!("there is no {name}"))
}

/// One line: changes objects, or lets the scheduler go on; what it decided or what is to be shown.
pub(super) fn act(cluster: &mut Cluster, line: &str) -> Result<Vec<String>, String> {
    let (options, words): (Vec<_>, Vec<_>) = line.split(' ').partition(|word| word.contains('='));
    let mut options = Options(options.into_iter().filter_map(|option| option.split_once('=')).collect());
    let mut shown = Vec::new();
    match words[..] {
        ["node", name, cpu] => cluster.node(name, number(cpu)?),
        ["cordon", name] => {
            let spec = NodeSpec { unschedulable: true, ..known(&cluster.nodes, name)?.clone() };
            cluster.show_node(name, spec);
        }
        ["queue", path] => queue(cluster, path, &mut options)?,
        ["group", name, min] => group(cluster, name, number(min)?, &mut options)?,
        ["member", name, of] => pod(cluster, name, Role::Member { group: of.into() }, &mut options)?,
        ["members", of, count] => cluster.members(of, number(count)?),
        ["originator", name, of] => pod(cluster, name, Role::Originator { application: of.into() }, &mut options)?,
        ["single", name] => pod(cluster, name, Role::Singleton, &mut options)?,
        ["foreign", name] => pod(cluster, name, Role::Foreign, &mut options)?,
        ["lose", kind, name] => lose(cluster, kind, name)?,
        [change @ ("terminate" | "gate" | "ungate" | "succeed" | "fail"), name] => {
            known(&cluster.pods, name)?;
            cluster.change(name, |spec| change_pod(spec, change));
        }
        ["uses", name, field] => {
            known(&cluster.pods, name)?;
            cluster.change(name, |spec| {
                spec.place = Place::Refused(Box::new(Objection::Unsupported(Unsupported { field: field.into() })))
            });
        }
        ["admit", group, cpu] => {
            let shape = Shape { request: size(number(cpu)?), ..Shape::default() };
            cluster.admitted.insert(group.to_owned(), shape.into());
        }
        ["refuse", ref what @ .., code] => refuse(cluster, &what.join(" "), number(code)?)?,
        ["step"] => went(cluster.step()),
        ["settle"] => went(cluster.settle()),
        ["wait", millis] => went(cluster.wait(number(millis)?)),
        ["carry", ref what @ ..] => went(cluster.carry(&what.join(" "))),
        ["restart", ref first @ ..] => restart(cluster, first)?,
        ["show", name] => shown.push(show(cluster, name)?),
        _ => return Err(format!("this is no sentence: {line}")),
    }
    options.end()?;
    let mut said = cluster.taken();
    said.extend(shown);
    Ok(said)
}

/// What a step decided is in the log.
fn went(_cluster: &mut Cluster) {}

fn queue(cluster: &mut Cluster, path: &str, options: &mut Options<'_>) -> Result<(), String> {
    let mut spec = QueueSpec::default();
    if let Some(cpu) = options.take("cpu") {
        spec.max = Limit::new([("cpu".into(), number::<i128>(cpu)? * 1000)]);
    }
    spec.max_applications = options.take("applications").map(number).transpose()?;
    cluster.show_queue(path, spec);
    Ok(())
}

/// Members of 1 core, as `kind=all`, `missing` (unless said otherwise) or `direct`.
fn group(cluster: &mut Cluster, name: &str, min: u32, options: &mut Options<'_>) -> Result<(), String> {
    let mut spec = cluster.group(name, min);
    (spec.reservation, spec.placeholder_for) = match options.take("kind").unwrap_or("missing") {
        "all" => (Reservation::Placeholder, PlaceholderFor::All),
        "missing" => (Reservation::Placeholder, PlaceholderFor::Missing),
        "direct" => (Reservation::Direct, PlaceholderFor::Missing),
        other => return Err(format!("a group is all, missing or direct, not {other}")),
    };
    spec.style = match options.take("style").unwrap_or("soft") {
        "soft" => Style::Soft,
        "hard" => Style::Hard,
        other => return Err(format!("a style is soft or hard, not {other}")),
    };
    for (word, what) in [("timeout", Deadline::Placeholder), ("admission", Deadline::Admission)] {
        if let Some(seconds) = options.take(word) {
            spec.timeouts = spec.timeouts.with(what, Some(1_000 * number::<u64>(seconds)?));
        }
    }
    if let Some(seconds) = options.take("hold") {
        spec.seat_hold = 1_000 * number::<u64>(seconds)?;
    }
    options.take("queue").into_iter().for_each(|queue| spec.queue = Some(queue.into()));
    options.text("application", &mut spec.application);
    options.number("created", &mut spec.created)?;
    options.number("generation", &mut spec.generation)?;
    if let Some(gang) = options.take("gang") {
        spec.gang = listed(gang.split(','));
    }
    if let Some(uid) = options.take("uid") {
        spec.uid = Uid::new(uid);
    }
    cluster.apply(name, spec);
    Ok(())
}

fn pod(cluster: &mut Cluster, name: &str, role: Role, options: &mut Options<'_>) -> Result<(), String> {
    let (mut spec, mut cpu) = (cluster.pod(name, role), 1);
    options.number("cpu", &mut cpu)?;
    options.number("priority", &mut spec.priority)?;
    options.number("created", &mut spec.created)?;
    spec.shape = Shape { request: size(cpu), ..Shape::default() }.into();
    spec.queue = options.take("queue").map(Into::into);
    if let Some(node) = options.take("on") {
        spec.place = Place::On { node: node.into(), running: true };
    }
    cluster.show(spec);
    Ok(())
}

fn lose(cluster: &mut Cluster, kind: &str, name: &str) -> Result<(), String> {
    match kind {
        "node" => known(&cluster.nodes, name).map(drop).map(|()| cluster.lose_node(name)),
        "queue" => known(&cluster.queues, name).map(drop).map(|()| cluster.lose_queue(name)),
        "group" => known(&cluster.groups, name).map(drop).map(|()| cluster.lose_group(name)),
        "pod" => known(&cluster.pods, name).map(drop).map(|()| cluster.delete(name)),
        other => Err(format!("nodes, queues, groups and pods can be lost, no {other}")),
    }
}

fn change_pod(spec: &mut AskSpec, change: &str) {
    match change {
        "gate" => spec.place = Place::Gated,
        "ungate" => spec.place = Place::Pending,
        "succeed" => spec.place = Place::Succeeded,
        "fail" => spec.place = Place::Failed { reason: "".into(), refused: false },
        _ => spec.terminating = true,
    }
}

/// The API server refuses the first waiting decision whose text contains `what`.
fn refuse(cluster: &mut Cluster, what: &str, code: u16) -> Result<(), String> {
    let is_it = |decision: &Decision| cluster.text(decision).is_some_and(|text| text.contains(what));
    let at = cluster.decisions.iter().position(is_it).ok_or_else(|| format!("nothing is decided like {what}"))?;
    let refusal = Refusal { code, message: "refused".into() };
    match cluster.decisions.remove(at) {
        Decision::Allocate { ask, .. } => cluster.tell(Event::Bind(ask, BindOutcome::Failed(refusal))),
        Decision::CreatePlaceholder(name) => cluster.tell(Event::CreateRefused(name, refusal)),
        Decision::Release(ask, _) => cluster.tell(Event::ReleaseRefused(ask, refusal)),
        Decision::Recall(_)
        | Decision::CancelPlaceholder(_)
        | Decision::ShowGroup(_)
        | Decision::Tell(..)
        | Decision::TellAsk(..)
        | Decision::Fail(..)
        | Decision::ShowAsk(_)
        | Decision::ShowQueue(_) => {
            return Err(format!("{what} cannot be refused"));
        }
    }
    Ok(())
}

/// The process dies and lists everything, these kinds first.
fn restart(cluster: &mut Cluster, first: &[&str]) -> Result<(), String> {
    if let Some(other) = first.iter().find(|kind| !["pods", "groups", "queues", "nodes"].contains(kind)) {
        return Err(format!("nodes, queues, groups and pods can be listed first, no {other}"));
    }
    let is_of = |event: &Event, kind: &str| match kind {
        "pods" => matches!(event, Event::Ask(..)),
        "groups" => matches!(event, Event::Group(..)),
        "queues" => matches!(event, Event::Queue(..)),
        _ => matches!(event, Event::Node(..)),
    };
    let place = |event: &Event| first.iter().position(|kind| is_of(event, kind)).unwrap_or(first.len());
    cluster.restart_in_order(|objects| objects.sort_by_key(place)).step();
    Ok(())
}

/// What is shown of a task group, a pod or a queue.
fn show(cluster: &Cluster, name: &str) -> Result<String, String> {
    if cluster.groups.contains_key(name) {
        let (report, seats) = (cluster.report(name), cluster.report(name).seats);
        let (open, held, taken) = (seats.open, seats.held, seats.taken);
        let kept = if seats.kept > 0 { format!(" kept {}", seats.kept) } else { String::new() };
        return Ok(format!("{name} {} {}: open {open} held {held} taken {taken}{kept}", report.state, report.reason));
    }
    if cluster.queues.contains_key(name) {
        return Ok(format!("{name} uses {}m", cluster.cpu(name)));
    }
    let (_, spec) = known(&cluster.pods, name)?;
    let node = cluster.node_of(name).map_or_else(|| format!("{:?}", spec.place), |node| format!("on {node}"));
    Ok(format!("{name} {node} {}", cluster.why(name).unwrap_or("")).trim_end().to_owned())
}
