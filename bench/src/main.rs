//! Measures samplers on one thread, ours and the peers' in the same run on the same machine, because a rate alone
//! says more about the machine than about the sampler. Each row is the best of five repetitions; every repetition
//! is kept in the JSON. What a person reads are two ratios: to ChaCha12, the floor under anything that consumes
//! cryptographic random bits, and to OpenDP, the peer that also samples exactly.
//!
//! ```text
//! deniable-bench [--python INTERPRETER SCRIPT] [--out FILE]
//! ```

mod common;
mod measure;
#[cfg(feature = "ours")]
mod ours;
mod peers;
mod report;

use common::{Arguments, Failure, python_rows};
use std::process::ExitCode;

fn run() -> Result<(), Failure> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let mut rows = peers::floor();
    #[cfg(feature = "ours")]
    {
        rows.extend(ours::samplers()?);
        rows.extend(ours::real_releases()?);
    }
    rows.extend(peers::opendp_samplers()?);
    rows.extend(peers::opendp_real_releases()?);
    if let Some((interpreter, script)) = &arguments.python {
        rows.extend(python_rows(interpreter, script)?);
    }
    print!("{}", report::table(&rows));
    common::warn_if_busy("the rates are too low and the ratios uncertain");
    if let Some(path) = &arguments.out {
        report::write_json(path, &rows)?;
        println!("\nraw runs: {path}");
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
