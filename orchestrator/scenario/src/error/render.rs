//! Problems as text: message, file:line:column, source line with a caret, YAML path, hint.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::{Problem, kind::split_hint};

/// Without colours, for files, pipes and tests.
pub(super) fn plain(problems: &[Problem]) -> String {
    render(problems, &Renderer::plain())
}

/// With terminal colours.
pub(super) fn coloured(problems: &[Problem]) -> String {
    render(problems, &Renderer::styled())
}

fn render(problems: &[Problem], renderer: &Renderer) -> String {
    let blocks: Vec<String> = problems.iter().map(|p| block(p, renderer)).collect();
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
