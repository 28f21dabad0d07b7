//! Any text as a device file: never a panic, and what is accepted reads back as it is shown.

#![no_main]

use flashyard_core::key::Kind;
use flashyard_sim::config::{DeviceKeys, Sections, Settings, read_toml, show_value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut keys = DeviceKeys::default();
    let mut problems = Vec::new();
    read_toml("fuzz", text, &mut keys, &[], &mut problems);
    for problem in &problems {
        assert!(!problem.to_string().is_empty());
    }
    // Keys that were read before a problem stay, so every device is checked as a whole.
    if let Ok(settings) = Settings::new(keys.clone()) {
        assert!(settings.capacity_sectors() > 0);
    }
    let mut again = DeviceKeys::default();
    read_toml("echo", &echo(&keys), &mut again, &[], &mut problems);
    assert_eq!(keys, again, "a device reads back as it is shown");
});

/// Every key as a file would have it.
fn echo(keys: &DeviceKeys) -> String {
    let mut text = String::new();
    for (section, of_section, _) in keys.sections() {
        text += &format!("[{section}]\n");
        for key in of_section {
            let value = keys.get(&section, key.name).expect("a listed key has a value");
            let shown = show_value(&key.kind, value);
            let quote = if matches!(key.kind, Kind::Choice(_)) { "'" } else { "" };
            text += &format!("{} = {quote}{shown}{quote}\n", key.name);
        }
    }
    text
}
