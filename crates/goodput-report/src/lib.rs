//! Views of the accounting, and their renderers. A view is one verb's answer as plain data; a renderer
//! shows a view and knows nothing of how it was found.
//!
//! | renderer | for |
//! |---|---|
//! | [`terminal`] | people at a prompt |
//! | [`html`] | people: one page that works offline |
//! | [`json`] | programs: the view as it stands, with a schema in `schemas/` |
//! | [`markdown`] | people: a pull request or a job summary |
//! | [`openmetrics`] | monitoring systems |
//!
//! ```no_run
//! use goodput_core::{fleet::FleetAccount, records::FleetRecords};
//! use goodput_records::ReadReport;
//! use goodput_report::{AccountView, Format, Price, RenderError, ViewSettings, terminal::TerminalStyle};
//!
//! fn page(account: &FleetAccount, records: &FleetRecords, read: &ReadReport) -> Result<String, RenderError> {
//!     let settings = ViewSettings { price: Price::new(2.0, "USD").ok(), ..ViewSettings::default() };
//!     let view = AccountView::new(account, records, read, &settings);
//!     view.render(Format::Html, TerminalStyle::default())
//! }
//! ```

pub mod html;
pub mod json;
pub mod markdown;
pub mod openmetrics;
pub mod terminal;

mod name;
mod number;
mod published;
mod render;
mod table;
mod view;
mod words;

pub use render::{Format, RenderError};
pub use view::*;
