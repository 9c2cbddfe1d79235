//! Cells of a grid, by number.

use lab_scenario::{Axis, limits};

/// Grid of cells: every scenario with every combination of the axes' values. The last axis changes fastest.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    scenarios: usize,
    axes: &'a [Axis],
}

/// Error of a grid with more than [`limits::MAX_CELLS`] cells.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "the sweep has {scenarios}{axes} = {cells} cells; the maximum is {} (hint: fewer values on an axis)",
    limits::MAX_CELLS
)]
pub struct TooManyCells {
    scenarios: usize,
    axes: String,
    cells: u128,
}

/// Path of the axis whose values are draws of one point.
const DRAWS: &str = "seed";

impl<'a> Grid<'a> {
    /// Creates the grid of `scenarios` scenarios and of `axes`.
    ///
    /// # Errors
    /// If it has too many cells.
    pub fn new(scenarios: usize, axes: &'a [Axis]) -> Result<Self, TooManyCells> {
        let lengths = axes.iter().map(|axis| axis.values.len() as u128);
        let cells = lengths.fold(scenarios as u128, u128::saturating_mul);
        if cells > u128::from(limits::MAX_CELLS) {
            let lengths = axes.iter().map(|axis| axis.values.len());
            return Err(TooManyCells {
                scenarios,
                axes: lengths.map(|length| format!(" × {length}")).collect(),
                cells,
            });
        }
        Ok(Self { scenarios, axes })
    }

    /// Returns the number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        let lengths = self.axes.iter().map(|axis| axis.values.len());
        lengths.fold(self.scenarios, |product, length| product * length)
    }

    /// Returns true if the grid has no cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the scenario's position, followed by the position of each axis's value, in the cell with this number.
    ///
    /// # Panics
    /// Panics if the grid has no such cell.
    #[must_use]
    pub fn positions(&self, cell: usize) -> Vec<usize> {
        assert!(cell < self.len(), "the grid has {} cells", self.len());
        let mut rest = cell;
        let mut positions = vec![0; self.axes.len() + 1];
        for (position, axis) in positions[1..].iter_mut().zip(self.axes).rev() {
            *position = rest % axis.values.len();
            rest /= axis.values.len();
        }
        positions[0] = rest;
        positions
    }

    /// Returns the scenario's position in a cell, followed by that of each axis in [`Self::point_axes`]: cells with the
    /// same ones are draws of one point.
    #[must_use]
    pub fn point(&self, cell: usize) -> Vec<usize> {
        let positions = self.positions(cell);
        let axes = self.axes.iter().zip(&positions[1..]);
        let kept = axes.filter(|(axis, _)| separates(axis));
        std::iter::once(positions[0])
            .chain(kept.map(|(_, at)| *at))
            .collect()
    }

    /// Returns the axes that tell points apart.
    pub fn point_axes(&self) -> impl Iterator<Item = &'a Axis> {
        self.axes.iter().filter(|axis| separates(axis))
    }
}

/// Returns true if different values of `axis` make different points.
fn separates(axis: &Axis) -> bool {
    axis.values.len() > 1 && axis.path.to_string() != DRAWS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(texts: &[&str]) -> Vec<Axis> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_last_axis_changes_fastest_and_the_scenario_slowest() {
        let axes = axes(&["load=0.3,0.5,0.8", "seed=1..2"]);
        let grid = Grid::new(2, &axes).unwrap();
        assert_eq!(grid.len(), 12);
        let positions: Vec<_> = [0, 1, 2, 5, 6, 11].map(|cell| grid.positions(cell)).into();
        let expected = [
            [0, 0, 0],
            [0, 0, 1],
            [0, 1, 0],
            [0, 2, 1],
            [1, 0, 0],
            [1, 2, 1],
        ];
        assert_eq!(positions, expected);
    }

    #[test]
    fn cells_of_one_point_differ_in_the_seed_alone() {
        let axes = axes(&["seed=1..3", "repetitions=1", "load=0.3,0.8"]);
        let grid = Grid::new(1, &axes).unwrap();
        let points: Vec<_> = (0..6).map(|cell| grid.point(cell)).collect();
        let expected = [[0, 0], [0, 1], [0, 0], [0, 1], [0, 0], [0, 1]];
        assert_eq!(points, expected);
        let paths: Vec<_> = grid
            .point_axes()
            .map(|axis| axis.path.to_string())
            .collect();
        assert_eq!(paths, ["load"]);
    }

    #[test]
    fn a_grid_that_is_too_large_is_refused_with_its_count() {
        let axes = axes(&["a=1..1000", "b=1..1000", "c=1..1000"]);
        let error = Grid::new(1, &axes).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "the sweep has 1 × 1000 × 1000 × 1000 = 1000000000 cells; the maximum is 1000000"
            ),
            "{error}"
        );
        assert_eq!(Grid::new(1, &axes[..2]).unwrap().len(), 1_000_000);
    }

    #[test]
    fn a_grid_without_axes_has_a_cell_for_each_scenario() {
        let grid = Grid::new(3, &[]).unwrap();
        assert_eq!((grid.len(), grid.positions(2)), (3, vec![2]));
    }
}
