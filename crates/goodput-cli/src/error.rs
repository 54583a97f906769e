//! Errors as a person reads them: what is wrong, where, and what to do.

use std::fmt;
use std::path::Path;

use goodput_records::ReadError;
use goodput_verbs::VerbError;
use miette::{Diagnostic, GraphicalReportHandler};

/// An error that ends the command with status 2.
#[derive(Debug)]
pub struct CliError {
    message: String,
    remedy: Option<String>,
}

impl CliError {
    /// What is wrong.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: None }
    }

    /// What to do about it.
    pub fn help(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// A file that the system refuses.
    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::new(format!("{}: {error}", path.display()))
    }

    /// Prints it to standard error.
    pub fn print(&self) {
        let mut text = String::new();
        // A remedy is often a command to copy: the terminal may wrap it, line breaks would spoil it.
        let handler = GraphicalReportHandler::new().with_wrap_lines(false);
        if handler.render_report(&mut text, self).is_err() {
            text = self.to_string();
        }
        anstream::eprintln!("{}", text.trim_end());
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CliError {}

impl Diagnostic for CliError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.remedy.as_ref().map(|remedy| Box::new(remedy) as Box<dyn fmt::Display>)
    }
}

impl From<ReadError> for CliError {
    fn from(error: ReadError) -> Self {
        VerbError::from(error).into()
    }
}

impl From<VerbError> for CliError {
    fn from(error: VerbError) -> Self {
        Self { message: error.to_string(), remedy: error.remedy().map(str::to_owned) }
    }
}
