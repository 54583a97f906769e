//! Views of the accounting, and their renderers. A view is one verb's answer as plain data; a renderer
//! shows a view and knows nothing of how it was found.
//!
//! | renderer | for |
//! |---|---|
//! | [`terminal`] | people at a prompt |
//! | [`json`] | programs: the view as it stands, with a schema in `schemas/` |
//! | [`openmetrics`] | monitoring systems |

pub mod json;
pub mod openmetrics;
pub mod terminal;

mod number;
mod view;

pub use view::*;
