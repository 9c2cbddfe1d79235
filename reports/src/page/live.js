'use strict';
(() => {
  const PAGE = 50;
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($('run-data').textContent);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  };
  const digits = (value, most) => value.toLocaleString('en', { maximumSignificantDigits: most });
  const whole = (value) => value.toLocaleString('en', { maximumFractionDigits: 0 });
  const time = (ms) => {
    if (ms === null || ms === undefined) return '–';
    if (Math.abs(ms) >= 1000) return digits(ms / 1000, 4) + ' s';
    return Math.abs(ms) >= 1 || ms === 0 ? digits(ms, 4) + ' ms' : digits(ms * 1000, 3) + ' µs';
  };
  const bytes = (value) => {
    const units = ['B', 'kB', 'MB', 'GB', 'TB'];
    let unit = 0;
    while (value >= 999.5 && unit < 4) { value /= 1000; unit += 1; }
    return digits(value, 3) + ' ' + units[unit];
  };

  // One state: the isolated policy, the shown direction, and the shown span of time.
  let isolated = null;
  let direction = 0;
  const end = data.edges[data.edges.length - 1];
  let span = [0, data.focus];
  const charts = [];
  let isSyncing = false;

  const stepped = uPlot.paths.stepped({ align: 1 });
  const show = {
    flows: (v) => digits(v, 4),
    ports: (v) => digits(v, 3),
    count: whole,
    'per-ms': (v) => digits(v, 3),
    percent: (v) => digits(v, 3) + ' %',
    share: (v) => digits(v, 3) + ' %',
    bytes,
  };
  const closed = (values) => [...values, values[values.length - 1]];
  // The values of a subject under a policy. Counts per millisecond: intervals differ in width.
  const line = ({ unit, parts, series }, subject, policy) => {
    const width = (at) => (unit === 'per-ms' ? data.edges[at + 1] - data.edges[at] : 1);
    const values = series[subject]?.[policy]?.map((value, at) => (value === null ? null : value / parts / width(at)));
    return values ? closed(values) : data.edges.map(() => null);
  };
  const isStack = (kind) => kind.unit === 'share';
  const stackOf = (kind) => {
    const layers = kind.series.map((_, route) => line(kind, route, isolated ?? data.policies.length - 1));
    const all = data.edges.map((_, at) => layers.reduce((sum, layer) => sum + layer[at], 0));
    let below = all.map(() => 0);
    return layers.map((layer) => {
      below = below.map((value, at) => value + (all[at] ? (100 * layer[at]) / all[at] : 0));
      return below.map((value, at) => (all[at] ? value : null));
    });
  };

  const faults = (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = color('--ink');
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.font = `${11 * devicePixelRatio}px sans-serif`;
    data.faults.forEach((fault, index) => {
      const x = plot.valToPos(fault.at * 1000, 'x', true);
      if (x < bbox.left || x > bbox.left + bbox.width) return;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillText(String(index + 1), x + 3 * devicePixelRatio, bbox.top + 11 * devicePixelRatio);
    });
    ctx.restore();
  };

  const zoom = (min, max) => {
    const width = Math.max(max - min, end / 1e5);
    min = Math.max(0, Math.min(min, end - width));
    span = [min, Math.min(end, min + width)];
    isSyncing = true;
    for (const chart of charts) chart.plot.setScale('x', { min: span[0], max: span[1] });
    isSyncing = false;
  };

  const readout = (chart) => {
    const { plot, kind, at } = chart;
    const index = plot.cursor.idx;
    if (index === null || index === undefined) { at.textContent = ''; return; }
    const rows = plot.series.slice(1).map((series, row) => [series, plot.data[row + 1][index]]);
    let below = 0;
    const known = isStack(kind) ? rows.slice().reverse() : rows;
    const parts = known.filter(([series, value]) => series.show && value !== null).map(([series, value]) => {
      const own = isStack(kind) ? value - below : value;
      below = value;
      return `${series.label} ${show[kind.unit](own)}`;
    });
    at.textContent = `${time(plot.data[0][index])}: ${parts.join(' · ')}`;
  };

  const build = (kind) => {
    const box = make('div', { class: 'chart' });
    const title = make('h4');
    const at = make('div', { class: 'at', 'aria-live': 'off' });
    const canvas = make('div');
    box.append(title, at, canvas);
    $('charts').append(box);
    const grid = { stroke: color('--line'), width: 1 };
    const axis = { stroke: color('--muted'), grid, ticks: grid };
    const lines = isStack(kind)
      ? [...data.routes].reverse().map((route) => ({ label: route.name, stroke: route.color, fill: route.color, width: 0, paths: stepped, points: { show: false } }))
      : data.policies.map((policy) => ({ label: policy.name, stroke: policy.color, width: 1.6, dash: policy.dash, paths: kind.unit === 'bytes' ? undefined : stepped, spanGaps: true, points: { show: false } }));
    const chart = { kind, title, at };
    const values = () => [data.edges, ...(isStack(kind) ? stackOf(kind).reverse() : data.policies.map((_, policy) => line(kind, kind.is_of_direction ? direction : 0, policy)))];
    chart.values = values;
    chart.plot = new uPlot({
      width: canvas.clientWidth || 600,
      height: isStack(kind) ? 170 : 150,
      legend: { show: false },
      cursor: { sync: { key: 'run', setSeries: false }, drag: { x: true, y: false }, points: { show: false } },
      scales: { x: { time: false, min: span[0], max: span[1] }, y: { range: (u, low, high) => [0, isStack(kind) ? 100 : Math.max(high || 0, 1e-9) * 1.05] } },
      axes: [
        { ...axis, values: (u, ticks) => ticks.map((tick) => (data.focus >= 4000 ? digits(tick / 1000, 6) : digits(tick, 6))), label: undefined },
        { ...axis, size: 62, values: (u, ticks) => ticks.map((tick) => (kind.unit === 'bytes' ? bytes(tick) : digits(tick, 4))) },
      ],
      series: [{}, ...lines],
      hooks: {
        draw: [faults],
        setCursor: [() => readout(chart)],
        setScale: [(u, key) => { if (key === 'x' && !isSyncing && charts.includes(chart)) zoom(u.scales.x.min, u.scales.x.max); }],
      },
    }, values(), canvas);
    chart.canvas = canvas;
    charts.push(chart);
  };

  const refresh = () => {
    for (const chart of charts) {
      const { kind, plot } = chart;
      const name = data.directions[direction]?.name ?? '';
      const shown = data.policies[isolated ?? data.policies.length - 1]?.name ?? '';
      chart.title.textContent = kind.is_of_direction ? `${name}: ${kind.title}` : isStack(kind) ? `${shown}: ${kind.title}` : kind.title;
      if (chart === charts[0]) chart.title.textContent += ', by time in ' + (data.focus >= 4000 ? 's' : 'ms');
      isSyncing = true;
      plot.setData(chart.values(), false);
      plot.setScale('x', { min: span[0], max: span[1] });
      if (!isStack(kind)) data.policies.forEach((_, policy) => plot.setSeries(policy + 1, { show: isolated === null || isolated === policy }));
      isSyncing = false;
    }
    for (const button of document.querySelectorAll('[data-policy]')) {
      button.setAttribute('aria-pressed', String(Number(button.dataset.policy) === isolated));
    }
    table.draw();
  };
  const isolate = (policy) => { isolated = isolated === policy ? null : policy; table.page = 0; refresh(); };

  const rebuild = () => {
    for (const chart of charts) chart.plot.destroy();
    charts.length = 0;
    $('charts').replaceChildren();
    data.charts.forEach(build);
    refresh();
  };

  const controls = () => {
    const policies = data.policies.map((policy, index) => make('button', { type: 'button', 'data-policy': index, title: 'show this policy alone', onclick: () => isolate(index) },
      make('span', { class: 'swatch', style: `color:${policy.color}` }), policy.name));
    const select = make('select', { 'aria-label': 'direction of a link', onchange: (event) => { direction = Number(event.target.value); refresh(); } },
      ...data.directions.map((one, index) => make('option', { value: index }, `${one.name} · ${one.about}`)));
    const button = (text, title, action) => make('button', { type: 'button', title, onclick: action }, text);
    const by = (factor, shift) => () => {
      const [middle, half] = [(span[0] + span[1]) / 2, (span[1] - span[0]) / 2];
      zoom(middle + shift * half - half * factor, middle + shift * half + half * factor);
    };
    $('controls').append(...policies, make('span', { class: 'gap' }), ...(data.directions.length ? [select] : []),
      button('◂', 'earlier', by(1, -0.5)), button('▸', 'later', by(1, 0.5)), button('+', 'zoom in', by(0.5, 0)), button('−', 'zoom out', by(2, 0)),
      button('arrivals', 'while flows start', () => zoom(0, data.last * 1.05)), button('all', 'the whole repetition', () => zoom(0, end)));
  };

  // The table of flows.
  const flows = data.flows;
  const columns = [
    { name: 'policy', text: (f) => data.policies[flows.policy[f]].name },
    { name: 'flow', n: true, key: (f) => flows.repetition[f] * 1e9 + flows.id[f], text: (f) => (flows.repetition[f] ? `${flows.repetition[f]}/` : '') + flows.id[f] },
    { name: 'from → to', text: (f) => `${flows.names[flows.src[f]]} → ${flows.names[flows.dst[f]]}` },
    { name: 'size', n: true, key: (f) => flows.size[f], text: (f) => bytes(flows.size[f]) },
    { name: 'start', n: true, key: (f) => flows.start[f], text: (f) => time(flows.start[f]) },
    { name: 'FCT', n: true, key: (f) => flows.fct[f] ?? Infinity, text: (f) => time(flows.fct[f]) },
    { name: 'ideal', n: true, key: (f) => flows.ideal[f], text: (f) => time(flows.ideal[f]) },
    { name: 'slowdown', n: true, key: (f) => flows.slowdown[f] ?? Infinity, text: (f) => (flows.slowdown[f] === null ? '–' : digits(flows.slowdown[f], 4)) },
    { name: 'path', text: (f) => (flows.path[f] === null ? '–' : flows.names[flows.path[f]]) },
    { name: 'status', text: (f) => flows.names[flows.status[f]] },
  ];
  const table = {
    page: 0, sort: 7, isDescending: true, search: '', open: new Set(),
    rows() {
      const words = this.search.toLowerCase().split(/\s+/).filter(Boolean);
      const all = flows.id.map((_, f) => f).filter((f) => isolated === null || flows.policy[f] === isolated);
      const found = words.length ? all.filter((f) => { const line = columns.map((c) => c.text(f)).join(' ').toLowerCase(); return words.every((word) => line.includes(word)); }) : all;
      const key = columns[this.sort].key ?? columns[this.sort].text;
      const sign = this.isDescending ? -1 : 1;
      return found.sort((a, b) => { const [x, y] = [key(a), key(b)]; return x < y ? -sign : x > y ? sign : a - b; });
    },
    draw() {
      const rows = this.rows();
      const pages = Math.max(1, Math.ceil(rows.length / PAGE));
      this.page = Math.min(this.page, pages - 1);
      const head = make('tr', {}, ...columns.map((column, index) => make('th', { class: column.n ? 'n' : null, 'aria-sort': index === this.sort ? (this.isDescending ? 'descending' : 'ascending') : null },
        make('button', { type: 'button', onclick: () => { this.isDescending = index === this.sort ? !this.isDescending : Boolean(column.n); this.sort = index; this.page = 0; this.draw(); } }, column.name))));
      const body = make('tbody');
      for (const f of rows.slice(this.page * PAGE, (this.page + 1) * PAGE)) {
        const toggle = () => { if (!this.open.delete(f)) this.open.add(f); this.draw(); };
        body.append(make('tr', { class: 'row', tabindex: 0, 'aria-expanded': String(this.open.has(f)), onclick: toggle, onkeydown: (event) => { if (event.key === 'Enter') toggle(); } },
          ...columns.map((column, index) => make(index ? 'td' : 'th', { class: column.n ? 'n' : 't' }, column.text(f)))));
        if (this.open.has(f)) body.append(make('tr', { class: 'story' }, make('td', { colspan: columns.length }, ...story(f))));
      }
      const turn = (by) => () => { this.page = Math.max(0, Math.min(pages - 1, this.page + by)); this.draw(); };
      $('flow-rows').replaceChildren(
        make('div', { class: 'pager' }, make('button', { type: 'button', onclick: turn(-1) }, 'previous'), `page ${this.page + 1} of ${whole(pages)}, ${whole(rows.length)} flows`, make('button', { type: 'button', onclick: turn(1) }, 'next')),
        make('div', { class: 'wide rows' }, make('table', {}, make('thead', {}, head), body)));
    },
  };

  const story = (f) => {
    const name = (index) => flows.names[index];
    const hasStarted = flows.fct[f] !== null || flows.late[f] !== null;
    const facts = [`${hasStarted ? 'starts' : 'was to start'} at ${time(flows.start[f])}`, flows.fct[f] === null ? `${name(flows.status[f])}${flows.reason[f] ? ': ' + name(flows.reason[f]) : ''}` : `ends at ${time(flows.start[f] + flows.fct[f])}, slowdown ${digits(flows.slowdown[f], 4)}`];
    if (flows.ack[f] !== null) facts.push(`acknowledgements over ${name(flows.ack[f])}`);
    if (flows.late[f] !== null) facts.push(`launched ${time(flows.late[f])} late (emulated)`);
    const show = make('button', { type: 'button', onclick: (event) => {
      event.stopPropagation();
      const after = flows.start[f] + (flows.fct[f] ?? end - flows.start[f]);
      const around = (after - flows.start[f]) * 0.1;
      isolated = flows.policy[f];
      refresh();
      zoom(flows.start[f] - around, after + around);
      $('timeline').scrollIntoView();
    } }, 'show on the timeline');
    const decisions = flows.stories[f] ?? [];
    const parts = [make('p', {}, facts.join('; ') + '. ', flows.repetition[f] || !hasStarted ? null : show)];
    if (!decisions.length) return [...parts, make('p', { class: 'note' }, 'No decision of this flow is recorded.')];
    const interval = (ms) => { let low = 0, high = data.edges.length - 1; while (high - low > 1) { const middle = (low + high) >> 1; if (data.edges[middle] <= ms) low = middle; else high = middle; } return low; };
    const queue = (from, to, ms) => {
      if (flows.repetition[f]) return '–';
      const queues = data.charts.find((chart) => chart.unit === 'bytes');
      const at = data.directions.findIndex((one) => one.name === `${from} → ${to}`);
      const value = queues?.series[at]?.[flows.policy[f]]?.[interval(ms)];
      return value === null || value === undefined ? '–' : bytes(value / queues.parts);
    };
    for (const [ms, where, reason, candidates, chosen] of decisions) {
      // A policy that hashes has no costs.
      const isScored = data.policies[flows.policy[f]].scored;
      const costs = (values) => (isScored ? values.map((value) => make('td', { class: 'n' }, String(value))) : []);
      const row = ([to, cPath, cCong, cost, kept]) => make('tr', {}, make('td', { class: kept ? 'kept' : null }, name(to)), ...costs([cPath, cCong, cost]), make('td', {}, kept ? 'kept' : ''), make('td', { class: 'n' }, queue(name(where), name(to), ms)), make('td', {}, to === chosen ? '← chosen' : ''));
      parts.push(make('p', {}, `${time(ms)}, ${name(where)} (${name(reason)}): ` + (chosen === null ? 'no next hop' : `to ${name(chosen)}`)));
      if (candidates.length > 1) {
        parts.push(make('table', {}, make('thead', {}, make('tr', {}, ...['candidate', ...(isScored ? ['C_path', 'C_cong', 'C'] : []), '', 'queue sampled'].map((head) => make('th', {}, head)))), make('tbody', {}, ...candidates.map(row))));
      }
    }
    return parts;
  };

  // A link to a folded section or to a figure in it opens the section; a printed page has all of them.
  const reveal = () => {
    const target = location.hash && $(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let box = target; box; box = box.parentElement) if (box.tagName === 'DETAILS') box.open = true;
    target.scrollIntoView();
  };
  addEventListener('hashchange', reveal);
  addEventListener('beforeprint', () => { for (const fold of document.querySelectorAll('details.fold')) fold.open = true; });
  document.querySelector('nav')?.addEventListener('click', (event) => { if (event.target.closest('a')) setTimeout(reveal); });
  reveal();

  $('timeline').hidden = false;
  $('flow-search').hidden = false;
  $('flow-search').addEventListener('input', (event) => { table.search = event.target.value; table.page = 0; table.draw(); });
  controls();
  rebuild();
  dark.addEventListener('change', rebuild);
  new ResizeObserver(() => { for (const chart of charts) { const width = chart.canvas.clientWidth; if (width && width !== chart.plot.width) { isSyncing = true; chart.plot.setSize({ width, height: chart.plot.height }); isSyncing = false; } } }).observe($('charts'));
})();
