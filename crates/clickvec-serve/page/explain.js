// Draws an explanation: what each word adds, which cells both texts share, and what happens inside word by word.
"use strict";
const make = (tag, attributes = {}, ...inside) => {
  const element = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  element.append(...inside);
  return element;
};
const signed = (value, digits = 3) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(digits);
const shown = word => word.parts > 1 ? `… (${word.parts} words)` : word.word;
// Columns of texts hold numbers, but for the first; what is not a number is an element.
const table = (head, rows, label, kind = "") => {
  const side = (place, cell) => place && typeof cell === "string" && "n";
  const first = rows[0] ?? [];
  return make("div", { class: `wide ${kind}`, tabindex: 0, role: "region", "aria-label": label },
    make("table", {}, make("thead", {}, make("tr", {}, ...head.map((cell, place) => make("th", { scope: "col", class: side(place, first[place] ?? "") }, cell)))),
      make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map((cell, place) => make("td", { class: side(place, cell) }, cell)))))));
};
// A bar from a common zero: filled to the right for what adds, hollow to the left for what takes away.
const bar = (value, most) => {
  const width = 90, zero = 30, scale = (value < 0 ? zero : width - zero) / (most || 1), length = Math.max(1, Math.abs(value) * scale);
  return make("svg:svg", { class: "bars", viewBox: `0 0 ${width} 12`, width, height: 12, preserveAspectRatio: "none", "aria-hidden": "true" },
    make("svg:rect", { class: value < 0 ? "bar less" : "bar", x: value < 0 ? zero - Math.min(length, zero - 1) : zero, y: 1, width: Math.min(length, value < 0 ? zero - 1 : width - zero), height: 10 }));
};
const wordsTable = (text, label) => {
  const most = Math.max(...text.words.map(word => Math.abs(word.along)), 1e-9), hasGate = text.words.some(word => word.input_gate !== undefined);
  const rows = text.words.map(word => [
    make("span", {}, text.has_keywords && word.keyword ? make("mark", {}, shown(word)) : shown(word), word.known ? "" : " (unknown)"),
    bar(word.along, most), signed(word.along), signed(word.without), ...(hasGate ? [word.input_gate === undefined ? "" : word.input_gate.toFixed(2)] : [])]);
  const box = make("div", {}, table(["word", "", "along", "without", ...(hasGate ? ["input gate"] : [])], rows, label));
  if (text.cut) box.append(make("p", { class: "note" }, `The model ignores ${text.cut} more words.`));
  return box;
};
const heatMap = (heat, words, low, high, label) => {
  const cell = 26, row = 13, left = 34, head = 78, width = left + words.length * cell + 60, height = head + heat.units.length * row + 4;
  const picture = make("svg:svg", { width, height, role: "img", "aria-label": label });
  words.forEach((word, place) => {
    const text = shown(word), turned = make("svg:text", { transform: `translate(${left + place * cell + cell / 2 + 4} ${head - 6}) rotate(-50)` }, text.length > 14 ? text.slice(0, 13) + "…" : text);
    picture.append(turned);
  });
  heat.units.forEach((unit, place) => {
    picture.append(make("svg:text", { x: left - 5, y: head + place * row + 11, "text-anchor": "end" }, String(unit)));
    heat.values[place].forEach((value, word) => {
      const level = high > low ? Math.round(16 * Math.min(1, Math.max(0, (value - low) / (high - low)))) : 8;
      picture.append(make("svg:rect", { class: `l${level}`, x: left + word * cell, y: head + place * row, width: cell, height: row },
        make("svg:title", {}, `unit ${unit}, ${shown(words[word])}: ${signed(value)}`)));
    });
  });
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, picture);
};
const heatMaps = (title, rows) => {
  const maps = make("div"), kinds = new Map();
  for (const [side, text] of [["query", title.query], ["title", title.text]]) for (const heat of text.heat) {
    const kind = heat.direction === "backward" ? `${heat.state}, read backwards` : heat.state;
    if (!kinds.has(kind)) kinds.set(kind, []);
    kinds.get(kind).push([side, text, heat]);
  }
  for (const [kind, parts] of kinds) {
    const all = parts.flatMap(([, , heat]) => heat.values.flat()), low = Math.min(...all), high = Math.max(...all);
    const pair = make("div", { class: "pair" }, ...parts.map(([side, text, heat]) => make("div", {}, make("p", { class: "note" }, `of the ${side}`), heatMap(heat, text.words, low, high, `${kind} of the ${side}`))));
    maps.append(make("h3", {}, kind[0].toUpperCase() + kind.slice(1)), make("p", { class: "note" }, `Rows are ${rows}, columns are words; from ${signed(low, 2)} (dark) to ${signed(high, 2)} (light).`), pair);
  }
  return maps;
};
// What each part adds to the score by which a fused list is sorted; nothing if the list has not both titles.
const fusedGap = (answer, lists) => {
  const list = lists.find(of => of.mode === "fused"), hit = of => list && list.results.find(found => found.id === of.id);
  const first = hit(answer.title), second = hit(answer.other);
  if (!first || !second) return "";
  const adds = (of, part) => (of.parts[part] && of.parts[part].adds) || 0;
  const parts = Object.keys({ ...first.parts, ...second.parts }).map(part => `${part} ${signed(adds(first, part) - adds(second, part), 4)}`);
  const look = of => Object.values(of.title_match || {}).reduce((sum, adds) => sum + adds, 0);
  if (first.title_match || second.title_match) parts.push(`words of the title ${signed(look(first) - look(second), 4)}`);
  return make("p", {}, `In the fused list it has ${signed(first.score, 4)} and the other ${signed(second.score, 4)}: ${parts.join(", ")}.`);
};
const gapTable = (answer, lists) => {
  const { gap, title, other } = answer, most = Math.max(...gap.by_word.map(word => Math.abs(word.vectors)), 1e-9), mostWords = Math.max(...gap.by_word.map(word => Math.abs(word.words)), 1e-9);
  const rows = gap.by_word.map(word => [word.word, bar(word.vectors, most), signed(word.vectors), bar(word.words, mostWords), signed(word.words)]);
  rows.push([make("b", {}, "total"), "", signed(gap.scores.vectors), "", signed(gap.scores.words)]);
  const others = Object.entries(gap.scores).filter(([name]) => !["vectors", "words"].includes(name)).map(([name, by]) => ` The score by ${name} differs by ${signed(by)}.`).join("");
  return make("div", {}, make("p", {}, make("b", {}, title.title)), make("p", {}, "compared with ", make("b", {}, other.title)), fusedGap(answer, lists),
    make("p", { class: "note" }, `Contribution of each query word to the first title minus the second.${others}`),
    table(["word", "", "vectors", "", "words"], rows, "differences by word"));
};
// Says in words what found the title.
const told = title => {
  const words = title.bm25.filter(word => word.share > 0).map(word => word.word), texts = pair => [shown(title.query.words[pair.query_word]), shown(title.text.words[pair.title_word])];
  const meaning = title.pairs.filter(pair => pair.share >= 0.02).map(texts).filter(([query, word], at, all) => query !== word && !words.includes(query) && all.findIndex(([other]) => other === query) === at).map(([query, word]) => `${query} ↔ ${word}`);
  const parts = [...(words.length ? [`by words: ${words.join(", ")}`] : []), ...(meaning.length ? [`by meaning: ${meaning.join(", ")}`] : [])];
  return parts.length ? `Found ${parts.join("; ")}.` : "No word or pair of words stands out; the texts match overall.";
};
const drawExplanation = (box, answer, query, lists) => {
  const { title } = answer;
  box.replaceChildren(make("h2", { id: "why-title", tabindex: -1 }, answer.gap ? "Why is it above the other?" : title.title));
  if (answer.gap) { box.append(gapTable(answer, lists)); return; }
  const mixed = answer.unit === "dimension", part = (heading, note, ...inside) => box.append(make("h3", {}, heading), ...(note ? [make("p", { class: "note" }, note)] : []), ...inside);
  box.append(make("p", { class: "told" }, told(title)), make("p", { class: "note" }, `Query: ${query}. `, Object.entries(title.scores).map(([part, score]) => `${SCORES[part] || part} ${signed(score)}`).join(", "), ...Object.entries(title.fields).filter(([, value]) => value && !isLink(value)).map(([name, value]) => `, ${label(name).toLowerCase()}: ${formatted(name, value)}`)));
  box.append(heatMaps(title, mixed ? "the most active cells" : "the units that add most"));
  part("What each word adds to the cosine", "“Along” is how far the vector moves towards the other text while the word is read: these sum to the cosine. “Without” is how much the cosine falls without the word. Underlined words are keywords of the model.",
    make("div", { class: "pair" }, make("div", {}, make("p", { class: "note" }, "of the query"), wordsTable(title.query, "words of the query")), make("div", {}, make("p", { class: "note" }, "of the title"), wordsTable(title.text, "words of the title"))));
  if (title.bm25.length) part("What each word adds to BM25", "", table(["word", "in the title", "titles that have it", "adds"], title.bm25.map(word => [word.word, String(word.in_title), word.titles.toLocaleString("en"), signed(word.share)]), "BM25 by word"));
  const words = pair => `${shown(title.query.words[pair.query_word])} ↔ ${shown(title.text.words[pair.title_word])}`;
  const pairs = title.pairs.filter(pair => pair.share >= 0.005).slice(0, 8);
  if (pairs.length) part("Words that match", "", table(["query ↔ title", "adds to the cosine"], pairs.map(pair => [words(pair), signed(pair.share)]), "words that match"));
  const place = (text, at) => make("span", {}, at === undefined ? "" : shown(text.words[at]));
  part(`Shared ${answer.unit}s`, `The ${answer.unit}s of both vectors that add most${mixed ? "; each is a mixture of all cells" : ", and the word that moved each most"}.`,
    table([answer.unit, "query", "title", "adds", "word of the query", "word of the title"], title.units.map(unit => [String(unit.unit), signed(unit.query), signed(unit.title), signed(unit.share), place(title.query, unit.query_word), place(title.text, unit.title_word)]), `shared ${answer.unit}s`, "cells"));
};
