//! The example in C is compiled, linked with the static library and run: it prints what the example
//! in Rust prints, figure by figure. What cannot be, seen from C, is refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Builds the static library. Only here: other builds need no such file.
const LIBRARY: [&str; 7] = [
    "rustc",
    "-q",
    "-p",
    "flashyard-capi",
    "--lib",
    "--crate-type=staticlib",
    "--message-format=json",
];

fn cargo(arguments: &[&str]) -> Output {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = cargo.output().expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {errors}");
    output
}

/// The static library, which cargo names.
fn library() -> PathBuf {
    let messages = cargo(&LIBRARY);
    let messages = String::from_utf8_lossy(&messages.stdout).into_owned();
    let mut files = messages.split('"').map(Path::new);
    let library = files.rfind(|file| file.ends_with("libflashyard_capi.a"));
    let library = library.and_then(Path::to_str);
    library.expect("cargo names the library").replace("\\\\", "\\").into()
}

/// Compiles a program in C against the library, and runs it.
fn run(library: &Path, source: &str) -> Output {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = Path::new(source).file_stem().expect("a file");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
    compiler.arg(package.join("include")).arg(package.join(source));
    compiler.arg(library).args(["-lm", "-lpthread", "-ldl", "-o"]).arg(&program);
    let output = compiler.output().expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = Command::new(&program).output().expect("the program runs");
    let errors = String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success(), "{source} ended with {}: {errors}", found.status);
    found
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn programs_in_c_find_what_programs_in_rust_find() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: there is no C compiler `cc`");
        return;
    }
    let library = library();
    let found = run(&library, "examples/closed_loop.c");
    let expected = cargo(&["run", "-q", "-p", "flashyard-capi", "--example", "closed_loop"]);
    let (found, expected) = (found.stdout, expected.stdout);
    let text = String::from_utf8_lossy(&found);
    assert!(text.contains("20000 requests, ") && text.contains("\"schema_version\""), "{text}");
    assert_eq!(text, String::from_utf8_lossy(&expected), "C and Rust differ");
    run(&library, "tests/refused.c");
}
