//! What errors are broken down by.

use serde::Serialize;

use super::row::RunRow;

/// What errors are broken down by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Who measured.
    Source,
    /// The device.
    Device,
    /// Software and version.
    Software,
    /// Tensor degree.
    Tp,
    /// Pipeline degree.
    Pp,
    /// Data degree.
    Dp,
    /// Expert degree.
    Ep,
    /// Context degree.
    Cp,
    /// Parameters of the model, by powers of ten.
    Size,
    /// Format of the products.
    Format,
}

impl Dimension {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Source,
        Self::Device,
        Self::Software,
        Self::Tp,
        Self::Pp,
        Self::Dp,
        Self::Ep,
        Self::Cp,
        Self::Size,
        Self::Format,
    ];

    /// As in `--by` and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Device => "device",
            Self::Software => "software",
            Self::Tp => "tp",
            Self::Pp => "pp",
            Self::Dp => "dp",
            Self::Ep => "ep",
            Self::Cp => "cp",
            Self::Size => "size",
            Self::Format => "format",
        }
    }

    /// The dimension of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dimension| dimension.name() == name)
    }

    /// Where a group stands among others: degrees and sizes ascend, other groups keep the order of their names.
    #[must_use]
    pub fn place(self, group: &str) -> usize {
        let size = SIZES.iter().position(|(_, name)| *name == group);
        size.or_else(|| group.parse().ok()).unwrap_or(0)
    }

    /// Where a row falls.
    #[must_use]
    pub fn of(self, row: &RunRow) -> String {
        let layout = &row.run.layout;
        match self {
            Self::Source => row.source.clone(),
            Self::Device => row.device.clone(),
            Self::Software => row.software.clone(),
            Self::Tp => layout.tensor.to_string(),
            Self::Pp => layout.pipeline.to_string(),
            Self::Dp => layout.data.to_string(),
            Self::Ep => layout.expert.to_string(),
            Self::Cp => layout.context.to_string(),
            Self::Size => size(row).to_owned(),
            Self::Format => row.run.precision.products.name().to_owned(),
        }
    }
}

/// Sizes of models, by the parameters that they stay below.
const SIZES: [(u64, &str); 5] = [
    (1_000_000_000, "below 1B"),
    (10_000_000_000, "1B to 10B"),
    (100_000_000_000, "10B to 100B"),
    (1_000_000_000_000, "100B to 1T"),
    (u64::MAX, "1T and more"),
];

fn size(row: &RunRow) -> &'static str {
    let parameters = row.run.architecture.parameters().map_or(0, |parameters| parameters.total);
    SIZES.iter().find(|(limit, _)| parameters < (*limit).into()).map_or(SIZES[4].1, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_json() {
        for dimension in Dimension::ALL {
            assert_eq!(serde_json::to_value(dimension).unwrap(), dimension.name());
            assert_eq!(Dimension::named(dimension.name()), Some(dimension));
        }
        assert_eq!(Dimension::named("Tp"), None);
    }
}
