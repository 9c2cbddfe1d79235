//! Font of the figures, which is bundled with the program.

use std::sync::OnceLock;

use plotters::style::{FontDesc, FontFamily, FontStyle, register_font};

use super::theme::FONT;
use crate::error::DrawError;

/// Subset of DejaVu Sans 2.37 with the characters that reports use. `assets/README.md` has the command that makes it.
pub const BYTES: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");

/// Returns the font at a plotters font size, which [`svg_size`] or [`bitmap_size`] computes.
pub fn at_size(size: f64) -> FontDesc<'static> {
    static REGISTERED: OnceLock<()> = OnceLock::new();
    REGISTERED.get_or_init(|| {
        // Registration can only fail for bytes that are not a font; drawing would then report a missing font.
        let _ = register_font(FONT, FontStyle::Normal, BYTES);
    });
    FontDesc::new(FontFamily::Name(FONT), size, FontStyle::Normal)
}

/// Returns the font size with which plotters' SVG backend draws an em of `em` pixels.
pub fn svg_size(em: f64) -> f64 {
    em * 1.24
}

/// Returns the font size with which plotters' bitmap backend draws an em of `em` pixels: it counts the height from the
/// descender, at 0.236 em, to the ascender, at 0.928 em.
pub fn bitmap_size(em: f64) -> f64 {
    em * 1.164
}

/// Returns the width of `text` in pixels at an em of `em` pixels.
pub fn width(text: &str, em: f64) -> Result<f64, DrawError> {
    // The text is measured at a larger size, because plotters returns whole pixels.
    const ENLARGED: f64 = 32.0;
    let ((left, _), (right, _)) = at_size(bitmap_size(em) * ENLARGED)
        .layout_box(text)
        .map_err(DrawError::new)?;
    Ok(f64::from(right - left) / ENLARGED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_the_signs_that_figures_use() {
        let missing = width("\u{e000}", 10.0).unwrap();
        for sign in "·×–−≤µ÷→…Δ±".chars() {
            let with = width(&sign.to_string(), 10.0).unwrap();
            assert!(with > 0.0 && (with - missing).abs() > 1e-9, "{sign}");
        }
    }

    #[test]
    fn width_grows_with_text_and_size() {
        let narrow = width("dc1", 10.0).unwrap();
        assert!(width("dc1-dc4", 10.0).unwrap() > narrow);
        let double = width("dc1", 20.0).unwrap();
        assert!((double - 2.0 * narrow).abs() < 0.2);
    }
}
