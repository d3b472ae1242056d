// refused: E0451
use accounting::{RenyiFilter};

fn more(filter: RenyiFilter) -> RenyiFilter {
    RenyiFilter { blend: None, ..filter }
}

fn main() {}
