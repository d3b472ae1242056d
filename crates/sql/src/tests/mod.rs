//! The whole way of a query under attack: what the exact numbers before the noise do when one unit comes, goes or changes.

mod asked;
mod examples;
mod hunter;
mod movement;
mod neighbours;
mod passes;
mod planted;
mod regressions;
mod relations;
mod same;
mod synthetic;
mod tabulated;
mod together;
mod within;
