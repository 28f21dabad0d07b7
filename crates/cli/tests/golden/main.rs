//! Tables of earlier results, compared line by line or written anew.

mod ftls;
mod policies;
mod precisions;

/// The variable under which a table is written instead of compared.
const UPDATE: &str = "FLASHYARD_UPDATE_GOLDEN";

/// Compares the table in a file of this folder; of the first line that differs it says both.
#[track_caller]
fn compare(name: &str, found: &str) {
    let file = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, found).unwrap_or_else(|error| panic!("{file}: {error}"));
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    let mut lines = (1..).zip(expected.lines().zip(found.lines()));
    if let Some((line, (expected, found))) = lines.find(|(_, (expected, found))| expected != found)
    {
        panic!(
            "{file}:{line}: a result has moved\n  was {expected}\n  is  {found}\n\
             If that is on purpose: cargo xtask golden --update, and review the difference"
        );
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{file}: rows");
}
