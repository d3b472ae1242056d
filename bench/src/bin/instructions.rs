//! Draws that all come out small, or all large, for `bench/instructions` to count the processor's instructions.
//!
//! The entropy is a constant, so every draw takes the same way: near the middle of its law when the constant is small, far out when it is large.

use noise::{DiscreteGaussian, DiscreteLaplace, Entropy, RoundedGaussian};

/// A source whose every word has the same leading bits, except that the coin of an acceptance test always says yes.
struct Constant(u32);

impl Entropy for Constant {
    fn bits(&mut self, count: u32) -> u64 {
        // 64 bits at once are places in a block and coins: zero is the block's start, which is always kept.
        if count > 32 {
            0
        } else {
            u64::from(self.0) >> (32 - count)
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: instructions laplace|discrete|rounded SCALE WORD DRAWS";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [sampler, scale, word, draws] = arguments.as_slice() else {
        return Err(usage.into());
    };
    let scale = exact::parse_decimal(scale)?;
    let mut entropy = Constant(word.parse()?);
    let mut values = vec![0i64; draws.parse()?];
    match sampler.as_str() {
        "laplace" => DiscreteLaplace::new(&scale)?.fill(&mut values, &mut entropy),
        "discrete" => DiscreteGaussian::with_scale(&scale)?.fill(&mut values, &mut entropy),
        "rounded" => RoundedGaussian::with_scale(&scale)?.fill(&mut values, &mut entropy),
        _ => return Err(usage.into()),
    }
    println!("{}", values[values.len() - 1]);
    Ok(())
}
