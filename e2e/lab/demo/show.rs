//! What the audience sees: a table that changes in place on a terminal, a line for each change elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use kube::Client;

use super::scene::{Gang, Scene};
use crate::support::error::{Error, Result};

/// How often the API server is asked for what is to be seen.
const FRAME: Duration = Duration::from_millis(150);

/// The longest that any part of the story may take. Each takes seconds; a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// The story's narrator and table.
pub(super) struct Show {
    client: Client,
    began: Instant,
    table: Option<Table>,
    last: Scene,
}

impl Show {
    /// An empty table.
    pub(super) fn start(client: &Client) -> Self {
        let table = std::io::stderr().is_terminal().then(Table::default);
        Self { client: client.clone(), began: Instant::now(), table, last: Scene::default() }
    }

    /// Tells something.
    pub(super) fn say(&self, text: &str) {
        match &self.table {
            Some(table) => table.say(text),
            None => println!("{text}"),
        }
    }

    /// Waits until the scene is as expected, showing every change.
    pub(super) async fn until(&mut self, what: &str, expected: impl Fn(&Scene) -> bool) -> Result<Scene> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            self.look().await?;
            if expected(&self.last) {
                return Ok(self.last.clone());
            }
            if Instant::now() > give_up {
                let gangs: Vec<_> =
                    self.last.gangs.iter().map(|gang| format!("{}: {}", gang.name, gang.message)).collect();
                let error = Error::new(format!("not within {} s: {what}", PATIENCE.as_secs()));
                return Err(error.with_tail("task groups", &gangs.join("\n")));
            }
            tokio::time::sleep(FRAME).await;
        }
    }

    /// Lets some time pass, showing every change.
    pub(super) async fn pause(&mut self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            tokio::time::sleep(FRAME).await;
            self.look().await?;
        }
        Ok(())
    }

    /// Leaves the last table standing.
    pub(super) fn end(&mut self) {
        if let Some(table) = self.table.take() {
            table.end();
            println!("\n{HEADER}");
            self.last.gangs.iter().for_each(|gang| println!("{}", row(gang)));
        }
    }

    async fn look(&mut self) -> Result<()> {
        let mut scene = Scene::read(&self.client).await?;
        // A row stays where it is; times of creation are whole seconds.
        let place = |gang: &Gang| self.last.gangs.iter().position(|last| last.name == gang.name);
        scene.gangs.sort_by_key(|gang| place(gang).unwrap_or(usize::MAX));
        match &mut self.table {
            Some(table) => table.draw(&scene),
            None => self.tell_changes(&scene),
        }
        self.last = scene;
        Ok(())
    }

    fn tell_changes(&self, scene: &Scene) {
        let seconds = self.began.elapsed().as_secs_f64();
        for gang in scene.gangs.iter().filter(|gang| self.last.gang(&gang.name) != **gang) {
            println!("  {seconds:5.1} s  {}", line(gang));
        }
    }
}

const HEADER: &str = "  TASK GROUP           MIN  OPEN  HELD  TAKEN  DONE  STATE      REASON";

fn row(gang: &Gang) -> String {
    let Gang { name, min, held, taken, done, state, .. } = gang;
    let why = if is_waiting(gang) { &gang.message } else { &gang.reason };
    let open = gang.open();
    format!("  {name:<20} {min:>3}  {open:>4}  {held:>4}  {taken:>5}  {done:>4}  {state:<9}  {why}")
}

fn line(gang: &Gang) -> String {
    let Gang { name, held, taken, done, state, reason, .. } = gang;
    let why = if state.is_empty() { String::new() } else { format!("{state}: {reason}") };
    format!("{name:<19} open {} held {held} taken {taken} done {done}  {why}", gang.open())
}

/// Whether its message says more than its reason.
fn is_waiting(gang: &Gang) -> bool {
    matches!(gang.state.as_str(), "Accepted" | "Rejected") && !gang.message.is_empty()
}

/// A table that is drawn again in place.
#[derive(Default)]
struct Table {
    bars: MultiProgress,
    rows: Vec<ProgressBar>,
}

impl Table {
    fn say(&self, text: &str) {
        // Fails with the terminal, and then nobody reads.
        let _ = self.bars.println(text);
    }

    fn draw(&mut self, scene: &Scene) {
        let lines: Vec<String> = std::iter::once(HEADER.to_owned()).chain(scene.gangs.iter().map(row)).collect();
        while self.rows.len() < lines.len() {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
                bar.set_style(style);
            }
            self.rows.push(self.bars.add(bar));
        }
        self.rows.iter().zip(lines).for_each(|(row, line)| row.set_message(line));
    }

    fn end(self) {
        // As above.
        let _ = self.bars.clear();
    }
}
