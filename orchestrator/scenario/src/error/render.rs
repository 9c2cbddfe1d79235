//! Problems as text: message, file:line:column, source line with a caret, YAML path, hint.

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};

use super::{Place, Problem, ScenarioErrors};

/// Without colours, for files, pipes and tests.
pub(super) fn plain(errors: &ScenarioErrors) -> String {
    render(errors, &Renderer::plain())
}

/// With terminal colours.
pub(super) fn coloured(errors: &ScenarioErrors) -> String {
    render(errors, &Renderer::styled())
}

fn render(errors: &ScenarioErrors, renderer: &Renderer) -> String {
    let problems = errors.problems.iter();
    let mut blocks: Vec<String> = problems.map(|problem| block(problem, renderer)).collect();
    if errors.omitted > 0 {
        blocks.push(format!("and {} more", errors.omitted));
    }
    blocks.join("\n\n")
}

fn block(problem: &Problem, renderer: &Renderer) -> String {
    let (message, hint) = problem.message_and_hint();
    let path = problem.path.as_ref().map(|path| format!("at `{path}`"));
    let group = Level::ERROR
        .primary_title(message)
        .element(place(&problem.place))
        .elements(path.map(|path| Level::NOTE.no_name().message(path)))
        .elements(hint.map(|hint| Level::HELP.with_name("hint").message(hint)));
    renderer.render(&[group])
}

/// The source line with a caret, or only where it is when there is nothing to see.
fn place(place: &Place) -> Element<'_> {
    if place.text.is_empty() {
        let origin = Origin::path(&place.file).line(place.line);
        return origin.char_column(place.column).into();
    }
    let caret = AnnotationKind::Primary.span(place.span.clone());
    let snippet = Snippet::source(&place.text).path(&place.file);
    snippet.line_start(place.line).annotation(caret).into()
}
