"use strict";
// What a client sent becomes text nodes here, never elements, attributes that lead
// somewhere, or code. Vega gets it as data alone, and interprets expressions without
// making functions of them, as the page's policy demands.
(() => {
  const ROWS_A_PAGE = 50;
  const DETAILS_IN_A_PACK = 20;
  const ASK_EVERY_MS = 20000;
  const MINUTE_MS = 60000;
  const LEGEND_PIXELS = 145;
  // Words and tables do not wait for Vega, which stands behind this script.
  const libraries = new Promise((resolve) => {
    document.addEventListener("DOMContentLoaded", resolve, {once: true});
  });
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const PHRASES = {number: new Intl.NumberFormat("en", {maximumSignificantDigits: 17}), null: "–"};

  function make(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function showFault(error) {
    byId("fault").textContent = `A part of this page does not work here: ${error}`;
    byId("fault").hidden = false;
    console.error(error);
  }

  async function unpack(text) {
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let place = 0; place < letters.length; place++) {
      bytes[place] = letters.charCodeAt(place);
    }
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(plain).text());
  }

  // ------------------------------------------------------------- times and numbers

  const two = (number) => String(number).padStart(2, "0");

  function showTime(millis) {
    const at = new Date(millis);
    return `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())} ` +
      `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
  }

  function showNumber(value) {
    return PHRASES.number.format(Number.isInteger(value) ? value : Number(value.toPrecision(4)));
  }

  // ------------------------------------------------------------- pictures

  function showTooltip(handler, event, item, value) {
    const box = byId("tooltip");
    box.replaceChildren();
    if (value === null || value === undefined || value === "") {
      box.hidden = true;
      return;
    }
    const told = typeof value === "object" ? Object.entries(value) : [["", value]];
    for (const [name, text] of told) {
      box.append(make("p", name ? `${name}: ${text}` : String(text)));
    }
    box.hidden = false;
    const right = window.innerWidth - box.offsetWidth - 8;
    box.style.left = `${Math.max(4, Math.min(event.clientX + 12, right))}px`;
    box.style.top = `${Math.min(event.clientY + 12, window.innerHeight - box.offsetHeight - 8)}px`;
  }

  function chooseLooks(width) {
    const words = {labelFontSize: 11, titleFontSize: 11, titleFontWeight: "normal"};
    return {
      actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip: showTooltip,
      config: {
        // Measured before it is drawn, so it has to be the very one.
        font: getComputedStyle(document.body).fontFamily,
        axis: {...words, labelLimit: Math.min(230, Math.floor(width * 0.42))},
        legend: {...words, columns: Math.max(1, Math.floor(width / LEGEND_PIXELS))},
      },
    };
  }

  async function draw(place, spec) {
    await libraries;
    await vegaEmbed(place, spec, chooseLooks(place.clientWidth));
    place.dataset.drawn = "yes";
  }

  function drawWhenSeen(places) {
    const drawOnce = (place) => {
      if (place.dataset.asked || !place.clientWidth) return;
      place.dataset.asked = "yes";
      draw(place, data.pictures.specs[place.dataset.picture]).catch(showFault);
    };
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) drawOnce(entry.target);
      }
    }, {rootMargin: "300px"});
    for (const place of places) seen.observe(place);
    window.addEventListener("beforeprint", () => places.forEach(drawOnce));
  }

  // ------------------------------------------------------------- the table of clients

  // What is not known is an empty cell in rows, and sorts behind all else.
  function readColumns(packed) {
    const read = {};
    for (const [name, column] of Object.entries(packed.columns)) {
      read[name] = column.values ||
        column.codes.map((code) => (code === null ? null : column.texts[code]));
    }
    return read;
  }

  let columns, rows, keys, found, shownPage = 0;
  let sorting = {name: null, isDown: false};
  let haystack = null;

  const FINDINGS = [["errors", "error"], ["warnings", "warning"], ["advice", "advice"]];
  const COLUMNS = [
    {name: "client_id", title: "client id"},
    {name: "principal", title: "principal"},
    {name: "client_type", title: "type"},
    {name: "software", title: "software", then: "version"},
    {name: "state", title: "state"},
    {name: "live", title: "live", isNumber: true},
    {name: "errors", title: "findings", then: "warnings", last: "advice", isDown: true},
    {name: "use", title: "limit (%)", isNumber: true, isDown: true},
    {name: "last_seen", title: "last seen (UTC)"},
    {name: "first_seen", title: "first seen (UTC)"},
  ];

  // Of an empty name nobody could see the link.
  const nameOf = (row) => columns.client_id[row] === ""
    ? "(empty client id)" : columns.client_id[row] ?? "(no client id)";

  function compare(a, b) {
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    return a < b ? -1 : 1;
  }

  function sortRows() {
    const {name, isDown} = sorting;
    if (!name) {
      found.sort();
      return;
    }
    const told = COLUMNS.find((one) => one.name === name);
    const names = [name, told.then, told.last].filter(Boolean);
    // Times are minutes ago, so that the oldest is the greatest.
    const turn = (isDown ? -1 : 1) * (name.endsWith("_seen") ? -1 : 1);
    found.sort((a, b) => {
      for (const one of names) {
        const left = columns[one][a], right = columns[one][b];
        const order = compare(left, right);
        if (order) return left === null || right === null ? order : turn * order;
      }
      return a - b;
    });
  }

  function findRows() {
    const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const state = byId("state").value, severity = byId("severity").value;
    const which = byId("which").value;
    if (words.length && !haystack) {
      const searched = ["client_id", "principal", "group_id", "software", "version", "client_type", "cluster_id"];
      haystack = keys.map((_, row) =>
        searched.map((name) => columns[name][row] ?? "").join("\n").toLowerCase());
    }
    const kept = [];
    for (let row = 0; row < rows; row++) {
      if (state && columns.state[row] !== state) continue;
      if (which && `${columns.software[row]} ${columns.version[row]}` !== which) continue;
      if (severity === "none") {
        if (FINDINGS.some(([name]) => columns[name][row])) continue;
      } else if (severity && !columns[severity][row]) continue;
      if (words.length && !words.every((word) => haystack[row].includes(word))) continue;
      kept.push(row);
    }
    found = Uint32Array.from(kept);
    shownPage = 0;
    sortRows();
    showRows();
  }

  function makeCell(column, row) {
    const cell = make("td");
    cell.dataset.name = column.title;
    const value = columns[column.name][row];
    if (column.name === "client_id") {
      const link = make("a");
      link.href = `#client/${keys[row]}`;
      link.append(make("bdi", nameOf(row)));
      cell.append(link);
    } else if (column.name === "errors") {
      for (const [name, severity] of FINDINGS) {
        const count = columns[name][row];
        if (count) cell.append(make("span", `${count} ${severity}${count > 1 && severity !== "advice" ? "s" : ""}`, `badge ${severity}`));
      }
    } else if (column.name === "software") {
      const told = [value, columns.version[row]].filter((one) => one !== null).join(" ");
      const whole = make("span");
      whole.append(make("bdi", told || PHRASES.null));
      if (columns.versions[row] > 1) whole.append(make("small", ` and ${columns.versions[row] - 1} more`));
      cell.append(whole);
    } else if (value === null) {
      cell.append(make("span", PHRASES.null, "null"));
    } else if (column.name.endsWith("_seen")) {
      cell.textContent = showTime(data.madeAt - value * MINUTE_MS);
    } else if (column.name === "live") {
      cell.textContent = `${showNumber(value)} of ${showNumber(columns.instances[row])}`;
      cell.className = "number";
    } else if (column.name === "use") {
      cell.textContent = showNumber(100 * value);
      cell.className = "number";
    } else {
      cell.append(make("bdi", String(value)));
    }
    return cell;
  }

  function showRows() {
    const pages = Math.max(1, Math.ceil(found.length / ROWS_A_PAGE));
    shownPage = Math.min(shownPage, pages - 1);
    const from = shownPage * ROWS_A_PAGE;
    const body = byId("client-table").tBodies[0];
    const lines = [];
    for (const row of found.slice(from, from + ROWS_A_PAGE)) {
      const line = make("tr");
      for (const column of COLUMNS) line.append(makeCell(column, row));
      lines.push(line);
    }
    body.replaceChildren(...lines);
    byId("found").textContent = found.length === rows
      ? `${showNumber(rows)} clients` : `${showNumber(found.length)} of ${showNumber(rows)} clients`;
    byId("page").textContent = `page ${shownPage + 1} of ${showNumber(pages)}`;
    byId("before").disabled = shownPage === 0;
    byId("next").disabled = shownPage >= pages - 1;
    for (const head of byId("client-table").tHead.querySelectorAll("th")) {
      const isSorted = head.dataset.column === sorting.name;
      head.setAttribute("aria-sort",
        isSorted ? (sorting.isDown ? "descending" : "ascending") : "none");
    }
  }

  function makeHead() {
    const line = make("tr");
    for (const column of COLUMNS) {
      const head = make("th"), button = make("button", column.title);
      head.scope = "col";
      if (column.isNumber) head.className = "number";
      head.dataset.column = column.name;
      button.type = "button";
      button.addEventListener("click", () => {
        const isSame = sorting.name === column.name;
        sorting = {name: column.name, isDown: isSame ? !sorting.isDown : Boolean(column.isDown)};
        sortRows();
        showRows();
      });
      head.append(button);
      line.append(head);
    }
    byId("client-table").tHead.append(line);
  }

  function fillChoices() {
    const count = (texts) => {
      const counts = new Map();
      for (const text of texts) counts.set(text, (counts.get(text) || 0) + 1);
      return [...counts].sort((a, b) => b[1] - a[1]);
    };
    const add = (id, texts) => {
      for (const [text, clients] of count(texts)) {
        const choice = make("option", `${text} (${showNumber(clients)})`);
        choice.value = text;
        byId(id).append(choice);
      }
    };
    add("state", columns.state);
    add("which", columns.software.map((name, row) => `${name} ${columns.version[row]}`));
  }

  // ------------------------------------------------------------- one client

  function makeTable(part, none) {
    if (part.missing) return make("p", part.missing, "missing");
    if (!part.rows.length) return make("p", none, "none");
    const box = make("div", null, "scroll"), table = make("table");
    const head = make("thead"), names = make("tr"), body = make("tbody");
    part.names.forEach((name, place) => {
      const isNumber = part.rows.some((row) => typeof row[place] === "number");
      names.append(make("th", name, isNumber ? "number" : ""));
    });
    head.append(names);
    for (const row of part.rows) {
      const line = make("tr");
      row.forEach((value, place) => {
        const cell = make("td");
        cell.dataset.name = part.names[place];
        if (value === null) cell.append(make("span", PHRASES.null, "null"));
        else if (typeof value === "number") {
          cell.textContent = showNumber(value);
          cell.className = "number";
        } else cell.append(make("bdi", String(value)));
        line.append(cell);
      });
      body.append(line);
    }
    table.append(head, body);
    box.append(table);
    if (part.more) box.append(make("p", `${showNumber(part.more)} more are left out here.`, "more"));
    return box;
  }

  function makeIdentity(row) {
    const list = make("dl", null, "identity");
    const add = (name, value) => {
      if (value === null || value === undefined) return;
      const told = make("dd");
      told.append(make("bdi", typeof value === "number" ? showNumber(value) : String(value)));
      list.append(make("dt", name), told);
    };
    add("principal", columns.principal[row]);
    add("type", columns.client_type[row]);
    add("group", columns.group_id[row]);
    add("cluster", columns.cluster_id[row]);
    add("software", [columns.software[row], columns.version[row]].filter((one) => one !== null).join(" "));
    add("state", columns.state[row]);
    add("instances", `${columns.live[row] ?? 0} live of ${columns.instances[row] ?? 0}`);
    for (const name of ["first_seen", "last_seen"]) {
      const ago = columns[name][row];
      if (ago !== null) add(`${name.replace("_", " ")} (UTC)`, showTime(data.madeAt - ago * MINUTE_MS));
    }
    return {list, add};
  }

  function makeLines(detail) {
    const box = make("div", null, "lines");
    const drawing = [];
    for (const line of detail.lines) {
      const part = make("div", null, "small");
      part.append(make("h4", `${line.name}${line.unit ? ` (${line.unit})` : ""}`));
      const place = make("div", null, "picture");
      part.append(place);
      box.append(part);
      const at = (step) => data.start + (step + 0.5) * data.step;
      const points = line.points.map(([step, value]) => ({at: at(step), value, mark: null}));
      for (const end of [data.start, data.end]) points.push({at: end, value: null, mark: null});
      for (const [mark, steps] of Object.entries(detail.marks)) {
        for (const step of steps) points.push({at: at(step), value: null, mark});
      }
      const spec = structuredClone(data.pictures.line);
      spec.datasets = {points};
      drawing.push(() => draw(place, spec));
    }
    return {box, drawing};
  }

  function makeLegend(marks) {
    const told = make("p", null, "when");
    for (const [name, text] of [["throttled", "throttled"], ["rebalance", "rebalance"]]) {
      if (marks[name] && marks[name].length) {
        told.append(make("span", null, `key ${name}`), ` ${text} (${marks[name].length} times) `);
      }
    }
    return told;
  }

  async function showClient(key) {
    const row = keys.indexOf(key);
    const body = byId("client-body");
    if (row < 0) {
      byId("client-name").textContent = "No such client";
      body.replaceChildren(make("p", "This page has no client of that name; an earlier one may have had.", "missing"));
      return;
    }
    byId("client-name").replaceChildren(make("bdi", nameOf(row)));
    const {list, add} = makeIdentity(row);
    body.replaceChildren(list);
    const pack = Math.floor(row / DETAILS_IN_A_PACK);
    if (row >= data.detailed) {
      body.append(make("p", "This page has no more of this client than that: there is room for the clients that need somebody most. ./spark-submit.sh report --principal shows all of one principal.", "missing"));
      return;
    }
    const detail = (await unpack(data.packs[pack]))[row % DETAILS_IN_A_PACK];
    if (location.hash !== `#client/${key}`) return;
    for (const [name, value] of detail.identity) add(name, value);
    const {box, drawing} = makeLines(detail);
    body.append(
      make("h3", "Findings"), makeTable(detail.findings, "Nothing is wrong with it."),
      make("h3", "Over time (UTC)"), makeLegend(detail.marks),
      detail.lines.length ? box : make("p", "It has told no metric that is shown here in that time.", "none"),
      make("h3", "Quotas and use"), makeTable(detail.quotas, "No limit is known for it."),
      make("h3", "Configuration"), makeTable(detail.configs, "Nothing is known of its configuration."),
      make("h3", "What changed in it"), makeTable(detail.history, "Nothing that is known."),
      make("h3", "Instances"), makeTable(detail.instances, "None has told of itself."),
    );
    await Promise.all(drawing.map((one) => one()));
  }

  function follow() {
    const key = location.hash.startsWith("#client/") ? location.hash.slice("#client/".length) : null;
    byId("fleet-part").hidden = key !== null;
    byId("client-part").hidden = key === null;
    if (key !== null) {
      window.scrollTo(0, 0);
      showClient(key).catch(showFault);
    } else if (location.hash.length > 1) {
      const part = byId(location.hash.slice(1));
      if (part instanceof HTMLDetailsElement) part.open = true;
      if (part) part.scrollIntoView();
    }
  }

  // ------------------------------------------------------------- at its start

  async function start() {
    drawWhenSeen([...document.querySelectorAll(".picture[data-picture]")]);
    const packed = await unpack(data.clients);
    rows = packed.rows;
    columns = readColumns(packed);
    keys = columns.key;
    found = Uint32Array.from({length: rows}, (_, row) => row);
    makeHead();
    fillChoices();
    byId("find").addEventListener("input", findRows);
    for (const id of ["state", "severity", "which"]) byId(id).addEventListener("change", findRows);
    byId("filter").addEventListener("submit", (event) => event.preventDefault());
    byId("before").addEventListener("click", () => { shownPage -= 1; showRows(); });
    byId("next").addEventListener("click", () => { shownPage += 1; showRows(); });
    showRows();
    window.addEventListener("hashchange", follow);
    follow();
    document.body.dataset.ready = String(Math.round(performance.now()));
  }

  async function askForNewer() {
    const answer = await fetch("/made-at", {cache: "no-store"});
    if (answer.ok && Number(await answer.text()) > data.madeAt) byId("newer").hidden = false;
  }

  start().catch(showFault);
  if (document.documentElement.dataset.served === "yes") {
    setInterval(() => { askForNewer().catch(() => {}); }, ASK_EVERY_MS);
  }
})();
