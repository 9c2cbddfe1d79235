//! Text of an HTML page, and checks that the page is well-formed.

/// Returns the text of `page`, one line for each block element, without figures and styles.
pub fn text(page: &str) -> String {
    let page = without(&without_code(page), "<svg", "</svg>");
    let mut text = String::new();
    let mut rest = page.as_str();
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        let end = rest[start..]
            .find('>')
            .map_or(rest.len(), |end| start + end + 1);
        let tag = rest[start..end].trim_start_matches(['<', '/']);
        let name = tag.split([' ', '>']).next().unwrap_or_default();
        let mut block = "tr p h1 h2 h3 li dt div figcaption summary title".split(' ');
        text.push_str(if block.any(|it| it == name) {
            "\n"
        } else {
            " "
        });
        rest = &rest[end..];
    }
    text.push_str(rest);
    let text = unescape(&text);
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns `page` without the bundled font.
pub fn without_font(page: &str) -> String {
    without(page, "url(data:", ")")
}

/// Returns `page` without style sheets and scripts.
pub fn without_code(page: &str) -> String {
    without(&without(page, "<style", "</style>"), "<script", "</script>")
}

/// Returns `text` with the characters escaped that HTML requires.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('\'', "&apos;")
}

/// Panics unless all tags are closed in the right order and all attributes are quoted.
pub fn assert_well_formed(page: &str) {
    let page = without_code(page);
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.as_str();
    while let Some(start) = rest.find('<') {
        let end = end_of_tag(&rest[start..]).expect("a tag is closed") + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .expect("a name");
        let known = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '!');
        assert!(known, "`{tag}` is no tag of ours");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') && !["!DOCTYPE", "meta"].contains(&name) && !is_void(name) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

/// Returns true for `rect`, which maud writes as a void element in a swatch, and for `input`.
fn is_void(name: &str) -> bool {
    ["rect", "input"].contains(&name)
}

fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quoted = false;
    for (at, c) in tag.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '<' if at > 0 && !quoted => return None,
            '>' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

fn without(page: &str, start: &str, end: &str) -> String {
    let mut kept = String::new();
    let mut rest = page;
    while let Some(from) = rest.find(start) {
        kept.push_str(&rest[..from]);
        let to = rest[from..]
            .find(end)
            .map_or(rest.len(), |to| from + to + end.len());
        rest = &rest[to..];
    }
    kept + rest
}

/// Returns the text whose escaped form is `text`.
pub fn unescape(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&quot;", "\"").replace("&amp;", "&")
}
