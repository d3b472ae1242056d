// refused: E0277
fn main() {
    let secret = mechanism::Sensitive::new(42);
    println!("{}", secret);
}
