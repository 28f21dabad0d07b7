//! Development tasks: `cargo xtask TASK`.
mod golden;
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    println!("{}", golden::run(&arguments[1..])?);
    Ok(())
}
