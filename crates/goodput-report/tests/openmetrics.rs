//! OpenMetrics: well-formed, one block a family, labels escaped.

mod fixture;

use std::collections::BTreeSet;

use goodput_report::openmetrics;

#[test]
fn account() {
    insta::assert_snapshot!(openmetrics::account(&fixture::account_view()).unwrap());
}

#[test]
fn timeline() {
    insta::assert_snapshot!(openmetrics::timeline(&fixture::timeline_view()).unwrap());
}

#[test]
fn is_well_formed() {
    for page in [
        openmetrics::account(&fixture::account_view()).unwrap(),
        openmetrics::timeline(&fixture::timeline_view()).unwrap(),
    ] {
        assert!(page.ends_with("# EOF\n"));
        let mut families = BTreeSet::new();
        let mut series = BTreeSet::new();
        for line in page.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let name = rest.split(' ').next().unwrap();
                assert!(families.insert(name.to_owned()), "{name} comes in two blocks");
            } else if !line.starts_with('#') {
                let (labelled, value) = line.rsplit_once(' ').unwrap();
                assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
                assert!(series.insert(labelled.to_owned()), "{labelled} comes twice");
            }
        }
    }
}

#[test]
fn labels_are_escaped() {
    let mut view = fixture::account_view();
    view.pools[0].name = "a\"b\\c\nd".to_owned();
    let page = openmetrics::account(&view).unwrap();
    assert!(page.contains(r#"pool="a\"b\\c\nd""#));
    assert!(page.lines().all(|line| line.starts_with('#') || line.starts_with("goodput_")));
}
