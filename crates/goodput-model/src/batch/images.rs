//! Images and videos as grids of patches.

use super::{Batch, BatchError, Count, MOST};
use crate::operations::Unit;

/// Patches of one image or video: frames (after temporal patching), rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Frames; 1 for an image.
    pub frames: u64,
    /// Patches down.
    pub height: u64,
    /// Patches across.
    pub width: u64,
}

impl Grid {
    /// One image.
    pub const fn image(height: u64, width: u64) -> Self {
        Self { frames: 1, height, width }
    }

    const fn frame(self) -> u128 {
        self.height as u128 * self.width as u128
    }

    /// Pairs inside windows of `cells` x `cells` merged cells of `side` x `side` patches, over the
    /// grid of merged cells from the top left; windows at the edge are smaller.
    fn window_pairs(self, cells: u64, side: u64) -> u128 {
        // A window of r x c cells has (side² r c)² pairs, so the sum over windows is a product.
        let squares = |length: u64| {
            let (full, rest) = (length / cells, length % cells);
            u128::from(full) * u128::from(cells).pow(2) + u128::from(rest).pow(2)
        };
        u128::from(side).pow(4) * squares(self.height / side) * squares(self.width / side)
    }
}

impl Batch {
    /// The same batch with the images and videos that a vision tower reads.
    ///
    /// # Errors
    /// [`BatchError::EmptyImage`], [`BatchError::TooLarge`].
    pub fn with_images(mut self, images: &[Grid]) -> Result<Self, BatchError> {
        for (index, &grid) in images.iter().enumerate() {
            if grid.frames == 0 || grid.frame() == 0 {
                return Err(BatchError::EmptyImage { index });
            }
            let frame = grid.height.checked_mul(grid.width);
            let patches = frame.and_then(|frame| frame.checked_mul(grid.frames));
            let patches = patches.and_then(|patches| patches.checked_add(self.patches));
            match patches {
                Some(patches) if patches <= MOST => self.patches = patches,
                _ => return Err(BatchError::TooLarge { field: "images", most: MOST }),
            }
            match self.images.last_mut() {
                Some((count, last)) if *last == grid => *count += 1,
                _ => self.images.push((1, grid)),
            }
        }
        Ok(self)
    }

    /// Patches of all images.
    pub const fn patches(&self) -> u64 {
        self.patches
    }

    /// # Errors
    /// [`BatchError::Grid`] names an image that cells of `side` x `side` patches do not tile.
    pub(crate) fn check_grids(&self, side: u64) -> Result<(), BatchError> {
        let untiled =
            |&(_, grid): &(u64, Grid)| !grid.height.is_multiple_of(side) || !grid.width.is_multiple_of(side);
        match self.images.iter().position(untiled) {
            Some(index) => {
                let Grid { height, width, .. } = self.images[index].1;
                Err(BatchError::Grid { index, height, width, side })
            }
            None => Ok(()),
        }
    }

    pub(super) fn count_images(&self, unit: Unit) -> Count {
        let frame = |grid: Grid| -> u128 {
            match unit {
                Unit::Patches => grid.frame(),
                Unit::PatchTokens { class_tokens } => grid.frame() + u128::from(class_tokens),
                Unit::Frames => 1,
                Unit::FramePairs { class_tokens } => (grid.frame() + u128::from(class_tokens)).pow(2),
                Unit::WindowPairs { cells, side } => grid.window_pairs(cells, side),
                Unit::Cells { side } => grid.frame() / u128::from(side).pow(2),
                _ => 0,
            }
        };
        let images = self.images.iter();
        let total =
            images.map(|&(count, grid)| u128::from(count) * u128::from(grid.frames) * frame(grid)).sum();
        Count { useful: total, executed: total }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn window_pairs_are_those_inside_the_same_window(
            rows in 1_u64..7, columns in 1_u64..7, cells in 1_u64..5, side in 1_u64..3,
        ) {
            let grid = Grid::image(rows * side, columns * side);
            let window = cells * side;
            let patches: Vec<_> =
                (0..grid.height).flat_map(|y| (0..grid.width).map(move |x| (y / window, x / window))).collect();
            let pairs = patches.iter().map(|a| patches.iter().filter(|b| a == *b).count() as u128).sum::<u128>();
            prop_assert_eq!(grid.window_pairs(cells, side), pairs);
        }
    }
}
