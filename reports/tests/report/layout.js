// Finds what does not fit on the page, and tells the page around it, a line each.
addEventListener('load', () => {
  // All sections are looked at, folded or not.
  for (const fold of document.querySelectorAll('details')) fold.open = true;
  setTimeout(() => {
  const findings = [];
  const width = innerWidth;
  const say = (text) => { if (findings.length < 40) findings.push(text); };
  const named = (element) => {
    const id = element.closest('[id]')?.id ?? '';
    return `${element.tagName.toLowerCase()} "${(element.textContent ?? '').trim().slice(0, 30)}" in #${id}`;
  };
  const scrolls = (element) => {
    for (let box = element; box && box !== document.body; box = box.parentElement) {
      if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(box).overflowX)) return true;
    }
    return false;
  };

  // No element is wider than the page, outside the boxes that scroll.
  if (document.documentElement.scrollWidth > width) say(`the page scrolls sideways: ${document.documentElement.scrollWidth} > ${width}`);
  for (const element of document.querySelectorAll('body *:not(svg *)')) {
    const box = element.getBoundingClientRect();
    if (box.width > 0 && box.height > 0 && (box.right > width + 1 || box.left < -1) && !scrolls(element.parentElement)) {
      say(`too wide: ${named(element)}: ${Math.round(box.left)} to ${Math.round(box.right)}`);
    }
  }

  // No text overlaps another, nor leaves its figure.
  const overlaps = (texts, slack) => {
    texts.sort((a, b) => a.box.top - b.box.top);
    texts.forEach((one, index) => {
      for (const other of texts.slice(index + 1)) {
        if (other.box.top >= one.box.bottom) break;
        const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
        const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
        const height = Math.min(one.box.height, other.box.height);
        if (across > 1 && down > height * slack) say(`overlap: ${named(one.element)} and ${named(other.element)}`);
      }
    });
  };
  for (const figure of document.querySelectorAll('figure svg')) {
    const around = figure.getBoundingClientRect();
    const texts = [...figure.querySelectorAll('text')].map((element) => ({ element, box: element.getBoundingClientRect() }));
    for (const { element, box } of texts) {
      if (box.left < around.left - 1 || box.right > around.right + 1 || box.top < around.top - 1 || box.bottom > around.bottom + 1) say(`cut: ${named(element)}`);
    }
    // A box of text has room above small letters and below the baseline.
    overlaps(texts, 0.3);
  }
  const words = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || element.closest('svg, script, style, select, .uplot')) continue;
    const range = document.createRange();
    range.selectNodeContents(walk.currentNode);
    for (const box of range.getClientRects()) if (box.width > 1) words.push({ element, box });
  }
  overlaps(words, 0.4);

  parent.postMessage([`width ${width}`, ...findings].join('\n'), '*');
  }, 300);
});
