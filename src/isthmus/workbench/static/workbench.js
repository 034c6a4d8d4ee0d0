// The workbench's own script: parts of pages, feedback, keys of the review queue, uploads. Everything else is server pages.
(() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const body = document.body;

  // ---- feedback: something moves at once, and errors are said
  let waiting = 0;
  const busy = step => { waiting = Math.max(0, waiting + step); body.classList.toggle("busy", waiting > 0); };
  const say = (text, bad = false) => {
    const line = document.createElement("div");
    line.textContent = text;
    line.className = bad ? "bad" : "";
    $("#toast").append(line);
    setTimeout(() => line.remove(), bad ? 9000 : 3500);
  };

  // ---- parts of a page: what has data-get or data-post (a form, a button, a link) sends it, data-poll does so again and
  // again; each element of the answer takes the place of the one with its id
  const under = new Map();  // requests under way: of a form or a button one at a time, of an address the latest
  const ask = (address, { by = null, fields = null, quiet = false } = {}) => {
    const key = by || address.split("?")[0], before = under.get(key);
    if (before && by) return;
    if (before) before.abort();
    const call = new XMLHttpRequest();
    const uploads = fields && by.enctype === "multipart/form-data";
    const buttons = uploads ? [...by.querySelectorAll("button")] : [], bar = uploads && $("progress", by);
    under.set(key, call);
    if (!quiet) busy(1);
    call.open(fields ? "POST" : "GET", address);
    call.setRequestHeader("HX-Request", "true");
    call.setRequestHeader("X-CSRF-Token", body.dataset.csrf);
    if (bar) call.upload.addEventListener("progress", event => { bar.hidden = false; bar.max = event.total; bar.value = event.loaded; });
    call.addEventListener("loadend", () => {
      if (under.get(key) === call) under.delete(key);
      if (!quiet) busy(-1);
      buttons.forEach(button => { button.disabled = false; });
    });
    call.addEventListener("error", () => say("The server is not responding. Is it still running?", true));
    call.addEventListener("load", () => {
      under.delete(key);  // before its buttons are there: the next key may come at once
      const text = call.responseText;
      if (call.status >= 400) say(text.startsWith("<") || !text ? "The request failed. Reload the page." : text.slice(0, 500), true);
      else if (call.getResponseHeader("HX-Redirect")) location.href = call.getResponseHeader("HX-Redirect");
      else if (call.getResponseHeader("HX-Refresh")) location.reload();
      else put(text, address);
    });
    buttons.forEach(button => { button.disabled = true; });
    call.send(uploads ? fields : fields && new URLSearchParams(fields));
  };
  const put = (text, address) => {
    const focused = document.activeElement.id, parts = document.createElement("template");
    parts.innerHTML = text;
    for (const part of [...parts.content.children]) {
      const old = document.getElementById(part.id);
      if (!old) continue;
      if (part.id === "desk" && old.dataset.document && !address.includes("document=")) seen.push(old.dataset.document);
      old.replaceWith(part);
    }
    const again = focused && document.activeElement === body && document.getElementById(focused);
    if (again) again.focus({ preventScroll: true });
    const sheet = desk() && $(".sheet .body", desk());
    if (sheet) sheet.scrollTop = 0;
  };
  const send = (one, form, button) => {
    const fields = form ? new FormData(form) : new FormData();
    if (button && button.name) fields.append(button.name, button.value);
    if (one.dataset.post) return ask(one.dataset.post, { by: form || one, fields });
    const query = new URLSearchParams(fields).toString();
    ask(one.dataset.get + (query && "?" + query));
  };
  document.addEventListener("click", event => {
    const one = event.target.closest("a[data-get], button[data-post]");
    if (!one || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    send(one, one.form, one);
  });
  document.addEventListener("submit", event => {
    if (!event.target.matches("[data-get], [data-post]")) return;
    event.preventDefault();
    send(event.target, event.target, event.submitter);
  });
  let typing;
  document.addEventListener("input", event => {
    const form = event.target.closest("form[data-get]");
    clearTimeout(typing);
    if (form) typing = setTimeout(() => send(form, form), 150);
  });
  setInterval(() => document.querySelectorAll("[data-poll]").forEach(one => ask(one.dataset.poll, { by: one, quiet: true })), 700);

  addEventListener("submit", event => {
    const form = event.target;
    if (form.method === "dialog" || event.defaultPrevented) return;
    if (form.dataset.download !== undefined) { say("Preparing the file …"); return; }
    busy(1);
    const button = event.submitter;
    if (button) setTimeout(() => { button.disabled = true; button.setAttribute("aria-busy", "true"); });
  });
  addEventListener("pageshow", () => { waiting = 0; busy(0); });

  // ---- small things
  const here = $(".side [aria-current]");  // on a narrow page the way through the project is a strip: show where we are
  if (here) here.parentElement.scrollLeft = here.offsetLeft - (here.parentElement.clientWidth - here.offsetWidth) / 2;
  document.addEventListener("click", event => {
    const copy = event.target.closest("[data-copy]");
    if (copy) navigator.clipboard.writeText(copy.dataset.copy).then(() => say("Copied."));
    const opener = event.target.closest("[data-dialog]");
    if (opener) $(opener.dataset.dialog).showModal();
    document.querySelectorAll("details.menu[open]").forEach(menu => { if (!menu.contains(event.target)) menu.open = false; });
  });
  document.addEventListener("input", event => {
    const field = event.target;
    if (field.matches("input[type=range][data-shown]")) $(field.dataset.shown).textContent = Math.round(100 * field.value) + " %";
  });
  document.addEventListener("change", event => {
    if (event.target.matches("[data-go]")) event.target.form.requestSubmit();
  });

  // ---- files that are dropped on a form go into its fields, one each, in their order
  const field = event => event.target.closest && event.target.closest("input[type=file]");
  document.addEventListener("dragover", event => { if (event.target.closest && event.target.closest("[data-drop]")) event.preventDefault(); });
  document.addEventListener("drop", event => {
    const form = event.target.closest && event.target.closest("[data-drop]");
    const files = event.dataTransfer ? [...event.dataTransfer.files] : [];
    if (!form || !files.length || (field(event) && files.length === 1)) return;
    event.preventDefault();
    const fields = [...form.querySelectorAll("input[type=file]")];
    const free = files.length < fields.length ? fields.filter(one => !one.files.length) : fields;
    files.slice(0, free.length).forEach((file, i) => {
      const one = new DataTransfer();
      one.items.add(file);
      free[i].files = one.files;
    });
  });

  // ---- the review queue
  const seen = [];
  const desk = () => $("#desk");
  const press = selector => { const button = desk() && $(selector, desk()); if (button && !button.disabled) button.click(); return button; };
  const show = document_ => ask(desk().dataset.address + "?document=" + encodeURIComponent(document_));
  const back = () => { const last = seen.pop(); if (last) show(last); else say("No document before this one."); };
  document.addEventListener("click", event => { if (event.target.closest("[data-back]")) back(); });
  document.addEventListener("keydown", event => {
    if (!desk() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Enter" && event.target.id === "other") {  // by itself it would press the first button: another label
      event.preventDefault();
      press("button[name=label][value='']");
      return;
    }
    if (event.target.matches("input, select, textarea") || $("dialog[open]")) { if (event.key === "Escape") event.target.blur(); return; }
    const act = {
      j: () => press("[data-key=skip]"), k: back, u: () => press("[data-key=undo]"), a: () => press(".choice[aria-pressed=true]"),
      n: () => { const other = $("#other"); if (other) other.focus(); }, "?": () => $("#keys").showModal(),
    }[event.key] || (/^[1-9]$/.test(event.key) ? () => press(`.choice[data-number="${event.key}"]`) : null);
    if (!act) return;
    event.preventDefault();
    act();
  });

  // ---- the map of the result: read a document by pointing at it
  const map = $("#map .plot");
  if (map) map.addEventListener("click", event => {
    const mark = event.target.closest("[data-t]");
    if (mark && map.dataset.documents) location.href = map.dataset.documents + "?row=" + mark.dataset.t;
  });
})();
