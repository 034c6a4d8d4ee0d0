// The workbench's own script: parts of pages, feedback, keys of the review queue, uploads. Everything else is server pages.
(() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const body = document.body;

  // ---- feedback: something moves at once, and errors are shown
  let waiting = 0;
  const busy = step => { waiting = Math.max(0, waiting + step); body.classList.toggle("busy", waiting > 0); };
  const say = (text, bad = false) => {
    const line = document.createElement("div");
    line.textContent = text;
    line.className = bad ? "bad" : "";
    $("#toast").append(line);
    line.addEventListener("click", () => line.remove());
    if (!bad) setTimeout(() => line.remove(), 3500);  // an error stays until somebody has read it
  };
  const complain = (one, text) => {
    const form = one && one.closest("form");
    if (!form) return say(text, true);
    const line = document.createElement("div");
    line.className = "errors";
    line.setAttribute("role", "alert");
    line.textContent = text;
    form.prepend(line);
    line.scrollIntoView({ block: "nearest" });
  };

  // ---- the fields of a form as JSON: omitted where they are empty; data-json, data-lines, data-list and data-percent
  // name their types
  const typed = (one, text) => {
    if (one.type !== "number" && !("json" in one.dataset)) return text;
    return "percent" in one.dataset ? JSON.parse(text) / 100 : JSON.parse(text);
  };
  const values = (form, button) => {
    const found = {};
    const add = (name, value) => {
      const [first, second] = name.split(".");
      if (second) found[first] = { ...found[first], [second]: value }; else found[first] = value;
    };
    for (const one of form ? form.elements : []) {
      if (!one.name || one.disabled || one.tagName === "BUTTON" || (one.type === "radio" && !one.checked)) continue;
      if ("list" in one.dataset) found[one.name] = [...(found[one.name] || []), ...(one.checked ? [one.value] : [])];
      else if (one.type === "checkbox") add(one.name, one.checked);
      else if ("lines" in one.dataset) add(one.name, one.value.split("\n").map(line => line.trim()).filter(Boolean));
      else if (one.value.trim()) add(one.name, typed(one, one.value));
    }
    if (button && button.name) add(button.name, "from" in button.dataset ? $(button.dataset.from).value : typed(button, button.value));
    return found;
  };
  const fill = (text, result) => text.replace(/\{([\w.]+)\}/g, (_, path) => path.split(".").reduce((found, key) => (found || {})[key], result) ?? "");

  // ---- parts of a page: what has data-get (a form, a link) asks for them, data-poll does so again and again; each element
  // of the answer takes the place of the one with its id
  const under = new Map();  // requests under way: of a form or a button one at a time, of an address the latest
  const ask = (address, { by = null, method = "GET", fields = null, quiet = false, done = null } = {}) => {
    const key = by || address.split("?")[0], before = under.get(key);
    if (before && by) return;
    if (before) before.abort();
    const call = new XMLHttpRequest();
    const uploads = fields instanceof FormData;
    const buttons = uploads ? [...by.querySelectorAll("button")] : [], bar = uploads && $("progress", by);
    under.set(key, call);
    if (!quiet) busy(1);
    call.open(method, address);
    call.responseType = by && "download" in by.dataset ? "blob" : "text";
    call.setRequestHeader("HX-Request", "true");
    call.setRequestHeader("X-CSRF-Token", body.dataset.csrf);
    if (fields && !uploads) call.setRequestHeader("Content-Type", "application/json");
    if (bar) call.upload.addEventListener("progress", event => { bar.hidden = false; bar.max = event.total; bar.value = event.loaded; });
    call.addEventListener("loadend", () => {
      if (under.get(key) === call) under.delete(key);
      if (!quiet) busy(-1);
      buttons.forEach(button => { button.disabled = false; });
      if (bar) bar.hidden = true;
    });
    call.addEventListener("error", () => complain(by, "The server is not responding. Is it still running?"));
    call.addEventListener("load", async () => {
      under.delete(key);  // before its buttons are there: the next key may come at once
      if (call.status >= 400) {
        let found = { detail: "The request failed. Reload the page." };
        const text = call.responseType === "blob" ? await call.response.text() : call.responseText;
        try { found = JSON.parse(text); } catch { if (text && !text.startsWith("<")) found = { detail: text }; }
        if (found.code === "sign-in-needed") location.href = "/sign-in?next=" + encodeURIComponent(location.pathname);
        else complain(by, String(found.detail).slice(0, 500));
      }
      else if (call.getResponseHeader("HX-Redirect")) location.href = call.getResponseHeader("HX-Redirect");
      else if (call.getResponseHeader("HX-Refresh")) location.reload();
      else if (done) done(call.response, call);
      else put(call.responseText, address);
    });
    buttons.forEach(button => { button.disabled = true; });
    call.send(uploads || !fields ? fields : JSON.stringify(fields));
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

  // ---- changes: what has data-send (a form, a button) sends its fields as JSON. Then data-next names the next page,
  // data-then a part of this one, and data-show the element for a link; otherwise the page loads again
  const then = (address, just, by = null) => ask(address, { by, done: text => {
    put(text, address);
    const line = desk() && $("[role=status]", desk());
    if (line && just) line.textContent = just;
  } });
  const send = (one, form, button) => {
    const { dataset } = one, by = form || one;
    by.querySelectorAll(":scope > .errors").forEach(line => line.remove());
    const fields = form && form.enctype === "multipart/form-data" ? new FormData(form) : values(form, button);
    ask(dataset.send, { by, method: dataset.method || "POST", fields, done: (text, call) => {
      if ("download" in dataset) return save(text, call);
      const result = JSON.parse(text);
      if ("undo" in dataset) undone(result);
      else if (dataset.next) location.href = fill(dataset.next, result);
      else if (dataset.then) then(dataset.then, fill(dataset.just || "", result), by);
      else if (dataset.show) {
        $(dataset.show).hidden = false;
        $(dataset.show + " [data-value]").textContent = result.link;
      } else location.reload();
    } });
    if ("download" in dataset) say("Preparing the file …");
  };
  const save = (blob, call) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = decodeURIComponent(/filename\*=UTF-8''([^;]+)/.exec(call.getResponseHeader("content-disposition"))[1]);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };
  const undone = answers => {
    const single = answers.length === 1 && answers[0].kind !== "second";
    const just = answers.length > 1 ? `Undone: ${answers.length} answers.` : single ? `Undone: ${answers[0].label}.` : "";
    then(desk().dataset.address + (single ? "&document=" + answers[0].document : ""), answers.length ? just : "There is nothing to undo.");
  };
  document.addEventListener("click", event => {
    const one = event.target.closest("a[data-get], button[data-send]");
    if (!one || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (one.dataset.get) ask(one.dataset.get); else send(one, null, one);
  });
  const search = form => ask(form.dataset.get + "?" + new URLSearchParams(new FormData(form)));
  document.addEventListener("submit", event => {
    if (!event.target.matches("[data-get], [data-send]")) return;
    event.preventDefault();
    if (event.target.dataset.get) search(event.target); else send(event.target, event.target, event.submitter);
  });
  let typing;
  document.addEventListener("input", event => {
    const form = event.target.closest("form[data-get]");
    clearTimeout(typing);
    if (form) typing = setTimeout(() => search(form), 150);
  });
  setInterval(() => document.querySelectorAll("[data-poll]").forEach(one => ask(one.dataset.poll, { by: one, quiet: true })), 700);

  addEventListener("submit", event => {
    const form = event.target;
    if (form.method === "dialog" || event.defaultPrevented) return;
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
    if (copy) navigator.clipboard.writeText($(copy.dataset.copy).textContent).then(() => say("Copied."));
    const opener = event.target.closest("[data-dialog]");
    if (opener) $(opener.dataset.dialog).showModal();
    document.querySelectorAll("details.menu[open]").forEach(menu => { if (!menu.contains(event.target)) menu.open = false; });
  });
  document.addEventListener("input", event => {
    const field = event.target;
    if (field.matches("input[type=range][data-shown]")) $(field.dataset.shown).textContent = Math.round(100 * field.value) + "%";
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
  const show = document_ => ask(desk().dataset.address + "&document=" + encodeURIComponent(document_));
  const back = () => { const last = seen.pop(); if (last) show(last); else say("No document before this one."); };
  document.addEventListener("click", event => { if (event.target.closest("[data-back]")) back(); });
  document.addEventListener("keydown", event => {
    if (!desk() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Enter" && event.target.id === "other") {  // by itself it would press the first button: another label
      event.preventDefault();
      press("button[data-from]");
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
