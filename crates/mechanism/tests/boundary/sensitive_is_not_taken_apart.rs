// refused: E0614 E0616
fn main() {
    let secret = mechanism::Sensitive::new(42);
    let value: i32 = secret.0;
    let again: i32 = *secret;
    let _ = (value, again);
}
