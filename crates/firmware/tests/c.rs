//! The example in C is compiled, linked with the static library and run: it prints what the example
//! in Rust prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Builds the static library. Only here: other builds need no such file.
const LIBRARY: [&str; 7] = [
    "rustc",
    "-q",
    "-p",
    "flashyard-firmware",
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
    let library = files.rfind(|file| file.ends_with("libflashyard_firmware.a"));
    let library = library.and_then(Path::to_str);
    library.expect("cargo names the library").replace("\\\\", "\\").into()
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn the_example_in_c_prints_what_that_in_rust_prints() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: there is no C compiler `cc`");
        return;
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bare_loop_c");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
    compiler.arg(package.join("include")).arg(package.join("examples/bare_loop.c"));
    compiler.arg(library()).arg("-o").arg(&program);
    let output = compiler.output().expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = Command::new(&program).output().expect("the example runs");
    let expected = cargo(&["run", "-q", "-p", "flashyard-core", "--example", "bare_loop"]);
    assert!(found.status.success(), "the example ended with {}", found.status);
    assert!(!expected.stdout.is_empty());
    assert_eq!(
        String::from_utf8_lossy(&found.stdout),
        String::from_utf8_lossy(&expected.stdout),
        "C and Rust differ"
    );
}
