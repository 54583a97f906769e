//! A quantity measured at the nodes of a regular grid, linear between them in the logarithm of every coordinate.

/// Values over `D` axes. A node without a measurement is filled from its neighbours when the grid is made.
#[derive(Debug, Clone)]
pub(super) struct Grid<const D: usize> {
    /// log2 of the coordinates along each axis, ascending.
    axes: [Vec<f64>; D],
    /// The last axis fastest.
    values: Vec<f32>,
    measured: Vec<bool>,
}

/// A value between nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    pub value: f64,
    /// The point lies within the axes, and every node that it was read from was measured.
    pub inside: bool,
}

impl<const D: usize> Grid<D> {
    /// A grid from its axes and the values that are known. None if the number of values does not fit the axes, or
    /// no value is known.
    pub fn new(axes: &[Vec<u64>], values: &[Option<f64>]) -> Option<Self> {
        let axes: Vec<Vec<f64>> =
            axes.iter().map(|axis| axis.iter().map(|at| (*at as f64).log2()).collect()).collect();
        let axes: [Vec<f64>; D] = axes.try_into().ok()?;
        if axes.iter().map(Vec::len).product::<usize>() != values.len() || values.iter().all(Option::is_none)
        {
            return None;
        }
        let mut known = values.to_vec();
        while known.iter().any(Option::is_none) {
            known = fill_once(&axes, &known);
        }
        Some(Self {
            axes,
            values: known.iter().map(|value| value.unwrap_or_default() as f32).collect(),
            measured: values.iter().map(Option::is_some).collect(),
        })
    }

    /// The value at a point, given as log2 of its coordinates. Beyond an axis' end the value at its end.
    pub fn read(&self, log2_at: [f64; D]) -> Reading {
        let mut inside = true;
        // The node at or below the point, the distance to the next node along each axis, and how far the point is on
        // the way there.
        let mut base = 0;
        let mut stride = [0usize; D];
        let mut share = [0f64; D];
        let mut size = 1;
        for axis in (0..D).rev() {
            let nodes = &self.axes[axis];
            let at = log2_at[axis].clamp(nodes[0], nodes[nodes.len() - 1]);
            inside &= at == log2_at[axis];
            if nodes.len() > 1 {
                let lower = nodes.partition_point(|node| *node <= at).clamp(1, nodes.len() - 1) - 1;
                share[axis] = (at - nodes[lower]) / (nodes[lower + 1] - nodes[lower]);
                base += lower * size;
                stride[axis] = size;
            }
            size *= nodes.len();
        }
        let mut value = 0.0;
        for corner in 0..1usize << D {
            let (mut weight, mut index) = (1.0, base);
            for axis in 0..D {
                let upper = corner >> axis & 1;
                weight *= if upper == 1 { share[axis] } else { 1.0 - share[axis] };
                index += upper * stride[axis];
            }
            value += weight * f64::from(self.values[index]);
            inside &= weight == 0.0 || self.measured[index];
        }
        Reading { value, inside }
    }
}

/// Fills what lies in line with known nodes: the mean over axes of the line between the nearest known node below and
/// the nearest above; where no axis has both, the mean of the nearest ones.
fn fill_once<const D: usize>(axes: &[Vec<f64>; D], known: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut filled = known.to_vec();
    for (index, value) in filled.iter_mut().enumerate().filter(|(_, value)| value.is_none()) {
        let (mut between, mut beside) = (Mean::default(), Mean::default());
        let mut stride = 1;
        for nodes in axes.iter().rev() {
            let at = index / stride % nodes.len();
            let node =
                |other: usize| known[index + other * stride - at * stride].map(|value| (nodes[other], value));
            match ((0..at).rev().find_map(node), (at + 1..nodes.len()).find_map(node)) {
                (Some((low, below)), Some((high, above))) => {
                    between.add(below + (above - below) * (nodes[at] - low) / (high - low));
                }
                (Some((_, near)), None) | (None, Some((_, near))) => beside.add(near),
                (None, None) => {}
            }
            stride *= nodes.len();
        }
        *value = between.value().or_else(|| beside.value());
    }
    filled
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn value(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn plane(hole: Option<usize>) -> Grid<2> {
        // log2 x + 10 log2 y over x = 1, 2, 8 and y = 1, 4.
        let mut values: Vec<_> = [0.0, 20.0, 1.0, 21.0, 3.0, 23.0].map(Some).to_vec();
        if let Some(hole) = hole {
            values[hole] = None;
        }
        Grid::new(&[vec![1, 2, 8], vec![1, 4]], &values).unwrap()
    }

    #[test]
    fn is_exact_on_nodes_and_linear_in_logarithms_between() {
        assert_eq!(plane(None).read([1.0, 2.0]), Reading { value: 21.0, inside: true });
        assert_eq!(plane(None).read([2.0, 1.0]), Reading { value: 12.0, inside: true });
    }

    #[test]
    fn stays_at_the_end_value_beyond_an_axis_and_says_so() {
        assert_eq!(plane(None).read([5.0, 2.0]), Reading { value: 23.0, inside: false });
    }

    #[test]
    fn fills_a_hole_from_its_line_and_says_so() {
        // Along x the hole lies between 20 and 23; along y it has one neighbour, which a line outweighs.
        assert_eq!(plane(Some(3)).read([1.0, 2.0]), Reading { value: 21.0, inside: false });
        assert_eq!(plane(Some(3)).read([1.0, 0.0]), Reading { value: 1.0, inside: true });
    }

    #[test]
    fn refuses_values_that_do_not_fit_and_grids_without_any() {
        assert!(Grid::<1>::new(&[vec![1, 2]], &[Some(1.0)]).is_none());
        assert!(Grid::<1>::new(&[vec![1, 2]], &[None, None]).is_none());
    }
}
