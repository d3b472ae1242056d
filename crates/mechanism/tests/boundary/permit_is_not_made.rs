// refused: E0451
use mechanism::Permit;

fn main() {
    let mut entropy = noise::Tape::new([0u8; 8]);
    let permit = Permit { entropy: &mut entropy };
    let _ = permit;
}
