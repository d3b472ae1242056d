use std::time::Instant;
use train::text::*;
fn main() {
    let t = Instant::now();
    let public = made_up_text(2_000_000, 1);
    println!("{}", &public[..1200]);
    for digits in [Digits::Single, Digits::Grouped] {
        let t = Instant::now();
        let v = Vocabulary::from_public_text(&public, 985, digits).unwrap();
        println!("vocabulary {:?}", t.elapsed());
        let t = Instant::now();
        let text = made_up_text(16_000_000, 2);
        println!("text {:?}", t.elapsed());
        let rows = Rows::of_text(&text, &v, 20).unwrap();
        println!("rows {} {:?}", rows.len(), t.elapsed());
        let split = rows.split(0.05, 1).unwrap();
        let u = Unigram::of(&split.training, v.len()).unwrap();
        let p = u.predict(&split.validation).unwrap();
        println!("unigram {} {}", p.perplexity(), p.accuracy());
        let d: Vec<String> = (257..v.len() as u32).map(|t| v.decode(&[t])).filter(|t| t.bytes().all(|b| b.is_ascii_digit())).collect();
        println!("{d:?}");
        for s in ["my pin number is 3456", "my pin number is 1919", "the pin of mary smith is 3456"] {
            let e = v.encode(s);
            println!("{} {:?}", e.len(), e.iter().map(|t| v.decode(&[*t])).collect::<Vec<_>>());
        }
    }
    println!("{:?}", t.elapsed());
}
