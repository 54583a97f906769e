//! A report of very many jobs stays small enough to open.

mod fixture;

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
