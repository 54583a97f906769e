//! Terminal pages: tables that fit the width, colour only when asked.

mod account;
mod page;
mod parts;
mod timeline;

pub use page::TerminalStyle;

use crate::view::{AccountView, TimelineView};

/// A fleet's account as a terminal page.
pub fn account(view: &AccountView, style: TerminalStyle) -> String {
    account::render(view, style)
}

/// One job's account as a terminal page.
pub fn timeline(view: &TimelineView, style: TerminalStyle) -> String {
    timeline::render(view, style)
}
