//! Tests of the inter-DC map of a plan.

use lab_plan::render_svg;

/// Returns the texts of an SVG picture, in document order.
fn texts(svg: &str) -> Vec<&str> {
    let ends = svg.split("</text>").map(|part| part.rsplit('>').next());
    let texts: Vec<_> = ends
        .flatten()
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .collect();
    texts
}

#[test]
fn the_testbeds_map() {
    let plan = crate::common::plan(&crate::common::testbed_text());
    insta::assert_snapshot!(render_svg(&plan));
}

#[test]
fn every_link_of_the_larger_map_has_its_label() {
    let plan = crate::common::plan(include_str!("data/multi-hop.yaml"));
    let svg = render_svg(&plan);
    let labels = texts(&svg)
        .into_iter()
        .filter(|text| text.contains("Gbit, "));
    assert_eq!(labels.count(), 20, "{svg}");
}

#[test]
fn names_are_escaped() {
    let mut plan = crate::common::plan(&crate::common::scenario_text("smoke.yaml"));
    plan.description = "a <b> & \"c\"\u{1}".to_owned();
    plan.dcs[0].name = "<script>".to_owned();
    let svg = render_svg(&plan);
    assert!(
        svg.contains("a &lt;b&gt; &amp; &quot;c&quot;</text>"),
        "{svg}"
    );
    assert!(!svg.contains("<script>"), "{svg}");
}
