//! Terminal pages: tables that fit the width, colour only when asked.

mod account;
mod mfu;
mod page;
mod parts;
mod timeline;

pub use page::TerminalStyle;

use crate::view::{AccountView, ConversionView, MfuAuditView, TimelineView};

/// A fleet's account as a terminal page.
pub fn account(view: &AccountView, style: TerminalStyle) -> String {
    account::render(view, style)
}

/// One job's account as a terminal page.
pub fn timeline(view: &TimelineView, style: TerminalStyle) -> String {
    timeline::render(view, style)
}

/// A converted MFU as a terminal page.
pub fn conversion(view: &ConversionView, style: TerminalStyle) -> String {
    mfu::conversion(view, style)
}

/// The audit of a log as a terminal page.
pub fn mfu_audit(view: &MfuAuditView, style: TerminalStyle) -> String {
    mfu::audit(view, style)
}
