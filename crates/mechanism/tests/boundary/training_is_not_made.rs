// refused: E0451
use mechanism::SavedTraining;

fn main() {
    // A run with a key of one's own, which nobody was charged for.
    let run = SavedTraining { number: 1, purpose: String::new(), key: [0; 32], drawn: 0 };
    let _ = run;
}
