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

impl Default for Estimate {
    fn default() -> Self {
        Self::NOTHING
    }
}

impl Estimate {
    /// No time at all.
    pub const NOTHING: Self = Self { ns: 0.0, deviation: 0.0, basis: Basis::UserTable };

    /// One after the other. Deviations are taken as of one cause, so that they add up; the basis is the weaker one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let ns = self.ns + other.ns;
        let spread = self.ns * self.deviation + other.ns * other.deviation;
        let deviation = if ns > 0.0 { spread / ns } else { 0.0 };
        Self { ns, deviation, basis: self.basis.max(other.basis) }
    }

    /// So many times the same.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self { ns: self.ns * count, ..self }
    }
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
