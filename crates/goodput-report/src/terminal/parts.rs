//! Parts that the pages of several verbs share.

use super::page::Page;
use crate::table::Detail;
use crate::view::{ReadReportView, WarningView};
use crate::{table, words};

pub(super) fn read_report(page: &mut Page, read: &ReadReportView) {
    page.heading("What was read");
    page.table(&table::files(read, Detail::Brief));
    let (findings, more) = table::findings(read, 10);
    for finding in findings {
        page.warning(&finding);
    }
    if let Some(more) = more {
        page.note(&more);
    }
}

pub(super) fn warnings(page: &mut Page, warnings: &[WarningView]) {
    if warnings.is_empty() {
        return;
    }
    page.heading("Before you trust a figure");
    for warning in words::warnings(warnings) {
        page.warning(&warning);
    }
}
