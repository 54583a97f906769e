//! A report of very many jobs or ranks stays small enough to open.

mod fixture;
mod generated;

use goodput_report::{AccountView, ViewSettings, html};

const JOBS: usize = 100_000;

#[test]
fn many_jobs_make_no_large_page() {
    let (mut account, records) = fixture::fleet();
    let small = html::account(&fixture::account_view()).map_or(0, |page| page.len());
    let job = account.jobs[0].clone();
    account.jobs.extend(std::iter::repeat_n(job, JOBS));
    let view = AccountView::new(&account, &records, &fixture::read_report(), &ViewSettings::default());
    assert_eq!(view.jobs.len() as u64 + view.jobs_omitted.count, JOBS as u64 + 3);
    let page = html::account(&view).map_or(0, |page| page.len());
    assert!(page > 0 && page < small + 2_000_000, "{page} bytes, {small} with three jobs");
}

#[test]
fn many_ranks_make_no_large_page() {
    let small = html::trace(&generated::trace("data_parallel")).map_or(0, |page| page.len());
    let view = generated::many(1_000, 10);
    assert_eq!((view.ranks.len(), view.steps_across.rows.len()), (1_000, 10));
    let page = html::trace(&view).unwrap_or_default();
    assert!(
        page.len() > small && page.len() < small + 4_000_000,
        "{} bytes, {small} of four ranks",
        page.len()
    );
    assert!(page.contains("968 ranks are not"));
}

#[test]
fn the_longest_step_has_a_bounded_number_of_lanes() {
    let view = generated::scaled(40, 1);
    let timeline = view.timeline.unwrap_or_else(|| unreachable!("a step was judged"));
    assert_eq!((timeline.lanes.len(), timeline.lanes_omitted), (32, 8));
    // In rank order, whichever were chosen, and with the longest among them.
    let ranks: Vec<_> = timeline.lanes.iter().map(|lane| lane.rank).collect();
    assert!(ranks.is_sorted() && ranks.contains(&timeline.rank));
}
