// The workbench's own script: feedback, keys of the review queue, uploads. Everything else is server pages and htmx.
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
  body.addEventListener("htmx:beforeRequest", event => { if (!event.detail.elt.matches("[data-quiet]")) busy(1); });
  body.addEventListener("htmx:afterRequest", event => { if (!event.detail.elt.matches("[data-quiet]")) busy(-1); });
  body.addEventListener("htmx:responseError", event => {
    const text = event.detail.xhr.responseText || "";
    say(text.startsWith("<") || !text ? "The request failed. Reload the page." : text.slice(0, 500), true);
  });
  body.addEventListener("htmx:sendError", () => say("The server is not responding. Is it still running?", true));
  addEventListener("submit", event => {
    const form = event.target;
    if (form.method === "dialog" || event.defaultPrevented || form.hasAttribute("hx-post")) return;
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
  body.addEventListener("htmx:xhr:progress", event => {
    const bar = $("progress", event.detail.elt);
    if (!bar || !event.detail.lengthComputable) return;
    bar.hidden = false;
    bar.max = event.detail.total;
    bar.value = event.detail.loaded;
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
  const show = document_ => htmx.ajax("GET", desk().dataset.address + "?document=" + encodeURIComponent(document_), { target: "#desk", swap: "outerHTML" });
  body.addEventListener("htmx:beforeSwap", event => {
    const old = desk();
    if (event.detail.target === old && old && old.dataset.document && event.detail.xhr.status < 300 && !event.detail.requestConfig.path.includes("document=")) seen.push(old.dataset.document);
  });
  body.addEventListener("htmx:afterSwap", () => { const sheet = desk() && $(".sheet .body", desk()); if (sheet) sheet.scrollTop = 0; });
  const back = () => { const last = seen.pop(); if (last) show(last); else say("No document before this one."); };
  document.addEventListener("click", event => { if (event.target.closest("[data-back]")) back(); });
  document.addEventListener("keydown", event => {
    if (!desk() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
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
