//! Problems as text: message, file:line:column, source line with a caret, YAML path, hint.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::{Problem, ScenarioErrors, kind::split_hint};

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
    let place = &problem.place;
    let text = problem.kind.to_string();
    let (message, hint) = split_hint(&text);
    let snippet = Snippet::source(&place.text)
        .path(&place.file)
        .line_start(place.line)
        .annotation(AnnotationKind::Primary.span(place.span.clone()));
    let path = problem.path.as_ref().map(|path| format!("at `{path}`"));
    let group = Level::ERROR
        .primary_title(message)
        .element(snippet)
        .elements(path.map(|path| Level::NOTE.no_name().message(path)))
        .elements(hint.map(|hint| Level::HELP.with_name("hint").message(hint)));
    renderer.render(&[group])
}
