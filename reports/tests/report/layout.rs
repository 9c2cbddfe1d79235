//! Test of the page's layout in a browser, at the widths of a desktop, tablet and telephone.

use std::{fs, path::Path, process::Command};

use lab_reports::render;

use crate::{html, synthetic::Synthetic, thirteen};

/// Script that finds elements that do not fit into the page.
const PROBE: &str = include_str!("layout.js");

/// Window widths to test, pixels.
const WIDTHS: [u32; 3] = [1_400, 900, 400];

#[test]
fn the_page_fits_its_window_and_no_label_overlaps_another() {
    const NAME: &str = "the_page_fits_its_window_and_no_label_overlaps_another";
    let Some(browser) = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())
    else {
        eprintln!("skipped: {NAME}: chromium is missing");
        return;
    };
    for dir in [
        Synthetic::testbed(44).write("layout-testbed"),
        thirteen::run(200).write("layout-thirteen"),
    ] {
        let report = render(&dir).expect("a report");
        let page = fs::read_to_string(&report.html).expect("a page");
        let probed = dir.join("probed.html");
        fs::write(&probed, with_probe(&page)).expect("the probed page");
        let frames = dir.join("frames.html");
        fs::write(&frames, in_frames("probed.html")).expect("the frames");
        let found = findings(browser, &frames);
        let expected = WIDTHS.map(|width| format!("width {width}"));
        assert_eq!(found, expected.join("\n"), "{}", probed.display());
    }
}

/// Returns a page that shows `page` in a frame of each width and collects the frames' findings, because a browser
/// window has a minimum width.
fn in_frames(page: &str) -> String {
    let frame = |width: &u32| {
        format!("<iframe src=\"{page}\" style=\"width:{width}px;height:1000px;border:0\"></iframe>")
    };
    let frames: String = WIDTHS.iter().map(frame).collect();
    format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><body>{frames}<pre id=\"layout-findings\"></pre><script>\
         const found = [];\
         onmessage = (event) => {{\
           found.push(event.data);\
           found.sort((a, b) => parseInt(b.slice(6)) - parseInt(a.slice(6)));\
           document.getElementById('layout-findings').textContent = found.join('\\n');\
         }};</script></body>"
    )
}

/// Returns the page with the probe script, and without the security policy that would block it.
fn with_probe(page: &str) -> String {
    let (head, rest) = page
        .split_once("<meta http-equiv=\"Content-Security-Policy\"")
        .expect("a policy");
    let (_, rest) = rest.split_once('>').expect("the policy's end");
    let page = format!("{head}{rest}");
    page.replace("</body>", &format!("<script>{PROBE}</script></body>"))
}

/// Runs the browser on a page and returns what the probe found at all widths.
fn findings(browser: &str, page: &Path) -> String {
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--virtual-time-budget=10000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom
        .split_once("<pre id=\"layout-findings\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"));
    let (found, _) = found.unwrap_or_else(|| {
        let problems = String::from_utf8_lossy(&output.stderr);
        panic!("the browser ran no probe ({}): {problems}", output.status)
    });
    html::unescape(found)
}
