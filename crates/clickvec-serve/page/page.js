// Searches as one types, and keeps what it shows in the address.
"use strict";
const by = id => document.getElementById(id);
const query = by("query"), lists = by("lists"), statusLine = by("status"), alertBox = by("alert"), why = by("why"), whyBody = by("why-body"), chooser = by("index"), other = by("with"), numbers = by("numbers"), suggestions = by("suggestions");
const SCORES = { vectors: "cosine", words: "BM25" };
const NAMES = { vectors: "By meaning", words: "By words", fused: "By both", trigrams: "By trigrams", teacher: "By the teacher" };
const PAGE = 12, MOST_FACETS = 4;
let running = null, timer = 0, retry = 0, indexes = [], records = false, shownFor = "", shownKey = "", shownLists = [], judged = new Map(), opener = null, conditions = new Map(), wanted = PAGE;

const state = () => { const of = new URLSearchParams(location.search); return { q: of.get("q") || "", mode: of.get("mode") || "fused", index: of.get("index") || "", filters: of.getAll("filter"), why: of.has("why"), with: of.get("with") || "", in: of.get("in") || "", n: Number(of.get("n")) || PAGE, id: of.get("id") || "", other: of.get("other") || "" }; };
const address = of => {
  const parameters = new URLSearchParams();
  if (of.q) parameters.set("q", of.q);
  if (of.index) parameters.set("index", of.index);
  for (const filter of of.filters) parameters.append("filter", filter);
  if (of.why) parameters.set("why", "1");
  if (of.mode !== "fused") parameters.set("mode", of.mode);
  if (of.with) parameters.set("with", of.with);
  if (of.n > PAGE) parameters.set("n", of.n);
  if (of.id) parameters.set("id", of.id);
  if (of.other) parameters.set("other", of.other);
  if (of.in) parameters.set("in", of.in);
  return parameters.size ? "?" + parameters : location.pathname;
};
const current = () => indexes.find(of => of.name === chooser.value) || indexes[0];
const mode = () => numbers.checked ? document.querySelector("input[name=mode]:checked").value : "fused";
const key = () => [query.value.trim(), mode(), chooser.value, compared(), numbers.checked, wanted, ...filterTexts(conditions)].join("\n");
const now = () => ({ q: query.value, mode: mode(), index: chooser.value === (indexes[0] && indexes[0].name) ? "" : chooser.value, filters: filterTexts(conditions), why: numbers.checked, with: compared(), n: wanted, id: "", other: "", in: "" });
const ofIndex = () => chooser.value ? { index: chooser.value } : {};
// What is compared with: the generation before, or another index.
const PREVIOUS = "previous generation";
const compared = () => numbers.checked ? other.value : "";
const ofOther = name => name === PREVIOUS ? { ...ofIndex(), generation: "previous" } : { index: name };
const indexOf = (of, name) => name && name !== PREVIOUS ? { index: name } : of;

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
  fail("The service does not answer. Retrying every two seconds.");
  if (!retry) retry = setInterval(async () => { try { if ((await fetch("health/live", { cache: "no-store" })).ok) { clear(); start(); } } catch { /* not yet */ } }, 2000);
};

const thumbs = where => hit => {
  if (!records) return [];
  const key = () => `${shownFor}\t${hit.id}`, buttons = [["up", "Good"], ["down", "Bad"]].map(([grade, name]) => {
    const button = make("button", { type: "button", "aria-label": `${name}: ${hit.title}`, "aria-pressed": judged.get(key()) === grade ? "true" : "false", title: name }, thumb(grade));
    button.addEventListener("click", async () => {
      const next = judged.get(key()) === grade ? null : grade;
      try {
        await ask("judge", { method: "POST", body: JSON.stringify({ query: shownFor, id: hit.id, grade: next, ...where }) });
        next ? judged.set(key(), next) : judged.delete(key());
        buttons.forEach((other, place) => other.setAttribute("aria-pressed", ["up", "down"][place] === next ? "true" : "false"));
        statusLine.textContent = next ? "Judgment saved." : "Judgment removed.";
      } catch { /* the alert says it */ }
    });
    return button;
  });
  return [make("div", { class: "thumbs" }, ...buttons)];
};
const known = answer => {
  const box = by("known");
  box.replaceChildren();
  if (!answer || !answer.words.length || !numbers.checked) return;
  box.append("Words: ");
  answer.words.forEach((word, place) => {
    const notes = [counted(word.titles, "title")];
    if (!word.known_to_model) notes.unshift("unknown to the model");
    const isKey = (answer.keywords || []).includes(word.text);
    box.append(place ? ", " : "", isKey ? make("mark", {}, word.text) : word.text, ` (${notes.join("; ")})`);
  });
};
const facetFields = () => ((current() && current().current.facts.fields) || []).map(field => ({ ...field, kind: facetKind(field) })).filter(field => field.kind).slice(0, MOST_FACETS);
const drawFilters = (answers, fields) => {
  const aside = by("filters"), isOpen = !aside.firstChild || aside.firstChild.open, open = innerWidth > 832 || (aside.firstChild ? isOpen : false);
  const boxes = fields.map(({ name, kind }) => {
    const facet = answers.map(answer => (answer.facets || []).find(of => of.field === name)).find(Boolean);
    return facet ? facetBox(facet, kind, conditions, next => { conditions = next; wanted = PAGE; go(now()); }) : "";
  }).filter(Boolean);
  aside.hidden = !boxes.length;
  const focused = document.activeElement && document.activeElement.closest("#filters fieldset") ? [...aside.querySelectorAll("input")].indexOf(document.activeElement) : -1;
  aside.replaceChildren(make("details", { open }, make("summary", {}, "Filters"), ...boxes));
  if (focused >= 0) aside.querySelectorAll("input")[focused]?.focus();
  by("chosen").replaceChildren(...[...conditions].filter(([, of]) => of.values || of.from || of.to).map(([field, of]) => {
    const text = of.values ? of.values.join(", ") : [of.from, of.to].join("–"), button = make("button", { type: "button", "aria-label": `Remove the filter ${label(field)}: ${text}` }, `${label(field)}: ${text} ×`);
    button.addEventListener("click", () => { conditions.delete(field); go(now()); });
    return button;
  }));
};
// Fills the list of what can be compared with.
const offerOthers = chosen => {
  const names = [...(current() && current().previous ? [PREVIOUS] : []), ...indexes.map(of => of.name).filter(name => name !== chooser.value)];
  other.replaceChildren(make("option", { value: "" }, "nothing"), ...names.map(name => make("option", { value: name }, name)));
  other.value = names.includes(chosen) ? chosen : "";
  by("with-label").hidden = !names.length;
};
// Another index may lack a field of this one.
const storedIn = (name, filters) => {
  const of = name === PREVIOUS ? current().previous : indexes.find(index => index.name === name).current, stored = new Set((of.facts.fields || []).map(field => field.name));
  return filterTexts(new Map([...conditionsOf(filters)].filter(([field]) => stored.has(field))));
};
// Says of a title where it is in the other list.
const changeOf = (answers, place) => hit => {
  const there = answers[1 - place].results.find(found => found.id === hit.id);
  if (!there) return place ? "Gone" : "New";
  const moved = there.rank - hit.rank;
  return place || !moved ? "" : moved > 0 ? `↑ ${moved}` : `↓ ${-moved}`;
};
const agreement = ([{ results }, { results: before }]) => {
  const ranks = results.map(hit => before.find(found => found.id === hit.id)?.rank).filter(Boolean), pairs = ranks.length * (ranks.length - 1) / 2;
  const rising = ranks.reduce((sum, rank, at) => sum + ranks.slice(at + 1).filter(later => later > rank).length, 0);
  return `${ranks.length} of ${counted(Math.max(results.length, before.length), "title")} in both lists${pairs ? `, Kendall’s τ of their order ${signed(2 * rising / pairs - 1, 2)}` : ""}`;
};
const search = async () => {
  if (running) running.abort();
  running = new AbortController();
  const { signal } = running, text = query.value.trim(), chosen = mode(), began = performance.now(), isEmpty = !text;
  by("home").hidden = !isEmpty;
  by("found").hidden = isEmpty;
  by("ways").hidden = !numbers.checked;
  document.title = isEmpty ? shopName() : `${text} · ${shopName()}`;
  if (isEmpty) { lists.replaceChildren(); known(null); statusLine.textContent = ""; shownFor = ""; shownLists = []; shownKey = key(); return; }
  const modes = chosen === "side" ? ["vectors", "fused", "words"] : [chosen], fields = facetFields(), filters = filterTexts(conditions), before = compared();
  const get = (by, filters, facets, k, where = ofIndex()) => {
    const parameters = new URLSearchParams({ q: text, mode: by, k, keywords: String(numbers.checked), matched: "true", ...where });
    for (const filter of filters) parameters.append("filter", filter);
    for (const facet of facets) parameters.append("facet", facet);
    return ask("search?" + parameters, { signal });
  };
  // The counts of a field pay no attention to what is chosen in it, so that more can be.
  const isChosen = field => filters.some(filter => filter.startsWith(`${field.name}=`) || filter.startsWith(`${field.name}:`));
  const facets = fields.filter(field => !isChosen(field)).map(field => field.name);
  const counts = fields.filter(isChosen).map(field => get(modes[0], filterTexts(new Map([...conditions].filter(([name]) => name !== field.name))), [field.name], 1));
  try {
    const searches = before ? [get(modes[0], filters, facets, wanted), get(modes[0], storedIn(before, filters), [], wanted, ofOther(before))] : modes.map((by, place) => get(by, filters, place ? [] : facets, wanted));
    const answers = await Promise.all(searches), others = await Promise.all(counts);
    if (signal.aborted) return;
    shownFor = text;
    shownLists = answers;
    shownKey = key();
    const options = place => {
      const inOther = before && place ? "with" : "";
      return { flat: answers.length > 1, numbers: numbers.checked && !before, ranks: numbers.checked, tools: thumbs(indexOf(ofIndex(), inOther && before)), change: before ? changeOf(answers, place) : () => "", open: (link, hit) => { opener = link; go({ ...now(), id: hit.id, in: inOther }); }, compare: (button, hit, next) => { opener = button; go({ ...now(), id: hit.id, other: next.id }); } };
    };
    const headings = before ? [chooser.value, before] : modes.length > 1 ? modes.map(by => NAMES[by]) : [""];
    lists.replaceChildren(...answers.map((answer, place) => listOf(answer, headings[place], options(place))));
    drawFilters([...others, answers[0]], fields);
    known(before ? null : answers.at(-1));
    const [{ results, total }] = answers, count = results.length, best = count === total ? counted(total, "title") : `The best ${count === 1 ? "one" : count.toLocaleString("en")} of ${counted(total, "title")}`;
    statusLine.textContent = count ? `${best}, ${Math.max(1, Math.round(performance.now() - began))} ms` : "No title was found";
    if (before) statusLine.textContent = agreement(answers);
    by("more")?.remove();
    if (modes.length === 1 && count === wanted && wanted < 300) {
      const more = make("button", { id: "more", type: "button" }, "Show more");
      more.addEventListener("click", () => { wanted += PAGE; history.replaceState(null, "", address(now())); search(); });
      lists.after(more);
    }
  } catch { /* the alert says it */ }
};
const explain = async of => {
  try {
    const body = { query: of.q, id: of.id, ...(of.other ? { other: of.other } : {}), ...(of.in ? ofOther(of.with) : ofIndex()) };
    const answer = await ask("explain", { method: "POST", body: JSON.stringify(body) });
    drawExplanation(whyBody, answer, of.q, shownFor === of.q ? shownLists : []);
    if (!why.open) why.showModal();
    by("why-title").focus();
    why.scrollTop = 0;
  } catch { if (why.open) why.close(); }
};

// Suggestions: frequent queries, then titles.
let suggesting = null, offered = [], at = -1;
const hideSuggestions = () => { suggestions.hidden = true; at = -1; query.setAttribute("aria-expanded", "false"); query.removeAttribute("aria-activedescendant"); };
const suggest = async () => {
  if (suggesting) suggesting.abort();
  suggesting = new AbortController();
  const text = query.value.trim(), { signal } = suggesting;
  if (!text) { hideSuggestions(); return; }
  try {
    const { queries, titles } = await ask("suggest?" + new URLSearchParams({ q: text, ...ofIndex() }), { signal });
    if (signal.aborted || document.activeElement !== query) return;
    offered = [...queries.map(query => [query, "query"]), ...titles.map(({ title }) => [title, "title"])].filter(([offer]) => offer !== text);
    suggestions.replaceChildren(...offered.map(([offer, kind], place) => {
      const item = make("li", { role: "option", id: `suggestion-${place}`, "aria-selected": "false" }, make("span", {}, offer), make("small", {}, kind));
      item.addEventListener("mousedown", event => { event.preventDefault(); choose(place); });
      return item;
    }));
    at = -1;
    query.removeAttribute("aria-activedescendant");
    suggestions.hidden = !offered.length;
    query.setAttribute("aria-expanded", String(offered.length > 0));
  } catch { /* the alert says it */ }
};
const choose = place => { query.value = offered[place][0]; hideSuggestions(); wanted = PAGE; history.pushState(null, "", address(now())); search(); };
const pointAt = place => {
  at = place;
  [...suggestions.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === place)));
  place < 0 ? query.removeAttribute("aria-activedescendant") : query.setAttribute("aria-activedescendant", `suggestion-${place}`);
};

// The address is the truth: everything that is shown follows from it.
const show = async () => {
  const of = state();
  if (query.value !== of.q) query.value = of.q;
  numbers.checked = of.why || of.mode !== "fused" || of.with !== "";
  const radio = document.querySelector(`input[name=mode][value="${CSS.escape(of.mode)}"]`);
  if (radio) radio.checked = true;
  if (indexes.length) chooser.value = indexes.some(index => index.name === of.index) ? of.index : indexes[0].name;
  conditions = conditionsOf(of.filters);
  offerOthers(of.with);
  wanted = of.n;
  if (key() !== shownKey) await search();
  if (of.id && of.q) await explain(of);
  else if (why.open) why.close();
};
const go = of => { history.pushState(null, "", address(of)); show(); };
const settle = () => history.replaceState(null, "", address(now()));
query.addEventListener("input", () => { clearTimeout(timer); wanted = PAGE; settle(); timer = setTimeout(() => { search(); suggest(); }, 60); });
query.addEventListener("blur", hideSuggestions);
by("form").addEventListener("submit", event => {
  event.preventDefault();
  clearTimeout(timer);
  if (at >= 0) { choose(at); return; }
  if (suggesting) suggesting.abort();
  hideSuggestions();
  history.pushState(null, "", address(now()));
  search();
});
for (const input of [numbers, other, ...document.querySelectorAll("input[name=mode]")]) input.addEventListener("change", () => { history.pushState(null, "", address(now())); search(); });
chooser.addEventListener("change", () => { conditions = new Map(); offerOthers(""); history.pushState(null, "", address(now())); about(); home(); search(); });
addEventListener("popstate", show);
by("shop").addEventListener("click", event => { event.preventDefault(); query.value = ""; conditions = new Map(); wanted = PAGE; go({ ...now(), mode: "fused", why: false }); query.focus(); });
why.addEventListener("close", () => {
  if (state().id) history.pushState(null, "", address({ ...state(), id: "", other: "", in: "" }));
  if (opener && opener.isConnected) opener.focus();
});
by("login").addEventListener("submit", event => { event.preventDefault(); sessionStorage.setItem("token", by("token").value); start(); });
addEventListener("keydown", event => {
  if (why.open || event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = document.activeElement === query;
  if (event.key === "/" && !/^(INPUT|SELECT)$/.test(document.activeElement.tagName)) { event.preventDefault(); query.select(); query.focus(); }
  if (event.key === "Escape" && isTyping && !suggestions.hidden) { event.preventDefault(); hideSuggestions(); }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  if (isTyping && !suggestions.hidden) {
    event.preventDefault();
    const count = offered.length + 1;
    pointAt((at + 1 + (event.key === "ArrowDown" ? 1 : count - 1)) % count - 1);
    return;
  }
  const links = [...lists.querySelectorAll("li a")], from = links.indexOf(document.activeElement);
  if (from < 0 && !(isTyping && event.key === "ArrowDown")) return;
  event.preventDefault();
  const next = from + (event.key === "ArrowDown" ? 1 : -1);
  if (next < 0) query.focus(); else links[Math.min(next, links.length - 1)]?.focus();
});
const shopName = () => current() ? label(current().name) : "Search";
// How long ago it was, in the largest unit that fits.
const ago = seconds => {
  const passed = Math.max(0, Date.now() / 1000 - seconds), units = [["year", 31557600], ["month", 2629800], ["day", 86400], ["hour", 3600], ["minute", 60]];
  const unit = units.find(([, size]) => passed >= size);
  return unit ? `${counted(Math.floor(passed / unit[1]), unit[0])} ago` : "just now";
};
const home = async () => {
  const { facts } = current().current, said = [counted(facts.titles, "title")];
  by("shop").textContent = by("name").textContent = by("heading").textContent = shopName();
  if (facts.made) said.push(`index made ${ago(facts.made)}`);
  if (facts.model && facts.model.made) said.push(`model ${ago(facts.model.made)}`);
  by("about-line").textContent = said.join(" · ");
  try {
    const { queries } = await ask("suggest?" + new URLSearchParams({ q: "", ...ofIndex() }));
    const links = queries.map(text => make("li", {}, make("a", { href: address({ ...now(), q: text, filters: [], id: "" }) }, text)));
    by("examples").replaceChildren(...(links.length ? [make("h2", {}, "People search for"), make("ul", { class: "chips" }, ...links)] : []));
    for (const link of by("examples").querySelectorAll("a")) link.addEventListener("click", event => { if (!event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); query.value = link.textContent; go(now()); } });
  } catch { /* the alert says it */ }
};
const about = () => {
  const of = current(), { facts, generation, opened } = of.current, list = make("dl");
  const add = (name, value) => { if (value !== undefined && value !== null && value !== "") list.append(make("dt", {}, name), make("dd", {}, String(value))); };
  add("Name", of.name); add("Titles", facts.titles.toLocaleString("en")); add("Found by words alone", facts.without_vector ? facts.without_vector.toLocaleString("en") : "");
  add("Model", facts.model && `${facts.model.encoder}, ${facts.model.dimension} numbers, ${facts.model.fingerprint}`);
  const { vectors, words } = facts.parts || {}, named = of => Object.entries(of).map(([name, value]) => `${name} ${value}`).join(", ");
  add("Vectors", vectors && vectors.search && (vectors.search.kind === "exact" ? "exact: compares every vector" : named(vectors.search)));
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
    const chosen = state().index;
    if (indexes.some(index => index.name === chosen)) chooser.value = chosen;
    about();
    shownKey = "";
    await Promise.all([show(), home()]);
  } catch { /* the alert says it */ }
};
start();
