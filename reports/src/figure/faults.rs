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
use crate::text;

/// Mark of one or several faults at the same time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultMark {
    /// Time of the fault from the start of the repetition, seconds.
    pub at: f64,
    /// Changes and their time, such as `dc1-dc6 cut at 20 ms`.
    pub label: String,
}

/// Returns the legend entries of the faults: one for each, or one for all if there are too many.
pub fn entries(faults: &[FaultMark]) -> Vec<Entry> {
    if faults.len() > MAX_NUMBERED {
        let all = format!("link changes ({} times)", text::number(faults.len() as u64));
        return vec![Entry::new(INK, Key::Dashed, all)];
    }
    let entry = |(number, fault): (u32, &FaultMark)| {
        Entry::new(INK, Key::Dashed, format!("{number}: {}", fault.label))
    };
    (1..).zip(faults).map(entry).collect()
}

/// Draws a line for each fault, numbered unless there are too many. `ends` maps the time of a fault to the two end points
/// of its line; `None` for a time outside the axis.
pub fn draw<DB: DrawingBackend>(
    canvas: &Canvas<'_, DB>,
    faults: &[FaultMark],
    ends: impl Fn(f64) -> Option<[Point; 2]>,
) -> Drawn {
    for (number, fault) in (1u32..).zip(faults) {
        if let Some([top, bottom]) = ends(fault.at) {
            canvas.dashes(top, bottom, INK, 1.0)?;
            if faults.len() > MAX_NUMBERED {
                continue;
            }
            let lettering = Lettering::new(SMALL, INK, HPos::Left, VPos::Top);
            canvas.text(&number.to_string(), (top.0 + 3.0, top.1 + 1.0), lettering)?;
        }
    }
    Ok(())
}

/// Maximum number of fault times with a number and a legend entry each.
const MAX_NUMBERED: usize = 16;
