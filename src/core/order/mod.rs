//! Whose turn it is: gangs before their start and ordinary pods, in the order of a pass.

mod pass;
mod turns;
