"use strict";
// The list of documents, the map's tips and the copy buttons. No markup is ever made from data: text goes in as text.
(() => {
  const $ = (id) => document.getElementById(id);
  const percent = (share) => `${Math.round(100 * share)}%`;
  document.documentElement.classList.add("js");

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.previousElementSibling;
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        const range = document.createRange();
        range.selectNodeContents(code);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
  if (!$("data")) return;

  const data = JSON.parse($("data").textContent);
  const words = new Map(Object.entries(data.words));
  const n = data.row.length, ROW = 64, AHEAD = 6;
  const place = new Map(data.row.map((row, i) => [row, i]));
  const sourcePlace = new Map(data.source.id.map((row, i) => [row, i]));
  let lower = null;  // texts in lower case, made at the first search
  let order = [], at = 0;
  const past = [];
  const kept = load();

  function load() {
    try { return new Map(Object.entries(JSON.parse(localStorage.getItem(data.key)) || {})); } catch { return new Map(); }
  }
  function save() {
    try { localStorage.setItem(data.key, JSON.stringify(Object.fromEntries(kept))); } catch { /* no storage here */ }
  }
  const answer = (i) => kept.get(String(data.row[i]));
  const said = (i) => answer(i) ?? data.classes[data.label[i]];

  function make(tag, name, text) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // Words tinted by what they say about the label, as report/tint.py does it for paper.
  const WORD = /\p{L}[\p{L}\p{M}]+/gu;
  const UNSPACED = /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]/;
  function spans(text, code) {
    const found = [];
    const add = (start, end, grade) => {
      if (Math.abs(grade) >= 2) found.push([start, end, (grade > 0 ? "for" : "no") + (Math.abs(grade) >= 5 ? "2" : "")]);
    };
    for (const match of text.matchAll(WORD)) {
      const word = match[0], start = match.index;
      if (!UNSPACED.test(word)) {
        const grades = words.get(word.toLowerCase());
        if (grades) add(start, start + word.length, grades[code]);
        continue;
      }
      for (let i = 0; i < word.length - 1; i++) {
        const grades = words.get(word.slice(i, i + 2));
        if (grades && Math.abs(grades[code]) >= 2) { add(start + i, start + i + 2, grades[code]); i++; }
      }
    }
    return found;
  }
  function tinted(element, text, code) {
    let end = 0;
    for (const [start, stop, kind] of code < 0 ? [] : spans(text, code)) {
      element.append(text.slice(end, start), make("mark", kind, text.slice(start, stop)));
      end = stop;
    }
    element.append(text.slice(end));
    return element;
  }

  const rows = $("rows"), room = rows.firstElementChild;
  function filter(keep) {
    const show = $("show").value, wanted = $("class").value, sort = $("sort").value;
    const query = $("search").value.trim().toLowerCase();
    if (query && !lower) lower = data.text.map((text, i) => `${text} ${data.id[i]}`.toLowerCase());
    order = [];
    for (let i = 0; i < n; i++) {
      if (show === "review" && data.review[i] !== "1") continue;
      if (show === "done" && answer(i) === undefined) continue;
      if (show === "new" && !data.group[i]) continue;
      if (wanted !== "" && said(i) !== wanted) continue;
      if (query && !lower[i].includes(query)) continue;
      order.push(i);
    }
    if (sort !== "row") {
      const sign = sort === "sure" ? 1 : -1;
      order.sort((a, b) => sign * (data.sure[a] - data.sure[b]) || a - b);
    }
    room.style.height = `${order.length * ROW}px`;
    at = Math.max(0, keep === undefined ? 0 : order.indexOf(keep));
    rows.scrollTop = Math.max(0, at * ROW - rows.clientHeight / 2);
    draw(); read();
  }

  function draw() {
    const first = Math.max(0, Math.floor(rows.scrollTop / ROW) - AHEAD);
    const last = Math.min(order.length, Math.ceil((rows.scrollTop + rows.clientHeight) / ROW) + AHEAD);
    const fresh = [];
    for (let k = first; k < last; k++) fresh.push(line(k));
    room.replaceChildren(...fresh);
    if (order.length) rows.setAttribute("aria-activedescendant", `row-${at}`); else rows.removeAttribute("aria-activedescendant");
    const fixed = kept.size;
    $("state").textContent = `${order.length.toLocaleString("en")} of ${n.toLocaleString("en")} documents · ` +
      `${fixed} corrected, kept in this browser`;
    $("download").disabled = !fixed;
    $("download").textContent = fixed ? `Download ${fixed} ${fixed === 1 ? "correction" : "corrections"}` : "Download corrections";
    $("undo").disabled = !past.length;
  }
  function line(k) {
    const i = order[k], row = make("div", "row"), top = make("div", "top");
    row.id = `row-${k}`;
    row.style.top = `${k * ROW}px`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", k === at);
    row.setAttribute("aria-posinset", k + 1);
    row.setAttribute("aria-setsize", order.length);
    top.append(swatch(said(i)), make("bdi", "name", said(i)));
    if (answer(i) !== undefined) top.append(make("span", "set", "✓ corrected"));
    if (data.group[i]) top.append(make("span", "", `new: ${data.group[i]}`));
    top.append(make("span", "sure", percent(data.sure[i])));
    row.append(top, inOwnDirection(make("div", "bit", data.text[i].slice(0, 160))));
    row.addEventListener("click", () => go(k));
    return row;
  }
  function inOwnDirection(element) {
    element.dir = "auto";
    return element;
  }
  function swatch(name) {
    const code = data.classes.indexOf(name);
    return make("span", code < 0 ? "key" : `key k${code % 8}`);
  }

  function read() {
    const reader = $("reader"), i = order[at];
    reader.scrollTop = 0;
    if (i === undefined) { reader.replaceChildren(make("p", "soft", "No document matches these filters.")); return; }
    const code = data.classes.indexOf(said(i));
    const head = make("p", "small soft", `${data.id[i]} · ${data.classes[data.label[i]]} ${percent(data.sure[i])}`);
    if (data.second[i] >= 0) head.append(` · next: ${data.classes[data.second[i]]}`);
    const choices = make("div", "choices");
    data.classes.slice(0, 9).forEach((name, c) => {
      const button = make("button");
      button.type = "button";
      button.setAttribute("aria-pressed", said(i) === name);
      button.append(make("kbd", "", String(c + 1)), " ", swatch(name), name);
      button.addEventListener("click", () => give(name));
      choices.append(button);
    });
    choices.append(otherLabel());
    const near = make("div");
    if (data.near[i].length) near.append(make("h3", "", "Near it in the source"));
    for (const s of data.near[i]) {
      const quote = inOwnDirection(make("blockquote"));
      const c = data.source.label[s];
      tinted(quote, data.source.text[s], c);
      const tag = make("span", "soft");
      tag.append(" ", swatch(data.classes[c]), data.classes[c] ?? "");
      quote.append(tag);
      near.append(quote);
    }
    reader.replaceChildren(head, choices, tinted(inOwnDirection(make("p", "full")), data.text[i], code), near);
  }
  function otherLabel() {
    const box = make("input");
    box.setAttribute("aria-label", "another label");
    box.placeholder = "another label";
    box.size = 12;
    box.setAttribute("list", "names");
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && box.value.trim()) { give(box.value.trim()); rows.focus(); }
      if (event.key === "Escape") rows.focus();
    });
    return box;
  }

  function go(k) {
    if (!order.length) return;
    at = Math.min(Math.max(k, 0), order.length - 1);
    const top = at * ROW;
    if (top < rows.scrollTop) rows.scrollTop = top;
    if (top + ROW > rows.scrollTop + rows.clientHeight) rows.scrollTop = top + ROW - rows.clientHeight;
    draw(); read();
  }
  function give(name) {
    const i = order[at];
    if (i === undefined) return;
    past.push([String(data.row[i]), answer(i)]);
    kept.set(String(data.row[i]), name);
    save();
    go(at + 1);
  }
  function undo() {
    const last = past.pop();
    if (!last) return;
    if (last[1] === undefined) kept.delete(last[0]); else kept.set(last[0], last[1]);
    save();
    open(Number(last[0]));
  }
  function open(row) {
    const i = place.get(row);
    if (i === undefined) return;
    if (!order.includes(i)) {
      $("show").value = "all"; $("class").value = ""; $("search").value = "";
      filter(i);
    } else go(order.indexOf(i));
  }

  // A cell that a spreadsheet would run gets an apostrophe, which isthmus takes off again when it reads the file.
  function cell(value) {
    let text = String(value);
    if (/^[=+\-@\t\r\n＝＋－＠]/.test(text) && !/^[+-][0-9]+([.,][0-9]+)?$/.test(text)) text = "'" + text;
    return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  function download() {
    const lines = ["document,id,label,true_label"];
    for (const [row, name] of [...kept].sort((a, b) => a[0] - b[0])) {
      const i = place.get(Number(row));
      if (i !== undefined) lines.push([row, data.id[i], data.classes[data.label[i]], name].map(cell).join(","));
    }
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    link.download = "corrections.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function help() {
    const keys = $("keys");
    if (keys.open) keys.close(); else keys.showModal();
  }
  function seen() {
    const box = $("review").getBoundingClientRect();
    return box.top < innerHeight && box.bottom > 0;
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    const key = event.key;
    if (key === "/") { $("search").focus(); }
    else if (key === "?") help();
    else if (!seen() && !event.target.closest("#review")) return;
    else if (key === "j" || (key === "ArrowDown" && event.target === rows)) go(at + 1);
    else if (key === "k" || (key === "ArrowUp" && event.target === rows)) go(at - 1);
    else if (key === "u") undo();
    else if (/^[1-9]$/.test(key) && data.classes[key - 1] !== undefined) give(data.classes[key - 1]);
    else return;
    event.preventDefault();
  });

  const tip = $("tip"), map = $("map");
  function pointed(event) {
    const mark = event.target.closest("[data-t], [data-s]");
    if (!mark) { tip.hidden = true; return; }
    const own = mark.dataset.t !== undefined;
    const i = own ? place.get(Number(mark.dataset.t)) : sourcePlace.get(Number(mark.dataset.s));
    if (i === undefined) { tip.hidden = true; return; }
    const name = own ? said(i) : data.classes[data.source.label[i]] ?? "no label";
    const text = own ? data.text[i] : data.source.text[i];
    const head = make("b", "", own ? `${name} ${percent(data.sure[i])}` : `source: ${name}`);
    tip.replaceChildren(head, make("br"), text.slice(0, 240) + (text.length > 240 ? "…" : ""));
    tip.hidden = false;
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
  }
  if (map) {
    map.addEventListener("pointermove", pointed);
    map.addEventListener("pointerleave", () => { tip.hidden = true; });
    map.addEventListener("click", (event) => {
      const mark = event.target.closest("[data-t]");
      if (!mark) return;
      open(Number(mark.dataset.t));
      tip.hidden = true;
      $("review").scrollIntoView();
      rows.focus({ preventScroll: true });
    });
  }

  for (const name of data.classes) { const option = make("option", "", name); option.value = name; $("class").append(option); }
  const names = make("datalist");
  names.id = "names";
  for (const name of data.classes) { const option = make("option"); option.value = name; names.append(option); }
  document.body.append(names);
  if (!data.group.length) $("show").querySelector("[value=new]").remove();
  if (!data.review.includes("1")) $("show").value = "all";
  for (const id of ["show", "class", "sort"]) $(id).addEventListener("change", () => filter());
  $("search").addEventListener("input", () => filter());
  $("search").addEventListener("keydown", (event) => { if (event.key === "Escape" || event.key === "Enter") rows.focus(); });
  $("undo").addEventListener("click", undo);
  $("help").addEventListener("click", help);
  $("download").addEventListener("click", download);
  let waiting = false;
  rows.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  });
  filter();
})();
