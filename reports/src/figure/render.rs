//! Figures as SVG and PNG.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{PreEscaped, html};
use plotters::{
    backend::{BitMapBackend, SVGBackend},
    drawing::IntoDrawingArea,
    prelude::DrawingBackend,
    style::text_anchor::{HPos, VPos},
};

use super::{
    canvas::{Canvas, Drawn, Grain, Lettering},
    font,
    theme::{FONT, MUTED, PAPER, TEXT, WIDTH},
};
use crate::error::{DrawError, ReportError};

/// A figure.
pub trait Figure {
    /// Name of the figure's files.
    const NAME: &'static str;

    /// Returns the reason why there is nothing to draw, for the reader of the report.
    fn missing(&self) -> Option<String>;

    /// Returns the height; every figure is [`WIDTH`] wide.
    fn height(&self) -> f64;

    /// Draws the figure.
    ///
    /// # Errors
    /// If the backend fails.
    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn;
}

/// A drawn figure.
#[derive(Clone, Debug)]
pub struct Image {
    /// Name of the figure's files.
    pub name: &'static str,
    /// Contents of the `<svg>` element.
    body: String,
    height: f64,
}

/// Draws `figure` as SVG, and as PNG into `figures_dir`.
pub fn render<F: Figure>(figure: &F, figures_dir: &Path) -> Result<Image, ReportError> {
    let name = F::NAME;
    let failed = |source| ReportError::Draw {
        figure: name,
        source,
    };
    let height = match figure.missing() {
        Some(_) => EMPTY_HEIGHT,
        None => figure.height(),
    };
    let mut svg = String::new();
    let backend = SVGBackend::with_string(&mut svg, pixels(height, SVG));
    draw_on(backend, figure, SVG).map_err(failed)?;
    let png = figures_dir.join(format!("{name}.png"));
    let backend = BitMapBackend::new(&png, pixels(height, PNG));
    draw_on(backend, figure, PNG).map_err(failed)?;
    Ok(Image {
        name,
        body: body_of(&svg).to_owned(),
        height,
    })
}

fn draw_on<DB: DrawingBackend, F: Figure>(backend: DB, figure: &F, grain: Grain) -> Drawn {
    let picture = backend.into_drawing_area();
    picture.fill(&PAPER)?;
    let margin = grain.px(MARGIN);
    let area = picture.margin(margin, margin, margin, margin);
    let canvas = Canvas::new(&area, grain);
    match figure.missing() {
        None => figure.draw(&canvas)?,
        Some(reason) => {
            let lettering = Lettering::new(TEXT, MUTED, HPos::Center, VPos::Center);
            canvas.text(&reason, (WIDTH / 2.0, EMPTY_HEIGHT / 2.0), lettering)?;
        }
    }
    picture.present().map_err(DrawError::from)
}

impl Image {
    /// Returns the figure for a page that has the font, without margin; `label` is its text for
    /// screen readers.
    pub fn inline(&self, label: &str) -> PreEscaped<String> {
        let margin = SVG.px(MARGIN);
        let (width, height) = (SVG.px(WIDTH), SVG.px(self.height));
        let view = format!("{margin} {margin} {width} {height}");
        html! {
            svg role="img" aria-label=(label) viewBox=(view) width=(WIDTH) height=(self.height) {
                (PreEscaped(&self.body))
            }
        }
    }

    /// Returns the figure as a separate file, with the font in it.
    pub fn standalone(&self, label: &str) -> String {
        let (width, height) = (WIDTH + 2.0 * MARGIN, self.height + 2.0 * MARGIN);
        let view = format!("0 0 {} {}", SVG.px(width), SVG.px(height));
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(label)
                viewBox=(view) width=(width) height=(height) {
                style { (PreEscaped(font_face())) }
                (PreEscaped(&self.body))
            }
        };
        svg.into_string() + "\n"
    }
}

/// Returns the style sheet with the bundled font.
pub fn font_face() -> String {
    let font = STANDARD.encode(font::BYTES);
    format!(
        "@font-face{{font-family:\"{FONT}\";src:url(data:font/ttf;base64,{font})}}text{{font-family:\"{FONT}\",sans-serif}}"
    )
}

/// Returns the contents of the `<svg>` element.
fn body_of(svg: &str) -> &str {
    let start = svg.find('>').map_or(0, |end| end + 1);
    let end = svg.rfind("</svg>").unwrap_or(svg.len());
    svg[start..end].trim()
}

/// Returns width and height of a picture, margins included.
fn pixels(height: f64, grain: Grain) -> (u32, u32) {
    let pixels = |length: f64| u32::try_from(grain.px(length + 2.0 * MARGIN)).unwrap_or(0);
    (pixels(WIDTH), pixels(height))
}

/// Scale of SVG: coordinates are tenths of a pixel.
const SVG: Grain = Grain {
    fineness: 10.0,
    font_size: font::svg_size,
    text_lift: 0.0,
};

/// Scale of PNG: twice the resolution of a plain screen. plotters puts the baseline of centred text
/// 0.113 em under the centre, which is 0.16 em too little for lower-case letters 0.547 em high.
const PNG: Grain = Grain {
    fineness: 2.0,
    font_size: font::bitmap_size,
    text_lift: 0.16,
};

const EMPTY_HEIGHT: f64 = 120.0;

/// Margin of a picture in a separate file.
const MARGIN: f64 = 12.0;
