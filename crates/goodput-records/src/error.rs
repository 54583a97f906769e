//! Errors that stop a reader: nothing in the file can be used, or using it would mean guessing.

/// Why a file cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("{path}: {source}")]
    Io {
        /// The file as the user named it.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file is not what it should be, or a required answer is missing.
    #[error("{path}{}: {message}", place(*line, field))]
    Format {
        /// The file as the user named it.
        path: String,
        /// One-based line; zero for the whole file.
        line: u32,
        /// Field, empty for the whole row.
        field: String,
        /// What was seen and what was expected.
        message: String,
        /// What to do.
        remedy: String,
    },
}

fn place(line: u32, field: &str) -> String {
    let line = if line == 0 { String::new() } else { format!(":{line}") };
    if field.is_empty() { line } else { format!("{line}, field {field}") }
}

impl ReadError {
    /// What to do about it, when the reader knows.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Self::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::UnexpectedEof
                | std::io::ErrorKind::InvalidData
                | std::io::ErrorKind::InvalidInput => {
                    Some("the compressed file is damaged or was cut off: copy it again once it is complete")
                }
                _ => None,
            },
            Self::Format { remedy, .. } => Some(remedy),
        }
    }
}
