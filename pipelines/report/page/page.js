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
  const LONGEST_WORD = 32;
  const SHORT_NAME = 24;
  const SKEWED = 30;
  const TIME = /^\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?$/;
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
    // On paper nobody can open anything, or scroll.
    window.addEventListener("beforeprint", () => {
      for (const one of document.querySelectorAll("#fleet-part details")) one.open = true;
      places.forEach(drawOnce);
    });
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

  let columns, rows, keys, found, search, hint = "", shownPage = 0;
  let sorting = {name: null, isDown: false};
  let haystack = null;

  const FINDINGS = [["errors", "error"], ["warnings", "warning"], ["advice", "advice"]];
  const COLUMNS = [
    {name: "client_id", title: "client id"},
    {name: "principal", title: "principal"},
    ...(data.cluster === null ? [{name: "cluster_id", title: "cluster"}] : []),
    {name: "client_type", title: "type"},
    {name: "software", title: "software", then: "version"},
    {name: "state", title: "state"},
    {name: "active", title: "active", isNumber: true, isDown: true},
    {name: "errors", title: "findings", then: "warnings", last: "advice", isDown: true},
    {name: "use", title: "limit (%)", isNumber: true, isDown: true},
    {name: "last_seen", title: "last seen (UTC)", isDown: true},
    {name: "first_seen", title: "first seen (UTC)", isDown: true},
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

  function readRows(steps) {
    let row = 0;
    return steps.map((step) => (row += step));
  }

  // A word is part of a name, or of a rule; key=value and a whole key are configured.
  function findMarked(word) {
    const own = new Set();
    const add = (steps) => { for (const row of readRows(steps)) own.add(row); };
    for (const [rule, steps] of Object.entries(search.found)) {
      if (rule.toLowerCase().includes(word)) add(steps);
    }
    for (const [text, steps] of Object.entries(search.values)) {
      const lower = text.toLowerCase();
      if (lower === word || (!word.includes("=") && lower.split("=", 1)[0] === word)) add(steps);
    }
    return own;
  }

  function explainWord(word) {
    if (!word.includes("=") || !Object.keys(search.values).length) return "";
    const [key] = word.split("=", 1);
    const known = Object.keys(search.values).filter((text) => text.toLowerCase().startsWith(`${key}=`));
    if (known.some((text) => text.toLowerCase() === word)) return "";
    return known.length
      ? ` No client has ${word}; values of ${key}: ${known.map((text) => text.slice(key.length + 1)).slice(0, 8).join(", ")}.`
      : ` No client is known to have ${key} configured.`;
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
    const marked = words.map(findMarked);
    const kept = [];
    for (let row = 0; row < rows; row++) {
      if (state && columns.state[row] !== state) continue;
      if (which && `${columns.software[row]} ${columns.version[row]}` !== which) continue;
      if (severity === "none") {
        if (FINDINGS.some(([name]) => columns[name][row])) continue;
      } else if (severity && !columns[severity][row]) continue;
      if (!words.every((word, place) => marked[place].has(row) || haystack[row].includes(word))) continue;
      kept.push(row);
    }
    hint = words.map(explainWord).join("");
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
      // The widest column: it may break at hyphens.
      cell.className = chooseLook(nameOf(row)).replace("whole", "");
    } else if (column.name === "errors") {
      for (const [name, severity] of FINDINGS) {
        const count = columns[name][row];
        if (count) cell.append(make("span", `${count} ${severity}${count > 1 && severity !== "advice" ? "s" : ""}`, `badge ${severity}`));
      }
    } else if (column.name === "software") {
      const whole = make("span");
      whole.append(make("bdi", value ?? PHRASES.null, chooseLook(value)), " ");
      if (columns.version[row] !== null) whole.append(make("bdi", columns.version[row], chooseLook(columns.version[row]) || "whole"));
      if (columns.versions[row] > 1) whole.append(make("small", ` and ${columns.versions[row] - 1} more`));
      cell.append(whole);
    } else if (value === null) {
      cell.append(make("span", PHRASES.null, "null"));
      if (column.isNumber) cell.className = "number";
    } else if (column.name.endsWith("_seen")) {
      cell.textContent = showTime(data.madeAt - value * MINUTE_MS);
      cell.className = "whole";
    } else if (column.name === "active") {
      cell.textContent = `${showNumber(value)} of ${showNumber(columns.instances[row])}`;
      cell.className = "number";
    } else if (column.name === "use") {
      cell.textContent = showNumber(Number((100 * value).toPrecision(3)));
      cell.className = "number";
    } else {
      cell.append(make("bdi", String(value)));
      cell.className = chooseLook(value);
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
    byId("found").textContent = (found.length === rows
      ? `${showNumber(rows)} clients` : `${showNumber(found.length)} of ${showNumber(rows)} clients`) + (hint && "." + hint);
    byId("page").textContent = `page ${shownPage + 1} of ${showNumber(pages)}`;
    byId("before").disabled = shownPage === 0;
    byId("next").disabled = shownPage >= pages - 1;
    for (const head of byId("client-table").tHead.querySelectorAll("th")) {
      const isSorted = head.dataset.column === sorting.name;
      head.setAttribute("aria-sort",
        isSorted ? (sorting.isDown ? "descending" : "ascending") : "none");
      head.querySelector(".arrow").textContent = isSorted ? (sorting.isDown ? "▼" : "▲") : "↕";
    }
  }

  function makeHead() {
    const line = make("tr");
    for (const column of COLUMNS) {
      const head = make("th"), button = make("button");
      const arrow = make("span", "↕", "arrow");
      arrow.setAttribute("aria-hidden", "true");
      button.append(make("span", column.title), arrow);
      button.title = `Sort by ${column.title}`;
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

  // Whether a text may break: numbers, times, versions and keys never do.
  function chooseLook(value) {
    if (typeof value === "number") return "number";
    const text = String(value ?? "");
    if (TIME.test(text) || (text.length <= SHORT_NAME && !/\s/.test(text))) return "whole";
    return text.split(/\s+/).some((word) => word.length > LONGEST_WORD) ? "long" : "";
  }

  function makeSentence(name, text, className) {
    const made = make(name, null, className);
    text.split(/`([^`]*)`/).forEach((part, place) => {
      if (part) made.append(place % 2 ? make("code", part) : part);
    });
    return made;
  }

  function makeTable(part, none) {
    if (part.missing) return make("p", part.missing, "missing");
    if (!part.rows.length) return make("p", none, "none");
    const box = make("div", null, "scroll"), table = make("table");
    const head = make("thead"), names = make("tr"), body = make("tbody");
    part.names.forEach((name, place) => {
      const isNumber = part.rows.some((row) => typeof row[place] === "number");
      const cell = make("th", name, isNumber ? "number" : "");
      cell.scope = "col";
      names.append(cell);
    });
    head.append(names);
    for (const row of part.rows) {
      const line = make("tr");
      row.forEach((value, place) => {
        const cell = make("td", null, value === null ? "" : chooseLook(value));
        cell.dataset.name = part.names[place];
        if (value === null) cell.append(make("span", PHRASES.null, "null"));
        else if (typeof value === "number") cell.textContent = showNumber(value);
        else if (typeof value === "boolean") cell.textContent = value ? "yes" : "no";
        else cell.append(make("bdi", String(value)));
        line.append(cell);
      });
      body.append(line);
    }
    table.append(head, body);
    box.append(table);
    if (part.more) box.append(make("p", `${showNumber(part.more)} more rows are in the tables.`, "more"));
    return box;
  }

  function makeSources(sources) {
    const told = make("p", "Documentation: ", "source");
    for (const [text, address] of sources) {
      if (!address) { told.append(text); continue; }
      const link = make("a", text);
      link.href = address;
      link.rel = "noopener";
      told.append(link);
    }
    return told;
  }

  function makeFinding(told) {
    const box = make("div", null, `rule ${told.severity}`);
    const first = make("p");
    first.append(make("span", told.severity, `badge ${told.severity}`));
    const anchor = Object.hasOwn(data.rules, told.rule) ? data.rules[told.rule] : null;
    const rule = make(anchor ? "a" : "span");
    if (anchor) rule.href = `#rule-${anchor}`;
    rule.append(make("bdi", told.rule));
    first.append(rule);
    if (told.since) {
      const when = make("span", " since ", "when");
      when.append(make("time", told.since));
      first.append(when);
    }
    box.append(first, makeSentence("p", told["what is wrong"] ?? ""));
    if (told.set) {
      const fix = make("p", "Set ", "fix");
      fix.append(make("code", told.set));
      if (told.is !== null && told.is !== undefined) fix.append(" (now ", make("code", String(told.is)), ")");
      if (told.to) fix.append(" to ", make("code", told.to));
      fix.append(".");
      box.append(fix);
    }
    if (told.why) box.append(makeSentence("p", told.why));
    const sources = Object.hasOwn(data.sources, told.rule) ? data.sources[told.rule] : [];
    if (sources.length) box.append(makeSources(sources));
    return box;
  }

  function makeFindings(detail) {
    const box = make("div"), part = detail.findings;
    if (part.missing) box.append(make("p", part.missing, "missing"));
    for (const row of part.rows) {
      box.append(makeFinding(Object.fromEntries(part.names.map((name, place) => [name, row[place]]))));
    }
    const isKnown = detail.evaluated !== null;
    if (!part.missing && !part.rows.length) {
      box.append(make("p", isKnown ? `No open finding: ${detail.evaluated} rules were evaluated for this client.` : "No open finding.", "none"));
    } else if (isKnown) {
      box.append(make("p", `${detail.evaluated} rules were evaluated for this client.`, "when"));
    }
    const left = detail.notEvaluated.rows.length + detail.notEvaluated.more;
    if (left) {
      const others = make("details");
      others.append(make("summary", `${left} rule${left === 1 ? "" : "s"} could not be evaluated`), makeTable(detail.notEvaluated, ""));
      box.append(others);
    }
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
    if (data.cluster === null) add("cluster", columns.cluster_id[row]);
    add("software", [columns.software[row], columns.version[row]].filter((one) => one !== null).join(" "));
    add("state", columns.state[row]);
    add("instances", `${columns.active[row] ?? 0} active of ${columns.instances[row] ?? 0}`);
    for (const name of ["first_seen", "last_seen"]) {
      const ago = columns[name][row];
      if (ago !== null) add(`${name.replace("_", " ")} (UTC)`, showTime(data.madeAt - ago * MINUTE_MS));
    }
    return {list, add};
  }

  function showSpan(millis) {
    for (const [unit, length] of [["d", 86400000], ["h", 3600000], ["min", 60000]]) {
      if (millis >= length) return `${showNumber(millis / length)} ${unit}`;
    }
    return `${showNumber(millis / 1000)} s`;
  }

  const at = (step) => data.start + (step + 0.5) * data.step;

  // A line breaks where a client was silent for longer than three of its pushes.
  function breakLine(points, interval) {
    const steps = points.map(([step]) => step);
    const gaps = steps.slice(1).map((step, place) => step - steps[place]).sort((a, b) => a - b);
    const usual = interval ? interval / data.step : gaps[Math.floor(gaps.length / 2)] ?? 1;
    const most = Math.max(1, 3 * usual);
    const drawn = [];
    points.forEach(([step, value], place) => {
      if (place && step - steps[place - 1] > most) {
        drawn.push({at: at((step + steps[place - 1]) / 2), value: null, mark: null});
      }
      drawn.push({at: at(step), value, mark: null});
    });
    return drawn;
  }

  // One value that hides the others: a scale that is logarithmic from the least on.
  function chooseScale(values) {
    const known = values.filter((one) => one > 0).sort((a, b) => a - b);
    const most = known[known.length - 1], middle = known[Math.floor(known.length / 2)];
    if (known.length < 2 || values.some((one) => one < 0) || most <= SKEWED * middle) return null;
    const ticks = [0];
    for (let power = Math.floor(Math.log10(known[0])); power <= Math.ceil(Math.log10(most)); power++) ticks.push(10 ** power);
    const every = Math.ceil((ticks.length - 1) / 3);
    return {
      scale: {type: "symlog", constant: known[0]},
      axis: {values: ticks.filter((_, place) => place === 0 || (ticks.length - 1 - place) % every === 0), format: ".3~s"},
    };
  }

  function describeValue(line) {
    const values = line.points.map(([, value]) => value);
    if (values.length === 1) return `one value: ${showNumber(values[0])}, ${showTime(at(line.points[0][0]))}`;
    if (values.every((value) => value === values[0])) return `${showNumber(values[0])} at all times`;
    return null;
  }

  function makeLine(line, detail) {
    const part = make("div", null, "small");
    const unit = line.perStep ? `${line.unit} per ${showSpan(data.step)}` : line.unit;
    const chosen = chooseScale(line.points.map(([, value]) => value));
    part.append(make("h4", `${line.name}${unit ? ` (${unit}${chosen ? ", log" : ""})` : ""}`));
    const words = describeValue(line);
    if (words !== null) {
      part.append(make("p", words, "single"));
      return {part, draw: null};
    }
    const place = make("div", null, "picture");
    part.append(place);
    const points = breakLine(line.points, detail.pushInterval);
    for (const end of [data.start, data.end]) points.push({at: end, value: null, mark: null});
    for (const [mark, steps] of Object.entries(detail.marks)) {
      for (const step of steps) points.push({at: at(step), value: null, mark});
    }
    const spec = structuredClone(data.pictures.line);
    spec.datasets = {points};
    if (chosen) {
      const y = spec.layer[1].encoding.y;
      y.scale = chosen.scale;
      y.axis = chosen.axis;
    }
    return {part, draw: () => draw(place, spec)};
  }

  function makeLines(detail) {
    const box = make("div", null, "lines");
    // Pictures first: a few words have no need of their height.
    const made = detail.lines.map((line) => makeLine(line, detail));
    const drawing = made.map((one) => one.draw).filter(Boolean);
    for (const one of made) if (one.draw) box.append(one.part);
    const words = make("div", null, "lines words");
    for (const one of made) if (!one.draw) words.append(one.part);
    return {boxes: [box, words].filter((one) => one.childElementCount), drawing};
  }

  function makeLegend(marks) {
    const told = make("p", null, "when");
    const kinds = [["throttled", "throttled"], ["rebalance", "rebalance"], ["configuration", "configuration changed"]];
    for (const [name, text] of kinds) {
      if (marks[name] && marks[name].length) {
        const number = marks[name].length;
        told.append(make("span", null, `key ${name}`), ` ${text} in ${number} interval${number === 1 ? "" : "s"} of ${showSpan(data.step)} `);
      }
    }
    return told;
  }

  async function showClient(key) {
    const row = keys.indexOf(key);
    const body = byId("client-body");
    if (row < 0) {
      byId("client-name").textContent = "No such client";
      body.replaceChildren(make("p", "This report has no such client. An earlier report may have had it.", "missing"));
      return;
    }
    byId("client-name").replaceChildren(make("bdi", nameOf(row)));
    const {list, add} = makeIdentity(row);
    body.replaceChildren(list);
    const pack = Math.floor(row / DETAILS_IN_A_PACK);
    if (row >= data.detailed) {
      body.append(make("p", "This report has no details of this client: there is room for the clients that need attention most. ./spark-submit.sh report --principal shows all clients of one principal.", "missing"));
      return;
    }
    const detail = (await unpack(data.packs[pack]))[row % DETAILS_IN_A_PACK];
    if (location.hash !== `#client/${key}`) return;
    for (const [name, value] of detail.identity) add(name, value);
    const {boxes, drawing} = makeLines(detail);
    body.append(
      make("h3", "Findings"), makeFindings(detail),
      make("h3", `Over time (UTC, ${showTime(data.start)} to ${showTime(data.end)})`), makeLegend(detail.marks),
      ...(boxes.length ? boxes : [make("p", "This client reported no metric that is shown here in that time.", "none")]),
      make("h3", "Quotas and use"), makeTable(detail.quotas, "No limit is known for this client."),
      make("h3", "Changes"), makeTable(detail.history, "No configured value of this client is known to have changed."),
      make("h3", "Configuration"), makeTable(detail.configs, "No configuration of this client is known."),
      make("h3", "Instances"), makeTable(detail.instances, "No instance of this client has pushed telemetry or its configuration."),
    );
    await Promise.all(drawing.map((one) => one()));
  }

  function readAddress(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  function follow() {
    const [kind, name] = [location.hash.split("/", 1)[0], location.hash.split("/").slice(1).join("/")];
    const isClient = kind === "#client";
    byId("fleet-part").hidden = isClient;
    byId("client-part").hidden = !isClient;
    if (isClient) {
      window.scrollTo(0, 0);
      showClient(name).catch(showFault);
    } else if (kind === "#find") {
      byId("find").value = readAddress(name);
      findRows();
      byId("clients").scrollIntoView();
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
    search = await unpack(data.search);
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
