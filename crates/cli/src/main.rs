//! The binary `deniable`. All of it is the library beside it.

fn main() -> std::process::ExitCode {
    cli::main(std::env::args_os()).into()
}
