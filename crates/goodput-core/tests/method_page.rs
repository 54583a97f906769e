//! The method page names every pattern with its word, owners and lever.

use goodput_core::{Boundary, Owner, Pattern};

#[test]
fn the_page_has_a_row_for_every_pattern() {
    let page = include_str!("../../../docs/method.md");
    let (_, words) = page.split_once("\n## Every word").expect("the section of words");
    for boundary in Boundary::ALL {
        let section = words
            .split("\n### ")
            .find(|section| section.to_lowercase().starts_with(boundary.key()))
            .expect("a section for each boundary");
        let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        let expected: Vec<Pattern> = Pattern::at(boundary).collect();
        assert_eq!(rows.len(), expected.len(), "{boundary}");
        for (row, pattern) in rows.iter().zip(expected) {
            let owners: Vec<_> = pattern.owners().iter().copied().map(Owner::label).collect();
            assert!(row.starts_with(&format!("| `{}` |", pattern.key())), "{row}");
            assert!(row.ends_with(&format!("| {} | {} |", owners.join(", "), pattern.lever())), "{row}");
        }
    }
}
