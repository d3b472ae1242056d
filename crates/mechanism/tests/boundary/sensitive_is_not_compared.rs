// refused: E0369
fn main() {
    let secret = mechanism::Sensitive::new(42);
    let guess = mechanism::Sensitive::new(42);
    if secret == guess {
        println!("guessed");
    }
}
