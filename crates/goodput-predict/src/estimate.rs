//! A time and what it rests on.

/// A predicted duration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Nanoseconds.
    pub ns: f64,
    /// Relative standard deviation of one such figure: table noise, transfer to other software, extrapolation.
    pub deviation: f64,
    /// What it rests on.
    pub basis: Basis,
}

/// What an estimate rests on, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// Between points of a table that the user measured.
    UserTable,
    /// Between points of a shipped table.
    Table,
    /// Outside a table's range, or scaled from a table of another device or kernel.
    Extrapolated,
    /// From the device's peak and bandwidth alone.
    Analytic,
}
