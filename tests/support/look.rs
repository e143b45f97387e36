//! What a test asks of a cluster.

use gangline::core::event::Place;
use gangline::core::model::countdown::Deadline;
use gangline::core::model::lifecycle::AppState;
use gangline::core::show::queues::QueueReport;

use super::cluster::Cluster;

impl Cluster {
    /// Whether a queue is remembered.
    pub fn knows_queue(&self, path: &str) -> bool {
        self.scheduler.books.queues.find(path).is_some()
    }

    /// What is reported of a queue.
    pub fn queue_report(&self, path: &str) -> QueueReport {
        let id = self.scheduler.books.queues.find(path).expect("a known queue");
        self.scheduler.queue_report(id).expect("a known queue")
    }

    /// Millicores charged to a queue and all below it; 0 where it is not known.
    pub fn cpu(&self, path: &str) -> i128 {
        if self.knows_queue(path) { self.queue_report(path).allocated.get("cpu") } else { 0 }
    }

    /// Millicores that a queue may still use.
    pub fn headroom(&self, path: &str) -> Option<i128> {
        self.queue_report(path).headroom.iter().find(|(name, _)| &**name == "cpu").map(|(_, left)| *left)
    }

    /// Applications of a queue and all below it, by state.
    pub fn applications(&self, path: &str) -> Vec<(AppState, u32)> {
        self.queue_report(path).applications
    }

    /// The node of a pod that has one.
    pub fn node_of(&self, pod: &str) -> Option<String> {
        match &self.pods[pod].1.place {
            Place::On { node, .. } => Some(node.to_string()),
            Place::Gated | Place::Refused(_) | Place::Pending | Place::Succeeded | Place::Failed { .. } => None,
        }
    }

    /// What was last reported for a pod: the word for its reason, and its lasting words.
    pub fn told(&self, pod: &str) -> Option<(&'static str, &str)> {
        let shown = self.scheduler.books.asks[self.pods[pod].0].shown.as_ref();
        shown.map(|shown| (shown.code.name(), &*shown.words))
    }

    /// How many lines of the log begin so.
    pub fn logged(&self, start: &str) -> usize {
        self.log.iter().filter(|line| line.starts_with(start)).count()
    }

    /// Everything that users see of the gangs, the pods and the quotas: what two clusters must agree on.
    pub fn summary(&self) -> String {
        let mut lines: Vec<String> = self.groups.keys().map(|name| self.group_line(name)).collect();
        lines.extend(self.pods.iter().map(|(name, (_, spec))| format!("{name} {:?} {:?}", spec.place, self.why(name))));
        let paths = self.queues.keys().map(String::as_str).chain(["root", "root.default"]);
        lines.extend(paths.map(|path| format!("{path} {} {:?}", self.cpu(path), self.applications(path))));
        lines.join("\n")
    }

    fn group_line(&self, name: &str) -> String {
        let report = self.report(name);
        let (state, life, reason, seats) = (report.state, report.incarnation, report.reason, report.seats);
        let (placed, replaced, ends) = (report.placed, report.replaced, report.deadlines.of(Deadline::Completion));
        format!("{name} {state} {life} {reason} placed={placed} replaced={replaced} ends={ends:?} {seats:?}")
    }

    /// Every object goes; what is still remembered then.
    pub fn clear_away(&mut self) -> Vec<&'static str> {
        let pods: Vec<_> = self.pods.keys().cloned().collect();
        pods.iter().for_each(|name| self.delete(name));
        std::mem::take(&mut self.groups).keys().for_each(|name| self.lose_group(name));
        std::mem::take(&mut self.nodes).keys().for_each(|name| self.lose_node(name));
        std::mem::take(&mut self.queues).keys().for_each(|path| self.lose_queue(path));
        std::mem::take(&mut self.namespaces).keys().for_each(|name| self.lose_namespace(name));
        self.settle().wait(120_000).settle();
        self.scheduler.leftovers()
    }
}
