//! The example in C is compiled, linked with the static library and run: it prints what the example
//! in Rust prints, figure by figure. What cannot be, seen from C, is refused.

#[path = "../examples/closed_loop.rs"]
#[expect(dead_code, reason = "an example has a main")]
mod closed_loop;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The static library, which was built along with this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    let folder = test.parent().expect("it is in a folder");
    folder.join("libflashyard_capi.a")
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
    let mut expected = Vec::new();
    closed_loop::run(&mut expected).expect("the program in Rust runs");
    let found = found.stdout;
    let text = String::from_utf8_lossy(&found);
    assert!(text.contains("20000 requests, ") && text.contains("\"schema_version\""), "{text}");
    assert!(!text.contains("overloaded"), "a closed loop keeps it busy: {text}");
    assert_eq!(text, String::from_utf8_lossy(&expected), "C and Rust differ");
    run(&library, "tests/refused.c");
    run(&library, "tests/zones.c");
    run(&library, "tests/placement.c");
}
