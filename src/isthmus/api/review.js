// The reviewing widget of result.review(): one document at a time, answered by keyboard as in the report.
function make(tag, name, text) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  return node;
}

function render({ model, el }) {
  const documents = model.get("documents");
  const root = make("div", "isthmus-card isthmus-review");
  root.tabIndex = 0;
  root.dir = "auto";
  root.setAttribute("aria-label", "Review");
  root.dataset.lmSuppressShortcuts = "true";  // or the notebook would take j, k and the digits for its own
  el.append(root);
  let at = 0;
  const given = [];  // documents in the order of their answers, for undo

  const answers = () => ({ ...model.get("answers") });
  function store(next) {
    model.set("answers", next);
    model.save_changes();
    draw();
  }
  function go(place) {
    at = Math.min(Math.max(place, 0), documents.length - 1);
    draw();
  }
  function give(label) {
    const number = String(documents[at].document);
    given.push(number);
    const next = answers();
    next[number] = label;
    at = Math.min(at + 1, documents.length - 1);
    store(next);
    root.focus();
  }
  function undo() {
    const number = given.pop();
    if (number === undefined) return;
    const next = answers();
    delete next[number];
    at = documents.findIndex((row) => String(row.document) === number);
    store(next);
  }
  function button(name, key, act) {
    const node = make("button", "", name + " ");
    node.append(make("kbd", "", key));
    node.addEventListener("click", act);
    return node;
  }
  function draw() {
    root.replaceChildren();
    if (!documents.length) { root.append(make("p", "", "Nothing is left to ask.")); return; }
    const row = documents[at], said = answers();
    const own = said[String(row.document)];
    root.append(make("p", "eyebrow", `${at + 1} of ${documents.length} · ${Object.keys(said).length} answered`));
    const text = make("p", "tile text", row.text);
    text.dir = "auto";
    root.append(text);
    if (row.reason) root.append(make("p", "eyebrow", row.reason));
    if (row.label) root.append(make("p", "eyebrow", `labelled ${row.label} (${Math.round(100 * row.confidence)}%)`));
    const line = make("div", "classes");
    model.get("classes").forEach((name, place) => {
      const one = button(name, place < 9 ? String(place + 1) : "", () => give(name));
      if (name === own) one.setAttribute("aria-pressed", "true");
      line.append(one);
    });
    const other = make("input");
    other.placeholder = "another class, Enter";
    other.setAttribute("aria-label", "Another class");
    if (own && !model.get("classes").includes(own)) other.value = own;
    other.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter" && other.value.trim()) give(other.value.trim());
      if (event.key === "Escape") root.focus();
    });
    line.append(other);
    root.append(line);
    const ways = make("div", "classes");
    ways.append(button("Back", "k", () => go(at - 1)), button("Next", "j", () => go(at + 1)), button("Undo", "u", undo));
    root.append(ways);
  }
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const classes = model.get("classes"), key = event.key;
    if (key === "j" || key === "ArrowDown") go(at + 1);
    else if (key === "k" || key === "ArrowUp") go(at - 1);
    else if (key === "u") undo();
    else if (/^[1-9]$/.test(key) && classes[key - 1] !== undefined) give(classes[key - 1]);
    else return;
    event.preventDefault();
    event.stopPropagation();
    root.focus();
  });
  model.on("change:answers", draw);
  draw();
}

export default { render };
