//! Rendering of figures as SVG and PNG.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use lab_records::draft;
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
use crate::error::{DrawError, ReportError, write_failed};

/// Figure that can be drawn with any plotters backend.
pub trait Figure {
    /// Returns the name of the figure's files, without extension.
    fn name(&self) -> &'static str;

    /// Returns the reason, as text for the report, why there is nothing to draw; `None` if the figure can be drawn.
    fn missing(&self) -> Option<String>;

    /// Returns the height in logical pixels; the width is always [`WIDTH`].
    fn height(&self) -> f64;

    /// Draws the figure.
    ///
    /// # Errors
    /// If the plotters backend fails.
    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn;

    /// Returns the numbers that the figure shows, as CSV.
    fn numbers(&self) -> String;

    /// Returns the figure in parts between which a printed page may break; empty if it must stay on one page.
    fn parts(&self) -> Vec<Self>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

/// Figure that has been drawn as SVG.
#[derive(Clone, Debug)]
pub struct Image {
    /// Name of the figure's files.
    pub name: &'static str,
    /// Numbers that the figure shows, as CSV.
    pub numbers: String,
    whole: Part,
    /// Drawn parts between which a printed page may break; empty if the figure must stay on one page.
    parts: Vec<Part>,
}

/// Drawn part of a figure.
#[derive(Clone, Debug)]
struct Part {
    /// Contents of the `<svg>` element.
    body: String,
    height: f64,
}

/// Draws `figure` as SVG, and also writes it as PNG into `figures_dir`.
pub fn render<F: Figure>(figure: &F, figures_dir: &Path) -> Result<Image, ReportError> {
    let name = figure.name();
    let failed = |source| ReportError::Draw {
        figure: name,
        source,
    };
    let png = figures_dir.join(format!("{name}.png"));
    let image = png_of(figure).map_err(failed)?;
    draft::replace(&png, &image).map_err(write_failed(&png))?;
    let is_empty = figure.missing().is_some();
    let figures = if is_empty { Vec::new() } else { figure.parts() };
    let parts = figures.iter().map(|part| svg_of(part).map_err(failed));
    Ok(Image {
        name,
        numbers: figure.numbers(),
        whole: svg_of(figure).map_err(failed)?,
        parts: parts.collect::<Result<_, _>>()?,
    })
}

fn png_of<F: Figure>(figure: &F) -> Result<Vec<u8>, DrawError> {
    let (width, height) = pixels(height_of(figure), PNG);
    let size = usize::try_from(3 * u64::from(width) * u64::from(height)).map_err(DrawError::new)?;
    let mut rgb = vec![0; size];
    let backend = BitMapBackend::with_buffer(&mut rgb, (width, height));
    draw_on(backend, figure, PNG)?;
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().map_err(DrawError::new)?;
    writer.write_image_data(&rgb).map_err(DrawError::new)?;
    writer.finish().map_err(DrawError::new)?;
    Ok(png)
}

fn svg_of<F: Figure>(figure: &F) -> Result<Part, DrawError> {
    let height = height_of(figure);
    let mut svg = String::new();
    draw_on(
        SVGBackend::with_string(&mut svg, pixels(height, SVG)),
        figure,
        SVG,
    )?;
    let body = body_of(&svg).to_owned();
    Ok(Part { body, height })
}

fn height_of<F: Figure>(figure: &F) -> f64 {
    match figure.missing() {
        Some(_) => EMPTY_HEIGHT,
        None => figure.height(),
    }
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
    /// Returns the figure as inline SVG without margin, for a page that contains the font. `label` is read by screen
    /// readers.
    pub fn inline(&self, label: &str) -> PreEscaped<String> {
        let parts = match self.parts.as_slice() {
            [] => std::slice::from_ref(&self.whole),
            parts => parts,
        };
        let margin = SVG.px(MARGIN);
        html! {
            @for (index, part) in parts.iter().enumerate() {
                @let (width, height) = (SVG.px(WIDTH), SVG.px(part.height));
                @let label = match index {
                    0 => label.to_owned(),
                    _ => format!("{label}, part {}", index + 1),
                };
                svg role="img" aria-label=(label) viewBox=(format!("{margin} {margin} {width} {height}"))
                    width=(WIDTH) height=(part.height) {
                    (PreEscaped(&part.body))
                }
            }
        }
    }

    /// Returns the figure as an SVG file that contains the font.
    pub fn standalone(&self, label: &str) -> String {
        let width = WIDTH + 2.0 * MARGIN;
        let height = self.whole.height + 2.0 * MARGIN;
        let view = format!("0 0 {} {}", SVG.px(width), SVG.px(height));
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(label)
                viewBox=(view) width=(width) height=(height) {
                style { (PreEscaped(font_face())) }
                (PreEscaped(&self.whole.body))
            }
        };
        svg.into_string() + "\n"
    }
}

/// Returns a style sheet that contains the bundled font.
pub fn font_face() -> String {
    let font = STANDARD.encode(font::BYTES);
    format!(
        "@font-face{{font-family:\"{FONT}\";src:url(data:font/ttf;base64,{font})}}text{{font-family:\"{FONT}\",sans-serif}}"
    )
}

/// Returns the contents of the `<svg>` element in an SVG document.
fn body_of(svg: &str) -> &str {
    let start = svg.find('>').map_or(0, |end| end + 1);
    let end = svg.rfind("</svg>").unwrap_or(svg.len());
    svg[start..end].trim()
}

/// Returns width and height of a picture with its margins, in the backend's pixels.
fn pixels(height: f64, grain: Grain) -> (u32, u32) {
    let pixels = |length: f64| u32::try_from(grain.px(length + 2.0 * MARGIN)).unwrap_or(0);
    (pixels(WIDTH), pixels(height))
}

/// Resolution of SVG files: coordinates are in tenths of a logical pixel.
const SVG: Grain = Grain {
    fineness: 10.0,
    font_size: font::svg_size,
    text_lift: 0.0,
};

/// Resolution of PNG files: twice that of a standard screen. plotters puts the baseline of centred text 0.113 em below
/// the centre, which is 0.16 em too high for lower-case letters, whose height is 0.547 em.
const PNG: Grain = Grain {
    fineness: 2.0,
    font_size: font::bitmap_size,
    text_lift: 0.16,
};

const EMPTY_HEIGHT: f64 = 120.0;

/// Margin of a picture in a file of its own, logical pixels.
const MARGIN: f64 = 12.0;
