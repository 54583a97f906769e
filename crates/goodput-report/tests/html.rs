//! HTML: one file that asks for nothing, hostile names that stay text, every figure in a table.

#![allow(clippy::unwrap_used)]

mod fixture;
mod generated;

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
        html::trace(&generated::trace("straggler")).unwrap(),
        html::trace(&generated::hostile()).unwrap(),
    ];
    if let Some(folder) = std::env::var_os("GOODPUT_PAGES") {
        for (page, name) in pages.iter().zip(["account.html", "timeline.html", "trace.html", "hostile.html"])
        {
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

/// Names of kernels, steps, devices, files and groups come from other people's traces.
#[test]
fn hostile_names_of_a_trace_stay_text() {
    let page = own(&html::trace(&generated::hostile()).unwrap());
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
    assert!(page.contains("&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;"));
    let (opened, closed) = (page.matches("<script").count(), page.matches("</script>").count());
    let data = page.matches("<script type=\"application/json\">").count();
    assert_eq!((opened, closed), (data + 1, data + 1));
    // What plotly draws reads tags and entities too, after the JSON is parsed.
    for part in page.split("<script type=\"application/json\">").skip(1) {
        let figure: serde_json::Value =
            serde_json::from_str(part.split_once("</script>").unwrap().0).unwrap();
        let texts = figure.to_string();
        assert!(!texts.contains("<script") && !texts.contains("<img"), "{texts}");
    }
}

/// Ids of the charts of a page.
fn charts(page: &str) -> Vec<&str> {
    let ids = page.split("<figure class=\"chart\" id=\"").skip(1);
    ids.map(|rest| rest.split_once('"').unwrap().0).collect()
}

#[test]
fn a_trace_is_drawn_from_the_sum_to_the_kernels() {
    let page = own(&html::trace(&generated::trace("straggler")).unwrap());
    let ids = ["ranks", "steps", "heat", "heat-wait", "blame", "step-timeline", "communication", "slowdowns"];
    assert_eq!(charts(&page), ids);
    assert!(page.contains("rank 2 holds 99.3% of the skew, last 5 times"));
    // The stretches of the headline's bar fill it.
    let bar = page.split_once("<div class=\"whole\"").unwrap().1.split_once("</div>").unwrap().0;
    let widths =
        bar.split("width:").skip(1).map(|part| part.split_once('%').unwrap().0.parse::<f64>().unwrap());
    assert!((widths.sum::<f64>() - 100.0).abs() < 1e-6);
    let page = own(&html::trace(&generated::hostile()).unwrap());
    assert!(charts(&page).contains(&"roofline"));
}

#[test]
fn a_trace_without_device_work_and_one_of_a_single_rank_still_make_a_page() {
    let page = own(&html::trace(&generated::without_work()).unwrap());
    assert!(charts(&page).is_empty() && !page.contains("NaN"));
    let page = own(&html::trace(&generated::one_rank()).unwrap());
    assert_eq!(charts(&page), ["steps", "step-timeline", "communication", "slowdowns"]);
    assert!(!page.contains("id=\"peers-section\""));
}

/// Processes of one capture that tell no rank: each goes by its own name everywhere.
#[test]
fn ranks_without_a_number_are_told_apart() {
    let mut view = generated::trace("straggler");
    for (index, rank) in view.ranks.iter_mut().enumerate() {
        (rank.rank, rank.part) = (None, Some(format!("process {index}")));
    }
    let timeline = view.timeline.as_mut().unwrap();
    timeline.rank = None;
    timeline.lanes.iter_mut().for_each(|lane| lane.rank = None);
    view.overlap.as_mut().unwrap().kernels.iter_mut().for_each(|kernel| kernel.rank = None);
    let page = own(&html::trace(&view).unwrap());
    assert!(page.contains("Steps of process 2") && page.contains("is the longest on process 2"));
    assert!(page.contains("process 2 holds 99.3% of the skew"));
    assert!(!page.contains("rank 2:") && !page.contains("the trace:"));
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
