// Shows the titles of one query after another. A digit grades the marked title; the program stores it at once.
"use strict";
const by = id => document.getElementById(id);
const GRADES = ["bad", "fair", "good", "excellent", "perfect"];
// What was graded on this page, to be undone: the query, the title, and the grade that it had before.
const done = [];
let query = null, titles = [], items = [], here = 0, ended = false;
// The steps are sent one after the other; a key may be pressed before the last answer is there.
let sent = Promise.resolve(), waiting = 0;

const make = (name, attributes = {}, ...inside) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
};
const fail = text => { by("alert").textContent = text; by("alert").hidden = !text; };

const send = step => {
  waiting++;
  sent = sent.then(async () => {
    let response;
    try {
      response = await fetch("step", { method: "POST", body: JSON.stringify(step), cache: "no-store" });
    } catch {
      waiting--;
      return end("The program has ended. All grades shown as saved are in the sheet; restart it to continue.");
    }
    const answer = await response.json();
    waiting--;
    if (!response.ok) { fail(answer.error.message); answer.query = null; return look(); }
    fail("");
    if (step.step === "finish") return end("Finished: the program prints the result. You may close this page.");
    if (!waiting) show(answer);
  });
  return sent;
};
const look = () => { query = null; send({ step: "look" }); };

const end = text => {
  ended = true;
  fail(text);
  for (const id of ["titles", "keys", "finish", "query", "label"]) by(id).hidden = true;
};

const count = (number, noun) => `${number} ${number === 1 ? noun : noun.replace(/y$/, "ie") + "s"}`;
const progress = answer => {
  const { judged, left, open, enough, queries } = answer;
  const parts = [`${count(judged, "query")} judged`];
  if (query !== null) parts.push(`${count(open, "title")} left of this one`);
  if (!enough && left !== null) parts.push(`about ${count(left, "query")} more will be enough`);
  else if (!enough) parts.push(judged < 5 ? "the number needed shows after a few queries" : `${count(queries - judged, "query")} left may not be enough`);
  return parts.join(" · ");
};

const show = answer => {
  if (ended) return;
  by("verdict").hidden = !answer.verdict;
  by("sentence").textContent = answer.verdict || "";
  if (answer.query !== query || query === null) {
    query = answer.query;
    titles = answer.titles;
    by("query").textContent = query === null ? "Every query is judged or skipped." : query;
    by("label").hidden = by("keys").hidden = query === null;
    items = titles.map(card);
    by("titles").replaceChildren(...items);
    here = 0;
    go(Math.max(0, titles.findIndex(title => title.grade === null)), false);
    if (!done.length || done.at(-1).query !== query) scrollTo(0, 0);
  }
  by("status").textContent = progress(answer);
};

const card = (title, place) => {
  const fields = Object.entries(title.fields);
  const buttons = GRADES.map((name, grade) => {
    const button = make("button", { type: "button", tabindex: "-1", "aria-label": `${grade}, ${name}: ${title.title}` }, make("b", {}, String(grade)), make("span", {}, name));
    button.addEventListener("click", event => { event.stopPropagation(); give(place, grade); });
    return button;
  }).reverse();
  const item = make("li", {}, make("div", { class: "title" }, title.title));
  if (fields.length) item.append(make("dl", {}, ...fields.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, field(value))])));
  item.append(make("div", { class: "grades" }, ...buttons));
  item.addEventListener("click", () => go(place));
  return mark(item, title.grade);
};
// Nothing is loaded from elsewhere, unless the link is followed.
const field = value => /^https?:\/\//.test(value) ? make("a", { href: value, target: "_blank", rel: "noopener noreferrer" }, value) : value;
const mark = (item, grade) => {
  item.classList.toggle("graded", grade !== null);
  item.querySelectorAll("button").forEach((button, place) => button.setAttribute("aria-pressed", String(4 - place === grade)));
  return item;
};

const go = (place, scroll = true) => {
  if (!items.length) return;
  items[here].classList.remove("here");
  here = Math.max(0, Math.min(items.length - 1, place));
  items[here].classList.add("here");
  if (scroll) items[here].scrollIntoView({ block: "nearest" });
};
const set = (place, grade) => {
  titles[place].grade = grade;
  mark(items[place], grade);
  send({ step: "grade", query, id: titles[place].id, grade });
};
const give = (place, grade) => {
  if (query === null) return;
  done.push({ query, id: titles[place].id, before: titles[place].grade });
  set(place, grade);
  const after = titles.findIndex((title, other) => other > place && title.grade === null);
  const next = after >= 0 ? after : titles.findIndex(title => title.grade === null);
  if (next >= 0) go(next);
  // The next query comes with the answer.
  else query = null;
};
const undo = () => {
  const last = done.pop();
  if (!last) return;
  const place = last.query === query ? titles.findIndex(title => title.id === last.id) : -1;
  if (place >= 0) { go(place); return set(place, last.before); }
  query = null;
  send({ step: "grade", query: last.query, id: last.id, grade: null });
};
const skip = () => {
  if (query === null) return;
  const skipped = query;
  query = null;
  send({ step: "skip", query: skipped });
};

document.addEventListener("keydown", event => {
  if (ended || event.ctrlKey || event.metaKey || event.altKey) return;
  const grade = event.key.length === 1 ? "01234".indexOf(event.key) : -1;
  if (grade >= 0) give(here, grade);
  else if (event.key === "ArrowDown" || event.key === "j") go(here + 1);
  else if (event.key === "ArrowUp" || event.key === "k") go(here - 1);
  else if (event.key === "u") undo();
  else if (event.key === "s") skip();
  else return;
  event.preventDefault();
});
by("finish").addEventListener("click", () => send({ step: "finish" }));
by("skip").addEventListener("click", skip);
look();
