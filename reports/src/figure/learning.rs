//! Scores during a training, beside the scores of other policies.

use plotters::{prelude::DrawingBackend, style::RGBColor};

use super::{
    axis::Axis,
    canvas::{Canvas, Drawn, Point},
    chart::Plot,
    legend::{Entry, Key, Legend},
    numbers::Numbers,
    render::Figure,
    theme::{Dash, WIDTH, policy_colors},
};

/// Figure `learning-curve`.
pub struct Learning {
    /// Label of the trained policy.
    pub policy: String,
    /// Steps and scores.
    pub curve: Vec<(f64, f64)>,
    /// Labels and scores of the other policies.
    pub levels: Vec<(String, f64)>,
}

impl Figure for Learning {
    fn name(&self) -> &'static str {
        "learning-curve"
    }

    fn missing(&self) -> Option<String> {
        self.curve.is_empty().then(|| "nothing was trained".into())
    }

    fn height(&self) -> f64 {
        430.0
    }

    fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Drawn {
        let mut labels = vec![self.policy.clone()];
        labels.extend(self.levels.iter().map(|(label, _)| label.clone()));
        let colors = policy_colors(&labels);
        let entry = |(index, (color, label)): (usize, (&RGBColor, String))| {
            let key = if index == 0 { Key::Line } else { Key::Dashed };
            Entry::new(*color, key, label)
        };
        let entries = colors.iter().zip(labels).enumerate().map(entry);
        let legend = Legend::new(entries.collect(), WIDTH)?;
        legend.draw(canvas, (0.0, 0.0))?;
        let scores = self.curve.iter().map(|(_, score)| *score);
        let levels = self.levels.iter().map(|(_, score)| *score);
        let end = self.curve.last().map_or(1.0, |(step, _)| *step);
        let top = legend.height();
        let plot = Plot {
            at: (0.0, top),
            size: (WIDTH, self.height() - top),
            x: Axis::until(end, 8),
            y: Axis::of_ratios(scores.chain(levels), 6),
            min_left: 0.0,
            x_title: "training steps",
            y_title: "largest utilisation ÷ optimum's (validation demands)",
        };
        let chart = plot.draw(canvas)?;
        let point = |x: f64, y: f64| canvas.logical(chart.backend_coord(&(x, y)));
        for ((_, score), color) in self.levels.iter().zip(&colors[1..]) {
            canvas.dashes(point(0.0, *score), point(end, *score), *color, 1.2)?;
        }
        let corners: Vec<Point> = self
            .curve
            .iter()
            .map(|&(step, score)| point(step, score))
            .collect();
        canvas.dashed(&corners, Dash::SOLID, colors[0], 2.0)
    }

    fn numbers(&self) -> String {
        let mut numbers = Numbers::new(["policy", "step", "score"]);
        for (step, score) in &self.curve {
            numbers.row([&self.policy, step, score]);
        }
        for (policy, score) in &self.levels {
            numbers.row([policy, &"", score]);
        }
        numbers.into_text()
    }
}
