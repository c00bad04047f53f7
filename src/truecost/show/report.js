"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const root = document.documentElement;

  // ---- charts: as wide as there is room, panels under each other where there is little ----

  const ROOM = 78; // for an axis with its labels and title
  const LEAST = 190; // pixels of a panel beside another
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
    } else {
      fit(spec, room - (narrow ? ROOM : ROOM + 20), fixed ? spec.width : MOST.one);
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
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const fold of closed) fold.open = true;
  });
  window.addEventListener("afterprint", () => { for (const fold of closed) fold.open = false; });

  // ---- tables ----

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
