//! Checks of the repository, of the pure layers together, and of the shell against scripted servers on loopback: no
//! control plane.

#[cfg(feature = "runtime")]
mod api_calls;
#[cfg(feature = "runtime")]
mod charts;
mod circle;
mod controller;
mod controller_bindings;
mod controller_lists;
mod controller_queues;
mod controller_shown;
mod controller_swaps;
mod coverage_page;
mod crash_matrix;
#[cfg(feature = "runtime")]
mod crds;
#[allow(clippy::print_stdout, reason = "the table of what was placed is printed")]
mod fits;
mod image;
#[cfg(feature = "runtime")]
mod lease;
mod peers;
#[cfg(feature = "runtime")]
mod process;
mod quantities;
mod reasons;
#[cfg(feature = "runtime")]
mod release;
mod requests;
mod scenarios;
#[cfg(feature = "runtime")]
mod scripted;
#[cfg(feature = "runtime")]
mod shell;
#[allow(clippy::print_stdout, reason = "a play that is looked at is printed")]
mod sim;
#[allow(clippy::print_stdout, reason = "what was played is printed")]
mod simulation;
mod spec_anew;
mod spec_audit;
mod spec_bad_input;
mod spec_bound;
mod spec_called_off;
mod spec_completion;
mod spec_deadlines;
mod spec_dialects;
mod spec_edits;
mod spec_endings;
mod spec_events;
mod spec_facts;
mod spec_gang;
mod spec_gang_groups;
mod spec_gate;
mod spec_head;
mod spec_interrupted;
mod spec_kept;
mod spec_koordinator;
mod spec_koordinator_timeout;
mod spec_limits;
mod spec_loss;
mod spec_lost_again;
mod spec_modes;
mod spec_namespaces;
mod spec_native;
mod spec_order;
mod spec_ordinary;
mod spec_originators;
mod spec_pod_group_edits;
mod spec_pod_groups;
mod spec_policies;
mod spec_queues;
mod spec_recovery;
mod spec_reserve;
mod spec_restart;
mod spec_room;
mod spec_rounds;
mod spec_said;
#[allow(clippy::wildcard_enum_match_arm, reason = "a test looks for one place among all")]
mod spec_seats;
mod spec_seeds;
mod spec_submission;
#[allow(clippy::wildcard_enum_match_arm, reason = "a test looks for one decision among all")]
mod spec_swap;
mod spec_timeouts;
mod spec_total;
mod spec_volcano;
mod spec_yunikorn;
#[allow(dead_code, unreachable_pub, reason = "the vocabulary of tests; not every word is in use at all times")]
mod support;
mod tidy;
mod told;
#[cfg(feature = "runtime")]
mod watches;
mod yunikorn;
