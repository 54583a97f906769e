//! The measured grids that come with this crate, read when a device first needs them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::Format;
use super::grid::Grid;
use super::packed::{PackedGrid, unpack};

macro_rules! files {
    ($($name:literal),*) => {
        /// Name of a grid, its products, its casts.
        const FILES: &[(&str, &[u8], &[u8])] = &[
            ("a100_sxm", include_bytes!("../../data/kernels/gemm/a100_sxm.bin.zst"), &[]),
            $((
                $name,
                include_bytes!(concat!("../../data/kernels/gemm/", $name, ".bin.zst")),
                include_bytes!(concat!("../../data/kernels/elementwise/", $name, ".bin.zst")),
            )),*
        ];
    };
}
files!("h100_sxm", "h200_sxm", "b200_sxm", "b300_sxm", "gb200", "gb300", "l40s");

/// Grids measured on one device, each made when it is first asked for.
#[derive(Debug, Default)]
pub(super) struct Shipped {
    products: Vec<(PackedGrid, OnceLock<Option<ProductGrid>>)>,
    /// log2 of the values per microsecond, over columns and rows.
    casts: BTreeMap<String, Grid<2>>,
}

impl Shipped {
    /// The grids of a name, unpacked on first use.
    pub fn named(name: &str) -> Option<&'static Self> {
        static READ: [OnceLock<Shipped>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];
        let at = FILES.iter().position(|(file, ..)| *file == name)?;
        // A test reads every file, so that an empty set is never seen.
        Some(READ[at].get_or_init(|| Self::read(FILES[at].1, FILES[at].2).unwrap_or_default()))
    }

    fn read(products: &[u8], casts: &[u8]) -> Option<Self> {
        let products = unpack(products)?.into_iter().map(|packed| (packed, OnceLock::new())).collect();
        let casts = if casts.is_empty() { Vec::new() } else { unpack(casts)? };
        let casts = casts.into_iter().filter_map(|packed| {
            let [columns, rows] = packed.axes.as_slice() else { return None };
            let sizes =
                columns.iter().flat_map(|columns| rows.iter().map(move |rows| (columns * rows) as f64));
            let rates = packed
                .log2_us()
                .zip(sizes)
                .map(|(log2_us, size)| log2_us.map(|log2_us| size.log2() - log2_us));
            Some((packed.name.clone(), Grid::new(&packed.axes, &rates.collect::<Vec<_>>())?))
        });
        Some(Self { products, casts: casts.collect() })
    }

    /// The products of a format.
    pub fn product(&self, format: Format) -> Option<&ProductGrid> {
        let name = format.grid()?;
        let (packed, grid) = self.products.iter().find(|(packed, _)| packed.name == name)?;
        grid.get_or_init(|| ProductGrid::new(packed)).as_ref()
    }

    /// Microseconds of a cast of rows x columns from bf16 to fp8, and whether the grid holds it. Beyond the grid its rate
    /// stays level.
    pub fn cast(&self, operation: &str, rows: u64, columns: u64) -> Option<(f64, bool)> {
        let grid = self.casts.get(operation)?;
        let [rows, columns] = [rows, columns].map(|length| (length as f64).log2());
        let rate = grid.read([columns, rows]);
        Some(((rows + columns - rate.value).exp2(), rate.inside))
    }
}

/// log2 of the FLOPs per microsecond of C[m,n] = A[m,k] B[n,k]^T, over n, k and m.
#[derive(Debug)]
pub(super) struct ProductGrid {
    pub rate: Grid<3>,
    /// Least m, n and k.
    pub least: [u64; 3],
}

impl ProductGrid {
    pub fn new(packed: &PackedGrid) -> Option<Self> {
        let (axes, mut rates) = merge_pairs(packed)?;
        cap_by_next(&mut rates, &axes[2]);
        let least = [axes[2][0], axes[0][0], axes[1][0]];
        Some(Self { rate: Grid::new(&axes, &rates)?, least })
    }
}

/// log2 of the FLOPs per microsecond where they are known.
type Rates = Vec<Option<f64>>;

/// Axes n, k and m, and their rates.
///
/// From m = 32 up products were measured at m and m + 1. Both are one point with the noise of two, and become it.
/// DeepGEMM is slower on odd m by more than noise: there m alone is kept, as a step's products have it.
fn merge_pairs(packed: &PackedGrid) -> Option<([Vec<u64>; 3], Rates)> {
    const FIRST_PAIR: u64 = 32;
    let [n, k, m] = packed.axes.as_slice() else { return None };
    let is_second = |at: usize| at > 0 && m[at] > FIRST_PAIR && m[at] == m[at - 1] + 1;
    let averages = packed.name != Format::Fp8Block.grid()?;
    let kept: Vec<usize> = (0..m.len()).filter(|at| !is_second(*at)).collect();
    let mut rates = Vec::with_capacity(n.len() * k.len() * kept.len());
    let times: Vec<_> = packed.log2_us().collect();
    for (line, times) in times.chunks(m.len()).enumerate() {
        let work = 2.0 * n[line / k.len()] as f64 * k[line % k.len()] as f64;
        let rate = |at: usize| times[at].map(|log2_us| (work * m[at] as f64).log2() - log2_us);
        for at in &kept {
            let second = (averages && at + 1 < m.len() && is_second(at + 1)).then(|| rate(at + 1)).flatten();
            rates.push(match (rate(*at), second) {
                (Some(one), Some(two)) => Some(f64::midpoint(one, two)),
                (one, two) => one.or(two),
            });
        }
    }
    let m: Vec<u64> = kept.into_iter().map(|at| m[at]).collect();
    Some(([n.clone(), k.clone(), m], rates))
}

/// How much longer fewer rows may take than more: switches between kernels do cost as much, in 0.1 % of H100's bf16.
const MOST_OVER_NEXT: f64 = 1.3;

/// Lifts rates at which m rows would take longer than [`MOST_OVER_NEXT`] of the next larger m. Some products were disturbed:
/// 1.6 % of H100's block-scaled fp8 took over twice as long as more rows, which a kernel could pad to.
fn cap_by_next(rates: &mut [Option<f64>], m: &[u64]) {
    for line in rates.chunks_mut(m.len()) {
        let mut next: Option<(f64, u64)> = None;
        for (rate, rows) in line.iter_mut().zip(m).rev() {
            let Some(rate) = rate else { continue };
            if let Some((above, more)) = next {
                *rate = rate.max(above - MOST_OVER_NEXT.log2() - (more as f64 / *rows as f64).log2());
            }
            next = Some((*rate, *rows));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_file_is_read() {
        for (name, products, casts) in FILES {
            let shipped = Shipped::read(products, casts).unwrap();
            assert!(shipped.product(Format::Bf16).is_some(), "{name}");
            assert_eq!(shipped.casts.len(), if *name == "a100_sxm" { 0 } else { 2 }, "{name}");
        }
    }

    /// Median and 90th percentile of |predicted / measured - 1| over points that interpolation did not see, of
    /// products of training size.
    fn held_out(name: &str, format: Format, is_out: impl Fn(u64) -> bool, whole_pairs: bool) -> (f64, f64) {
        let products = FILES.iter().find(|(file, ..)| *file == name).unwrap().1;
        let packed = unpack(products).unwrap();
        let packed = packed.iter().find(|grid| Some(grid.name.as_str()) == format.grid()).unwrap();
        let (axes, rates) = merge_pairs(packed).unwrap();
        let shape = |cell: usize| {
            let line = cell / axes[2].len();
            [axes[0][line / axes[1].len()], axes[1][line % axes[1].len()], axes[2][cell % axes[2].len()]]
        };
        let out = |cell: usize| {
            let [n, k, m] = shape(cell);
            let trains = n >= 512 && k >= 512 && m >= 1024;
            // A multiplicative hash: which fifth a point falls into has nothing to do with its shape.
            let seed = if whole_pairs { n * 65_599 + k } else { (n * 65_599 + k) * 65_599 + m };
            trains && is_out(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40)
        };
        let mut seen: Vec<_> =
            rates.iter().enumerate().map(|(cell, rate)| rate.filter(|_| !out(cell))).collect();
        cap_by_next(&mut seen, &axes[2]);
        let grid = Grid::<3>::new(&axes, &seen).unwrap();
        let mut errors: Vec<f64> = rates
            .iter()
            .enumerate()
            .filter(|(cell, _)| out(*cell))
            .filter_map(|(cell, rate)| {
                let predicted = grid.read(shape(cell).map(|length| (length as f64).log2())).value;
                rate.map(|rate| ((rate - predicted).exp2() - 1.0).abs())
            })
            .collect();
        assert!(errors.len() > 500, "{name}: {} points", errors.len());
        errors.sort_by(f64::total_cmp);
        (errors[errors.len() / 2] * 100.0, errors[errors.len() * 9 / 10] * 100.0)
    }

    #[test]
    fn interpolation_is_as_good_as_the_noise_of_the_grids() {
        let fifth = |hash: u64| hash.is_multiple_of(5);
        println!("| grid | format | points held out, median / p90 % | (n, k) pairs held out |");
        for (name, ..) in FILES {
            for format in [Format::Bf16, Format::Fp8, Format::Fp8Block, Format::Nvfp4] {
                if Shipped::named(name).unwrap().product(format).is_none() {
                    continue;
                }
                let (median, p90) = held_out(name, format, fifth, false);
                let (pair_median, pair_p90) = held_out(name, format, fifth, true);
                println!(
                    "| {name} | {} | {median:.1} / {p90:.1} | {pair_median:.1} / {pair_p90:.1} |",
                    format.name()
                );
                // What the reference's models reach; of the others only that nothing is out of order.
                let most = match (*name, format) {
                    ("h100_sxm", Format::Bf16) => 3.0,
                    ("a100_sxm", Format::Bf16) => 3.6,
                    ("b200_sxm", Format::Bf16) => 3.1,
                    ("h100_sxm", Format::Fp8Block) => 8.5,
                    _ => 10.0,
                };
                assert!(
                    median <= most && pair_median <= most,
                    "{name} {}: {median} {pair_median}",
                    format.name()
                );
            }
        }
    }

    #[test]
    fn fewer_rows_never_take_much_longer_than_more() {
        // 100 rows in 8 us against 200 in 2 us: 1.3 x 2 us are believed. 50 rows in 1 us stay.
        let rate = |rows: f64, us: f64| Some((rows / us).log2());
        let mut rates = [rate(50.0, 1.0), None, rate(100.0, 8.0), rate(200.0, 2.0)];
        cap_by_next(&mut rates, &[50, 70, 100, 200]);
        assert!((100.0 / rates[2].unwrap().exp2() - 2.6).abs() < 1e-12);
        assert_eq!([rates[0], rates[1], rates[3]], [rate(50.0, 1.0), None, rate(200.0, 2.0)]);
    }

    #[test]
    fn each_device_has_the_formats_that_were_measured_on_it() {
        let has = |name, format| Shipped::named(name).unwrap().product(format).is_some();
        assert!(!has("a100_sxm", Format::Fp8));
        assert!(has("h100_sxm", Format::Fp8Block) && !has("h100_sxm", Format::Nvfp4));
        assert!(has("b200_sxm", Format::Nvfp4));
        assert!(has("l40s", Format::Fp8) && !has("l40s", Format::Fp8Block));
    }
}
