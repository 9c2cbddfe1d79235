//! Marks of faults on time axes.

use plotters::{
    prelude::DrawingBackend,
    style::text_anchor::{HPos, VPos},
};
use serde::Serialize;

use super::{
    canvas::{Canvas, Drawn, Lettering, Point},
    legend::{Entry, Key},
    theme::{INK, SMALL},
};

/// Mark of one or several faults at the same time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultMark {
    /// Time of the fault from the start of the repetition, seconds.
    pub at: f64,
    /// Changes and their time, such as `dc1-dc6 cut at 20 ms`.
    pub label: String,
}

/// Returns the legend entries of the faults.
pub fn entries(faults: &[FaultMark]) -> impl Iterator<Item = Entry> + '_ {
    let entry = |(number, fault): (u32, &FaultMark)| {
        Entry::new(INK, Key::Dashed, format!("{number}: {}", fault.label))
    };
    (1..).zip(faults).map(entry)
}

/// Draws a numbered line for each fault. `ends` maps the time of a fault to the two end points of its line; `None` for
/// a time outside the axis.
pub fn draw<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    faults: &[FaultMark],
    ends: impl Fn(f64) -> Option<[Point; 2]>,
) -> Drawn {
    for (number, fault) in (1u32..).zip(faults) {
        if let Some([top, bottom]) = ends(fault.at) {
            canvas.dashes(top, bottom, INK, 1.0)?;
            let lettering = Lettering::new(SMALL, INK, HPos::Left, VPos::Top);
            canvas.text(&number.to_string(), (top.0 + 3.0, top.1 + 1.0), lettering)?;
        }
    }
    Ok(())
}
