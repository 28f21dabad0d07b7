//! The `flashyard` command; all of it is in the library.

fn main() -> std::process::ExitCode {
    flashyard::main()
}
