"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;

  // ---- charts: as wide as there is room, panels under each other where there is little ----

  const ROOM = 78; // for an axis with its labels and title
  const LEAST = 190; // pixels of a panel beside another
  const LABEL = 110; // pixels of a name at an axis of a narrow figure
  const LONG = 40; // letters of an axis title in one line
  const MOST = { one: 860, several: 400 }; // wider is not better

  function fitted(original, room, fixed) {
    const spec = structuredClone(original);
    const narrow = room < 560;
    if (narrow) {
      Object.assign(spec.config.legend, { columns: 1, labelLimit: room - 40 });
      each(spec, "legend", (legend) => { legend.columns = 1; if (legend.orient) legend.orient = "bottom"; });
      each(spec, "x", (channel) => { if (channel.title?.length > LONG) channel.title = inTwo(channel.title); });
    }
    if (spec.hconcat) {
      const share = Math.floor(room / spec.hconcat.length) - ROOM - 15;
      if (share < LEAST) { spec.vconcat = spec.hconcat; delete spec.hconcat; spec.vconcat.forEach((part) => fit(part, room - ROOM, MOST.several)); }
      else spec.hconcat.forEach((part) => fit(part, share, MOST.several));
    } else if (narrow) {
      // Axes with long names: the whole figure fits, whatever they take.
      each(spec, "axis", (axis) => { if (axis.labelLimit) axis.labelLimit = LABEL; });
      if (spec.width <= spec.height && fixed) spec.height = Math.round(spec.height * Math.min(1, room / (spec.width + ROOM)));
      Object.assign(spec, { width: room, autosize: { type: "fit-x", contains: "padding" } });
    } else {
      fit(spec, room - ROOM - 20, fixed ? spec.width : MOST.one);
    }
    return spec;
  }

  function fit(view, room, most) {
    const wide = view.width > view.height;
    if (view.width > room && !wide) view.height = Math.round(view.height * room / view.width); // squares stay squares
    view.width = wide ? Math.min(room, most) : Math.min(view.width, room);
  }

  function inTwo(text) {
    const middle = text.indexOf(" ", text.length / 2);
    return middle < 0 ? text : [text.slice(0, middle), text.slice(middle + 1)];
  }

  // Every part of a specification under this name, wherever it stands; the data are no part of it.
  function each(value, name, change) {
    if (Array.isArray(value)) value.forEach((item) => each(item, name, change));
    else if (value && typeof value === "object") {
      for (const [key, item] of Object.entries(value)) {
        if (key === "data" || key === "datasets") continue;
        if (key === name && item && typeof item === "object") change(item);
        else each(item, name, change);
      }
    }
  }

  async function draw(box) {
    // What is folded away has no width where browsers do not lay it out; it is drawn all the same, for paper.
    const room = Math.floor(box.getBoundingClientRect().width || document.getElementById("verdict").getBoundingClientRect().width);
    if (!room || box.dataset.room === String(room)) return;
    box.dataset.room = String(room);
    try {
      const drawn = await vegaEmbed(box, fitted(charts[box.dataset.chart], room, "fixed" in box.dataset), {
        mode: "vega-lite", renderer: "svg", actions: false, ast: true,
      });
      if (box.finalize) box.finalize();
      box.finalize = () => drawn.finalize();
      drawn.view.addEventListener("click", (event, item) => showRuns(box, item?.datum?.instance));
      box.querySelector("svg").setAttribute("aria-hidden", "true"); // the box has the words
      box.dataset.drawn = "yes";
    } catch (error) {
      box.dataset.drawn = "no";
      box.textContent = "This chart could not be drawn: " + error;
      console.error(error);
    }
  }

  async function drawAll() {
    for (const box of document.querySelectorAll("[data-chart]")) await draw(box);
    root.dataset.ready = "yes";
  }
  drawAll();
  let waiting;
  window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 200); });

  // ---- folds: opened by links to them, and for paper ----

  function open(name) {
    for (const fold of document.getElementById(name)?.querySelectorAll(":scope > details:first-child") ?? []) fold.open = true;
  }
  for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", () => open(link.hash.slice(1)));
  open(location.hash.slice(1));
  document.addEventListener("toggle", drawAll, true);
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open], .data)")];
    for (const time of document.querySelectorAll("time")) time.textContent = new Date().toISOString().slice(0, 10);
    for (const fold of closed) fold.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
    delete root.dataset.print;
  });
  document.getElementById("full").addEventListener("click", () => { root.dataset.print = "full"; window.print(); });

  // ---- downloads, always in light colours; data as a table, made when asked for ----

  const light = (text) => text.replace(/var\((--[\w-]+)\)/g, (whole, name) => {
    const value = getComputedStyle(root).getPropertyValue(name);
    return /light-dark\(\s*([^,]+),/.exec(value)?.[1] ?? value;
  });

  function keep(name, type, content) {
    const link = document.createElement("a");
    link.href = type ? URL.createObjectURL(new Blob([content], { type })) : content;
    link.download = name;
    link.click();
  }

  function save(figure, kind) {
    const name = figure.querySelector("[data-chart]").dataset.chart;
    if (kind === "csv") return keep(name + ".csv", "text/csv", data.csv[name]);
    const svg = figure.querySelector(".chart svg").cloneNode(true);
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const text = light(new XMLSerializer().serializeToString(svg));
    if (kind === "svg") return keep(name + ".svg", "image/svg+xml", text);
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * image.width;
      canvas.height = 2 * image.height;
      const context = canvas.getContext("2d");
      context.fillStyle = "white";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      keep(name + ".png", null, canvas.toDataURL("image/png"));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  }
  for (const button of document.querySelectorAll("[data-save]")) {
    button.addEventListener("click", () => save(button.closest("figure"), button.dataset.save));
  }

  const MOST_ROWS = 300; // of a table of data; the file has all
  function cells(line) {
    return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].slice(0, line.split(",").length)
      .map((match) => match[1].replace(/^"|"$/g, "").replaceAll('""', '"'));
  }
  for (const fold of document.querySelectorAll("details.data")) {
    fold.addEventListener("toggle", () => {
      const place = fold.querySelector(".rows");
      if (!fold.open || place.childElementCount) return;
      const name = fold.closest("figure").querySelector("[data-chart]").dataset.chart;
      const [head, ...rows] = data.csv[name].trimEnd().split("\n");
      const table = document.createElement("table");
      place.tabIndex = 0;
      place.setAttribute("role", "region");
      place.setAttribute("aria-label", "Data: " + fold.closest("figure").querySelector("h3").textContent);
      const add = (parent, values, tag) => {
        const row = parent.insertRow();
        for (const value of values) {
          const cell = row.appendChild(document.createElement(tag));
          cell.textContent = value;
          if (tag === "th") { cell.scope = "col"; cell.className = "head"; }
        }
      };
      const columns = cells(head);
      add(table.createTHead(), columns, "th");
      const body = table.createTBody();
      for (const row of rows.slice(0, MOST_ROWS)) add(body, cells(row).slice(0, columns.length), "td");
      place.append(table);
      if (rows.length > MOST_ROWS) place.append(`${MOST_ROWS} of ${rows.length} rows; the file has all.`);
    });
  }

  // ---- another pair of configurations, and the runs on an instance ----

  const round = (value) => Number(value.toPrecision(3)).toLocaleString("en");

  function showRuns(box, instance) {
    const place = data.instances?.indexOf(instance) ?? -1;
    const note = box.closest("figure").querySelector(".runs");
    if (place < 0 || !note) return;
    const runs = (role) => data.runs[role][place].map((cost) => round(data.sign * cost)).join(", ");
    note.textContent = `${instance}: winner ${runs("winner")}; default ${runs("default")}.`;
  }

  function repaired(winner, standard) {
    const [ours, theirs] = [winner, standard].map((name) => data.means[data.configurations.indexOf(name)]);
    const cap = (value) => Math.min(value, data.limit ?? Infinity);
    const better = data.sign < 0 ? "scores more" : "costs less";
    return data.instances.map((instance, place) => [instance, ours[place], theirs[place]])
      .filter(([, our, their]) => our !== null && their !== null)
      .map(([instance, our, their]) => ({
        instance, incumbent_cost: our, default_cost: their, x: cap(their), y: cap(our),
        incumbent_cost_shown: -our, default_cost_shown: -their, // where costs are minus a score
        what: our < their ? `winner ${better}` : our > their ? `default ${better}` : "equal",
      }));
  }

  // Another pair may have values beyond the axes, which both layers and the diagonal share.
  function widen(chart, values) {
    const sides = (chart.layer ?? []).flatMap((layer) => [layer.encoding?.x, layer.encoding?.y])
      .filter((side) => side?.scale?.domain);
    if (!sides.length || !values.length) return;
    const [low, high] = sides[0].scale.domain;
    const ends = [Math.min(low, ...values), Math.max(high, ...values)];
    for (const side of sides) side.scale.domain = ends;
    for (const rows of [...Object.values(chart.datasets ?? {}), ...chart.layer.map((layer) => layer.data?.values)]) {
      if (rows?.length === 2 && rows[0].instance === undefined && rows[0].x === low) {
        rows.forEach((row, place) => { row.x = row.y = ends[place]; });
      }
    }
  }

  function pickers(figure) {
    const line = document.createElement("p");
    line.className = "pick";
    const selects = ["winner", "default"].map((role) => {
      const label = line.appendChild(document.createElement("label"));
      label.append(role === "winner" ? "Vertical: " : "Horizontal: ");
      const select = label.appendChild(document.createElement("select"));
      for (const name of data.configurations) select.add(new Option(name, name, false, name === data.pair[role]));
      return select;
    });
    const note = document.createElement("p");
    note.className = "runs";
    note.setAttribute("aria-live", "polite");
    note.textContent = "Click a point to see its runs. Other pairs are for exploring: statements are about winner and default.";
    figure.querySelector("figcaption").append(line);
    figure.querySelector(".chart").after(note);
    const original = structuredClone(charts.scatter);
    const change = () => {
      const [winner, standard] = selects.map((select) => select.value);
      const same = winner === data.pair.winner && standard === data.pair.default;
      charts.scatter = structuredClone(original);
      if (!same) {
        const rows = repaired(winner, standard);
        for (const [name, values] of Object.entries(charts.scatter.datasets ?? {})) {
          if (values[0]?.incumbent_cost !== undefined) charts.scatter.datasets[name] = rows;
        }
        for (const layer of charts.scatter.layer ?? []) {
          if (layer.data?.values?.[0]?.incumbent_cost !== undefined) layer.data.values = rows;
        }
        widen(charts.scatter, rows.flatMap((row) => [row.x, row.y]));
      }
      const box = figure.querySelector("[data-chart]");
      delete box.dataset.room;
      draw(box);
    };
    for (const select of selects) select.addEventListener("change", change);
  }
  if (data.means && document.getElementById("figure-scatter")) pickers(document.getElementById("figure-scatter"));

  // ---- tables ----

  for (const input of document.querySelectorAll("[data-filter]")) {
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of document.getElementById(input.dataset.filter).tBodies[0].rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
      }
    });
  }

  const collator = new Intl.Collator("en", { numeric: true });

  function sortBy(head) {
    const table = head.closest("table");
    const place = [...head.parentElement.children].indexOf(head);
    const up = head.getAttribute("aria-sort") !== "ascending";
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => {
      const cell = row.cells[place];
      return { row, key: cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v) };
    });
    keyed.sort((a, b) => {
      if (typeof a.key === "string") return (up ? 1 : -1) * collator.compare(a.key, b.key);
      if (Number.isNaN(a.key) || Number.isNaN(b.key)) return Number.isNaN(a.key) - Number.isNaN(b.key); // what is not known last
      return (up ? 1 : -1) * (a.key - b.key);
    });
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...keyed.map((item) => item.row));
  }
  for (const button of document.querySelectorAll(".sort")) button.addEventListener("click", () => sortBy(button.closest("th")));

  // ---- words: beside the button that asked for them ----

  for (const button of document.querySelectorAll(".why")) {
    button.addEventListener("click", () => {
      const words = document.getElementById(button.getAttribute("popovertarget"));
      requestAnimationFrame(() => {
        const at = button.getBoundingClientRect();
        const size = words.getBoundingClientRect();
        const left = Math.max(16, Math.min(at.left - 12, root.clientWidth - size.width - 16));
        const below = at.bottom + 8 + size.height <= window.innerHeight;
        words.style.inset = "auto";
        words.style.margin = "0";
        words.style.left = left + "px";
        words.style.top = Math.max(8, below ? at.bottom + 8 : at.top - size.height - 8) + "px";
      });
    });
  }

  // ---- light and dark, copying ----

  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.previousElementSibling;
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code); // where a page from disk may not write to the clipboard
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
})();
