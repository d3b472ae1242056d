// refused: E0599 E0616
use accounting::{RenyiFilter, RenyiOrders};

fn a_better_order(filter: &mut RenyiFilter, orders: RenyiOrders) {
    filter.set_orders(orders.clone());
    filter.tally.orders = orders;
}

fn main() {}
