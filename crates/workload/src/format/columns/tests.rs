//! Descriptors, and rows read by them.

use super::*;

#[test]
fn every_shipped_descriptor_is_right_and_has_a_source() {
    for (name, text) in SHIPPED {
        let layout = file::parse(&format!("{name}.toml"), text).unwrap();
        assert_eq!(layout.name, *name);
        assert!(text.contains("\nsource = "), "{name}");
    }
}
