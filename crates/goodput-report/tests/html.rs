//! HTML: one file that asks for nothing, hostile names that stay text, every figure in a table.

#![allow(clippy::unwrap_used)]

mod fixture;

use goodput_report::html;

/// The page without the chart library, whose text is not ours.
fn own(page: &str) -> String {
    let (before, rest) = page.split_once("<script type=\"text/javascript\">").unwrap();
    let (library, after) = rest.split_once("</script>").unwrap();
    assert!(library.len() > 1_000_000, "the chart library is inside");
    format!("{before}{after}")
}

fn pages() -> Vec<String> {
    let pages = vec![
        html::account(&fixture::account_view()).unwrap(),
        html::timeline(&fixture::timeline_view()).unwrap(),
    ];
    if let Some(folder) = std::env::var_os("GOODPUT_PAGES") {
        for (page, name) in pages.iter().zip(["account.html", "timeline.html"]) {
            std::fs::write(std::path::Path::new(&folder).join(name), page).unwrap();
        }
    }
    pages
}

#[test]
fn asks_for_nothing() {
    for page in pages() {
        let own = own(&page);
        assert!(!own.contains("http://") && !own.contains("https://"), "an address");
        assert!(!own.contains("<link") && !own.contains("<img") && !own.contains("src="), "a load");
        assert!(!own.contains("@import") && !own.contains("url("), "a load from the style");
        assert!(own.contains("default-src 'none'"));
        assert_eq!(page.matches("* plotly.js v").count(), 1, "the library comes once");
    }
}

#[test]
fn hostile_names_stay_text() {
    let page = own(&html::account(&fixture::account_view()).unwrap());
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("<b>bold"));
    assert!(page.contains("&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;"));
    // The page's own script elements and those of its charts are all there are.
    let (opened, closed) = (page.matches("<script").count(), page.matches("</script>").count());
    assert_eq!(opened, closed);
    let data = page.matches("<script type=\"application/json\">").count();
    assert_eq!(opened, data + 1);
}

#[test]
fn chart_data_is_json() {
    for page in pages() {
        for part in page.split("<script type=\"application/json\">").skip(1) {
            let (json, _) = part.split_once("</script>").unwrap();
            let figure: serde_json::Value = serde_json::from_str(json).unwrap();
            assert!(figure["data"].as_array().is_some_and(|traces| !traces.is_empty()));
        }
    }
}

#[test]
fn an_empty_title_and_no_timeline_still_make_a_page() {
    let (mut account, records) = fixture::fleet();
    for job in &mut account.jobs {
        job.runtime = None;
    }
    account.scheduling.fleet.series.clear();
    let settings = goodput_report::ViewSettings::default();
    let view = goodput_report::AccountView::new(&account, &records, &fixture::read_report(), &settings);
    let page = own(&html::account(&view).unwrap());
    assert!(page.contains("Fleet account"));
    assert!(!page.contains("id=\"lanes-section\""));
}
