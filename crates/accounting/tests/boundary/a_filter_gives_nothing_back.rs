// refused: E0616
use accounting::{RenyiFilter};

fn refund(filter: &mut RenyiFilter) {
    filter.tally.sums.clear();
}

fn main() {}
