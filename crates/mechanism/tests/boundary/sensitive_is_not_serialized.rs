// refused: E0277
fn save<T: serde::Serialize>(_value: T) {}

fn main() {
    save(mechanism::Sensitive::new(42));
}
