// Searches as one types, and keeps what it shows in the address.
"use strict";
const by = id => document.getElementById(id);
const query = by("query"), lists = by("lists"), statusLine = by("status"), alertBox = by("alert"), why = by("why"), whyBody = by("why-body"), chooser = by("index");
const SCORES = { vectors: "cosine", words: "BM25" };
const NAMES = { vectors: "Vectors", words: "Words", fused: "Fused", trigrams: "Trigrams", teacher: "Teacher" };
let running = null, timer = 0, retry = 0, indexes = [], records = false, shownFor = "", shownKey = "", shownLists = [], judged = new Map(), opener = null;

const state = () => { const of = new URLSearchParams(location.search); return { q: of.get("q") || "", mode: of.get("mode") || "fused", index: of.get("index") || "", id: of.get("id") || "", other: of.get("other") || "" }; };
const address = of => {
  const parameters = new URLSearchParams();
  if (of.q) parameters.set("q", of.q);
  if (of.mode !== "fused") parameters.set("mode", of.mode);
  if (of.index) parameters.set("index", of.index);
  if (of.id) parameters.set("id", of.id);
  if (of.other) parameters.set("other", of.other);
  return parameters.size ? "?" + parameters : location.pathname;
};
const mode = () => document.querySelector("input[name=mode]:checked").value;
const key = () => [query.value.trim(), mode(), chooser.value].join("\n");
const now = () => ({ q: query.value, mode: mode(), index: chooser.value === (indexes[0] && indexes[0].name) ? "" : chooser.value, id: "", other: "" });

// Every call goes through here: a token if there is one, and errors that people can read.
const ask = async (path, options = {}) => {
  const token = sessionStorage.getItem("token"), headers = { ...(token ? { Authorization: `Bearer ${token}` } : {}), ...(options.body ? { "Content-Type": "application/json" } : {}) };
  let response;
  try { response = await fetch(path, { ...options, headers, cache: "no-store" }); } catch (error) {
    if (error.name !== "AbortError") gone();
    throw error;
  }
  const body = await response.json();
  if (response.ok) { clear(); return body; }
  if (response.status === 401) by("login").hidden = false;
  fail(body.error.message);
  throw new Error(body.error.message);
};
const fail = text => { alertBox.textContent = text; alertBox.hidden = false; };
const clear = () => { alertBox.hidden = true; by("login").hidden = true; clearInterval(retry); retry = 0; };
const gone = () => {
  fail("The service does not answer. The page tries again every two seconds.");
  if (!retry) retry = setInterval(async () => { try { if ((await fetch("health/live", { cache: "no-store" })).ok) { clear(); start(); } } catch { /* not yet */ } }, 2000);
};

// A Han ideograph is a word; apostrophes are no part of one.
const marked = (title, words, keywords) => {
  const box = document.createDocumentFragment(), asked = new Set(words), chosen = new Set(keywords);
  for (const part of title.split(/(\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}'’])+)/u)) {
    const word = part.normalize("NFKC").toLowerCase().replace(/['’]/g, "");
    let inside = part;
    if (asked.has(word)) inside = make("b", {}, inside);
    if (chosen.has(word)) inside = make("mark", {}, inside);
    box.append(inside);
  }
  return box;
};
const scores = hit => {
  const of = Object.entries(hit.parts), parts = of.length > 1 ? [`score ${signed(hit.score, 4)}`] : [];
  for (const [part, { score, rank }] of of) parts.push(`${SCORES[part] || part} ${signed(score, part === "words" ? 2 : 3)}${rank ? ` (#${rank})` : ""}`);
  return [...parts, hit.id, ...Object.entries(hit.fields).map(([name, value]) => `${name}: ${value}`)].join(" · ");
};
// A hand with its thumb up or down; fonts do not all have one.
const thumb = grade => make("svg:svg", { width: 16, height: 16, viewBox: "0 0 16 16", class: "thumb", "aria-hidden": "true" },
  make("svg:path", { d: "M1 7h3v7H1z M5 7l3.2-6c1.6 0 2.2 1 1.9 2.4L9.6 6H14c1 0 1.6.8 1.4 1.7l-1.2 5c-.2.8-.8 1.3-1.6 1.3H5z", ...(grade === "down" ? { transform: "rotate(180 8 8)" } : {}) }));
const thumbs = hit => {
  const key = () => `${shownFor}\t${hit.id}`, buttons = [["up", "Good"], ["down", "Bad"]].map(([grade, name]) => {
    const button = make("button", { type: "button", "aria-label": `${name}: ${hit.title}`, "aria-pressed": judged.get(key()) === grade ? "true" : "false", title: name }, thumb(grade));
    button.addEventListener("click", async () => {
      const next = judged.get(key()) === grade ? null : grade;
      try {
        await ask("judge", { method: "POST", body: JSON.stringify({ query: shownFor, id: hit.id, grade: next, ...(chooser.value ? { index: chooser.value } : {}) }) });
        next ? judged.set(key(), next) : judged.delete(key());
        buttons.forEach((other, place) => other.setAttribute("aria-pressed", ["up", "down"][place] === next ? "true" : "false"));
        statusLine.textContent = next ? "The judgment is recorded." : "The judgment is taken back.";
      } catch { /* the alert says it */ }
    });
    return button;
  });
  return make("div", { class: "thumbs" }, ...buttons);
};
const listOf = (answer, heading) => {
  const rows = answer.results.map((hit, place) => {
    const link = make("a", { href: address({ ...now(), id: hit.id }), "data-id": hit.id }, marked(hit.title, hit.matched, hit.keywords));
    link.addEventListener("click", event => { if (!event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); opener = link; go({ ...now(), id: hit.id }); } });
    const next = answer.results[place + 1];
    const compare = next ? make("button", { type: "button", class: "compare", "aria-label": `Why is ${hit.title} above ${next.title}?`, title: "Why is it above the next one?" }, "↕") : "";
    if (next) compare.addEventListener("click", () => { opener = compare; go({ ...now(), id: hit.id, other: next.id }); });
    return make("li", {}, make("span", { class: "rank" }, String(hit.rank)), make("div", { class: "title" }, link, make("small", {}, scores(hit))), compare, ...(records ? [thumbs(hit)] : []));
  });
  const section = make("section", { "aria-label": heading });
  if (heading) section.append(make("h2", {}, heading));
  if (answer.corrected) section.append(make("p", { class: "note" }, "Searched for ", make("b", {}, answer.corrected), "."));
  if (answer.weak && rows.length) section.append(make("p", { class: "note" }, "Weak matches: no title is likely to be what was meant."));
  section.append(rows.length ? make("ol", {}, ...rows) : make("p", { class: "note" }, answer.weak ? "No title is a likely match." : "No title."));
  return section;
};
const known = answer => {
  const box = by("known");
  box.replaceChildren();
  if (!answer || !answer.words.length) return;
  box.append("Words: ");
  answer.words.forEach((word, place) => {
    const notes = [];
    if (!word.known_to_model) notes.push("unknown to the model");
    if (word.titles !== null) notes.push(`${word.titles.toLocaleString("en")} titles`);
    const isKey = (answer.keywords || []).includes(word.text);
    box.append(place ? ", " : "", isKey ? make("mark", {}, word.text) : word.text, notes.length ? ` (${notes.join("; ")})` : "");
  });
};
const search = async () => {
  if (running) running.abort();
  running = new AbortController();
  const { signal } = running, text = query.value.trim(), chosen = mode(), began = performance.now();
  if (!text) { lists.replaceChildren(); known(null); statusLine.textContent = ""; shownFor = ""; shownLists = []; shownKey = key(); return; }
  const current = indexes.find(of => of.name === chooser.value) || indexes[0];
  const wanted = chosen === "side" ? ["vectors", "fused", "words"] : [chosen];
  const get = by => ask("search?" + new URLSearchParams({ q: text, mode: by, keywords: "true", matched: "true", ...(chooser.value ? { index: chooser.value } : {}) }), { signal });
  try {
    const answers = await Promise.all(wanted.map(get));
    if (signal.aborted) return;
    shownFor = text;
    shownLists = answers;
    shownKey = key();
    lists.replaceChildren(...answers.map((answer, place) => listOf(answer, wanted.length > 1 ? NAMES[wanted[place]] : "")));
    known(answers.at(-1));
    const found = answers[0].results.length ? `The best ${answers[0].results.length} of ${answers[0].total.toLocaleString("en")} titles` : "No title was found";
    statusLine.textContent = `${found}, ${Math.max(1, Math.round(performance.now() - began))} ms`;
  } catch { /* the alert says it */ }
};
const explain = async of => {
  try {
    const body = { query: of.q, id: of.id, ...(of.other ? { other: of.other } : {}), ...(chooser.value ? { index: chooser.value } : {}) };
    const answer = await ask("explain", { method: "POST", body: JSON.stringify(body) });
    drawExplanation(whyBody, answer, of.q, shownFor === of.q ? shownLists : []);
    if (!why.open) why.showModal();
    by("why-title").focus();
    why.scrollTop = 0;
  } catch { if (why.open) why.close(); }
};
// The address is the truth: everything that is shown follows from it.
const show = async () => {
  const of = state();
  if (query.value !== of.q) query.value = of.q;
  const radio = document.querySelector(`input[name=mode][value="${CSS.escape(of.mode)}"]`);
  if (radio) radio.checked = true;
  if (of.index && indexes.some(index => index.name === of.index)) chooser.value = of.index;
  if (key() !== shownKey) await search();
  if (of.id && of.q) await explain(of);
  else if (why.open) why.close();
};
const go = of => { history.pushState(null, "", address(of)); show(); };
const settle = () => history.replaceState(null, "", address(now()));
query.addEventListener("input", () => { clearTimeout(timer); settle(); timer = setTimeout(search, 60); });
by("form").addEventListener("submit", event => { event.preventDefault(); clearTimeout(timer); history.pushState(null, "", address(now())); search(); });
for (const radio of document.querySelectorAll("input[name=mode]")) radio.addEventListener("change", () => { history.pushState(null, "", address(now())); search(); });
chooser.addEventListener("change", () => { history.pushState(null, "", address(now())); about(); search(); });
addEventListener("popstate", show);
why.addEventListener("close", () => {
  if (state().id) history.pushState(null, "", address({ ...state(), id: "", other: "" }));
  if (opener && opener.isConnected) opener.focus();
});
by("login").addEventListener("submit", event => { event.preventDefault(); sessionStorage.setItem("token", by("token").value); start(); });
addEventListener("keydown", event => {
  if (why.open || event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = document.activeElement === query;
  if (event.key === "/" && !/^(INPUT|SELECT)$/.test(document.activeElement.tagName)) { event.preventDefault(); query.select(); query.focus(); }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const links = [...lists.querySelectorAll("li a")], at = links.indexOf(document.activeElement);
  if (at < 0 && !(isTyping && event.key === "ArrowDown")) return;
  event.preventDefault();
  const next = at + (event.key === "ArrowDown" ? 1 : -1);
  if (next < 0) query.focus(); else links[Math.min(next, links.length - 1)]?.focus();
});
const about = () => {
  const of = indexes.find(index => index.name === chooser.value) || indexes[0], { facts, generation, opened } = of.current, list = make("dl");
  const add = (name, value) => { if (value !== undefined && value !== null && value !== "") list.append(make("dt", {}, name), make("dd", {}, String(value))); };
  add("Name", of.name); add("Titles", facts.titles.toLocaleString("en")); add("Left out", facts.left_out ? facts.left_out.toLocaleString("en") : "");
  add("Model", facts.model && `${facts.model.encoder}, ${facts.model.dimension} numbers, ${facts.model.fingerprint}`);
  const { vectors, words } = facts.parts || {}, named = of => Object.entries(of).map(([name, value]) => `${name} ${value}`).join(", ");
  add("Vectors", vectors && vectors.search && (vectors.search.kind === "exact" ? "exact: every vector is looked at" : named(vectors.search)));
  add("Words", words && `BM25, k₁ ${words.k1}, b ${words.b}, ${words.mean_length.toFixed(1)} words a title${words.stem ? ", plurals as singulars" : ""}${words.split ? ", numbers apart from letters" : ""}`);
  add("Fused", facts.fusion && facts.fusion.weights && `${typeof facts.fusion.method === "string" ? facts.fusion.method : Object.keys(facts.fusion.method)[0]}: ${named(facts.fusion.weights)}`);
  add("Fields", (facts.fields || []).map(field => field.name).join(", "));
  add("Generation", `${generation}, since ${opened.replace("T", " ").slice(0, 19)} UTC`); add("Fingerprint", facts.fingerprint);
  by("about").replaceChildren(list);
};
const start = async () => {
  try {
    const told = await ask("indexes");
    indexes = told.indexes; records = told.records;
    chooser.replaceChildren(...indexes.map(index => make("option", { value: index.name }, index.name)));
    chooser.hidden = indexes.length < 2;
    const wanted = state().index;
    if (indexes.some(index => index.name === wanted)) chooser.value = wanted;
    about();
    shownKey = "";
    await show();
  } catch { /* the alert says it */ }
};
start();
