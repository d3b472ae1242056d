//! Queries from end to end: parsed, priced, charged, run, noised and answered.

mod answers;
mod harness;
