//! What the lab (`e2e/lab`) and the end-to-end suite (`e2e/main.rs`) share: tools, a control plane, ways to wait.

pub mod audit;
pub mod chart;
pub mod components;
pub mod control_plane;
pub mod error;
pub mod go_build;
pub mod http_probe;
pub mod kubeconfig;
pub mod manifests;
pub mod nodes;
pub mod objects;
pub mod policies;
pub mod ports;
pub mod process;
pub mod progress;
pub mod proxy;
pub mod real;
pub mod scheduler;
pub mod state_dir;
pub mod tools;
pub mod values;
