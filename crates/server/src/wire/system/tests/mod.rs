//! What clients send, what is refused, and what no text can do.

mod clients;
mod fuzz;
mod limits;
mod released;
mod taken;
mod values;
