//! Plans as the engine makes them, which are accepted with their sensitivities, and plans with a defect in them, each refused for its reason. The engine's own rules and operators make the plans with
//! defects, so that nothing but the verifier stands between them and an answer.

mod accepted;
mod common;
mod defects;
mod releases;
