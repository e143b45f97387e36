//! One of several processes: it keeps what the watches say while another leads, and decides once it leads itself.

mod follow;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::Controller;
use super::settings::Settings;
use super::stats::Stats;
use super::turn::Turn;
use crate::core::time::Now;
use crate::shim::observation::Observation;
use follow::Following;

/// What one process is. A leader becomes a follower by beginning anew.
#[derive(Clone, Debug)]
pub struct Replica {
    settings: Settings,
    role: Role,
}

#[derive(Clone, Debug)]
enum Role {
    Follower(Box<Following>),
    Leader(Box<Controller>),
}

impl Replica {
    /// One that decides nothing before [`Observation::Lead`].
    pub fn new(settings: Settings) -> Self {
        Self { settings, role: Role::Follower(Box::default()) }
    }

    /// Takes what was observed; a leader also decides, and says what is to be sent. Drains `batch`.
    pub fn step(&mut self, now: Now, batch: &mut Vec<Observation>) -> Turn {
        let following = match &mut self.role {
            Role::Leader(controller) => return controller.step(now, batch),
            Role::Follower(following) => following,
        };
        let leads = batch.iter().any(|observation| matches!(observation, Observation::Lead));
        batch.drain(..).for_each(|observation| following.hear(observation));
        if !leads {
            return Turn::default();
        }
        // As a start does, with one list of each kind: so there is nothing that a new leader could know otherwise. One
        // step takes all of it, about a second for 100 000 pods.
        let mut facts = std::mem::take(&mut **following).into_facts();
        let mut controller = Controller::new(self.settings.clone());
        let turn = controller.step(now, &mut facts);
        self.role = Role::Leader(Box::new(controller));
        turn
    }

    /// A picture in numbers.
    pub fn stats(&self) -> Stats {
        match &self.role {
            Role::Leader(controller) => controller.stats(),
            Role::Follower(following) => following.stats(),
        }
    }

    /// The state, for people.
    pub fn state(&self) -> Value {
        match &self.role {
            Role::Leader(controller) => controller.state(),
            Role::Follower(following) => json!({"leads": false, "synced": following.is_whole()}),
        }
    }
}
