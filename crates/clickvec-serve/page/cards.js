// Draws what a search found: titles as cards, and filters with counts.
"use strict";
const counted = (number, one, many = one + "s") => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
// Fields are known by their names; an image also by its address.
const isImage = (name, value) => /^https:\/\//.test(value) && (/image|img|picture|photo|thumb/i.test(name) || /\.(jpe?g|png|webp|gif|avif|svg)(\?|$)/i.test(value));
const isPrice = name => /price|cost|amount|preis|prix|precio|prezzo/i.test(name);
const isLink = value => /^https?:\/\//.test(value);
const isNumber = value => value.trim() !== "" && Number.isFinite(Number(value));
const formatted = (name, value) => {
  if (!isNumber(value)) return value;
  const number = Number(value);
  if (isPrice(name)) return number.toLocaleString("en", { minimumFractionDigits: value.includes(".") ? 2 : 0, maximumFractionDigits: 2 });
  return /year|jahr|id$|code|sku/i.test(name) ? value : number.toLocaleString("en", { maximumFractionDigits: 2 });
};
const label = name => name.replace(/[_.-]+/g, " ").replace(/^./, first => first.toUpperCase());

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
// Says in words what found a title.
const reason = hit => {
  if (hit.pinned) return "Pinned.";
  const said = [], meaning = (hit.keywords || []).filter(word => !hit.matched.includes(word)), found = part => hit.parts[part] && hit.parts[part].rank;
  if (hit.matched.length && (found("words") || found("trigrams"))) said.push(`by words: ${hit.matched.join(", ")}`);
  if (found("vectors")) said.push(meaning.length ? `by meaning: ${meaning.join(", ")}` : "by meaning");
  if (found("teacher")) said.push("by the teacher");
  return said.length ? `Found ${said.join("; ")}.` : "Found by one part of the index only.";
};
const numbersOf = hit => {
  const of = Object.entries(hit.parts), said = of.length === 1 ? [] : [`score ${signed(hit.score, 4)}`];
  for (const [part, { score, rank }] of of) said.push(`${SCORES[part] || part} ${signed(score, part === "words" ? 2 : 3)}${rank ? ` (#${rank})` : ""}`);
  if (hit.boost !== undefined) said.push(`boost ${signed(hit.boost, 3)}`);
  if (hit.confidence !== undefined) said.push(`good match: ${Math.round(100 * hit.confidence)} %`);
  return [...said, hit.id].join(" · ");
};
const pictureOf = hit => {
  const image = Object.entries(hit.fields).find(([name, value]) => isImage(name, value));
  if (!image) return "";
  const picture = make("img", { src: image[1], alt: "", loading: "lazy" }), box = make("div", { class: "picture" }, picture);
  picture.addEventListener("error", () => box.remove());
  return box;
};
const fieldsOf = hit => {
  const shown = Object.entries(hit.fields).filter(([, value]) => value !== "" && !isLink(value)), price = shown.find(([name, value]) => isPrice(name) && isNumber(value));
  const others = shown.filter(field => field !== price).slice(0, price ? 2 : 3);
  return shown.length ? make("p", { class: "fields" }, ...(price ? [make("span", { class: "price" }, formatted(...price))] : []),
    ...others.map(([name, value]) => make("span", { title: label(name) }, isNumber(value) ? `${label(name)} ${formatted(name, value)}` : value))) : "";
};
// A hand with its thumb up or down; fonts do not all have one.
const thumb = grade => make("svg:svg", { width: 16, height: 16, viewBox: "0 0 16 16", class: "thumb", "aria-hidden": "true" },
  make("svg:path", { d: "M1 7h3v7H1z M5 7l3.2-6c1.6 0 2.2 1 1.9 2.4L9.6 6H14c1 0 1.6.8 1.4 1.7l-1.2 5c-.2.8-.8 1.3-1.6 1.3H5z", ...(grade === "down" ? { transform: "rotate(180 8 8)" } : {}) }));
const card = (hit, next, { numbers, ranks, tools, change, open, compare }) => {
  const link = make("a", { href: address({ ...now(), id: hit.id }), "data-id": hit.id }, marked(hit.title, hit.matched, numbers ? hit.keywords : []));
  link.addEventListener("click", event => { if (!event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); open(link, hit); } });
  const parts = [pictureOf(hit), make("p", { class: "title" }, link), fieldsOf(hit)];
  if (numbers) parts.push(make("p", { class: "reason" }, reason(hit), make("small", {}, numbersOf(hit))));
  const row = make("div", { class: "tools" });
  if (ranks) row.append(make("span", { class: "rank" }, `#${hit.rank}`));
  if (change(hit)) row.append(make("span", { class: "pin" }, change(hit)));
  if (hit.pinned) row.append(make("span", { class: "pin" }, "Pinned"));
  if (numbers && next) {
    const above = make("button", { type: "button", class: "compare", "aria-label": `Why is ${hit.title} above ${next.title}?`, title: "Why is it above the next one?" }, "Above the next?");
    above.addEventListener("click", () => compare(above, hit, next));
    row.append(above);
  }
  row.append(...tools(hit));
  if (row.childNodes.length) parts.push(row);
  return make("li", { class: "card" }, ...parts);
};
// Likely titles first, then those that are hardly what was meant.
const listOf = (answer, heading, options) => {
  const all = answer.results, isLikely = hit => options.flat || hit.pinned || hit.confidence === undefined || hit.confidence >= 0.5;
  const draw = hits => make("ol", { class: "cards" }, ...hits.map(hit => card(hit, all[all.indexOf(hit) + 1], options)));
  const likely = all.filter(isLikely), weak = all.filter(hit => !isLikely(hit)), section = make("section", heading ? { "aria-label": heading } : {});
  if (heading) section.append(make("h2", {}, heading));
  if (answer.corrected) section.append(make("p", { class: "note" }, "Searched for ", make("b", {}, answer.corrected), "."));
  if (likely.length) section.append(draw(likely));
  if (weak.length) section.append(make("div", { class: likely.length ? "weak" : "" }, make("h2", {}, likely.length ? "Weak matches" : "Weak matches: no title is likely to be what was meant"), draw(weak)));
  if (!all.length) section.append(make("p", { class: "note" }, answer.weak ? "No title is a likely match." : "No title."));
  return section;
};

// Conditions by field, as the page keeps them: the values that are chosen, or the ends of a range.
const conditionsOf = filters => {
  const conditions = new Map();
  for (const text of filters) {
    const [, field, sign, value] = text.match(/^([^=:]+)([=:])(.*)$/s) || [];
    if (field === undefined) continue;
    const range = sign === ":" ? value.match(/^(-?[\d.]*?)\.\.(-?[\d.]*)$/) : null;
    conditions.set(field, range ? { from: range[1], to: range[2] } : { values: value.split("|") });
  }
  return conditions;
};
const filterTexts = conditions => [...conditions].flatMap(([field, of]) => of.values ? (of.values.length ? [`${field}=${of.values.join("|")}`] : []) : of.from || of.to ? [`${field}:${of.from}..${of.to}`] : []);
// Fields with few values get boxes, those with many numbers a range.
const facetKind = ({ name, values, numbers }) => numbers > 12 && numbers >= 0.9 * values ? "range" : values > 1 && values <= 5000 && !/^(id|url|link|href|image|img|picture|photo|description)/i.test(name) ? "values" : "";
const facetBox = (facet, kind, conditions, change) => {
  const { field } = facet, of = conditions.get(field) || {}, box = make("fieldset", {}, make("legend", {}, label(field)));
  const set = condition => { const next = new Map(conditions); condition ? next.set(field, condition) : next.delete(field); change(next); };
  if (kind === "range") {
    const end = (name, value, hint) => {
      const input = make("input", { type: "number", step: "any", inputmode: "decimal", "aria-label": `${label(field)} ${name}`, placeholder: hint ?? "" });
      input.value = value || "";
      input.addEventListener("change", () => { const [from, to] = box.querySelectorAll("input"); set({ from: from.value, to: to.value }); });
      return input;
    };
    const [least, most] = facet.range || [], shown = number => number === undefined ? "" : String(Math.round(number * 100) / 100);
    box.append(make("div", { class: "range" }, end("from", of.from, shown(least)), "to", end("to", of.to, shown(most))));
    return box;
  }
  const chosen = new Set(of.values || []), rows = facet.values.slice(0, 8);
  for (const value of chosen) if (!facet.values.slice(0, 8).some(row => row.value === value)) rows.unshift(facet.values.find(row => row.value === value) || { value, titles: 0 });
  for (const { value, titles } of rows.filter(row => !row.value.includes("|"))) {
    const input = make("input", { type: "checkbox", checked: chosen.has(value) });
    input.addEventListener("change", () => { input.checked ? chosen.add(value) : chosen.delete(value); set(chosen.size ? { values: [...chosen] } : null); });
    box.append(make("label", {}, input, make("span", {}, formatted("", value)), make("small", {}, titles.toLocaleString("en"))));
  }
  return rows.length ? box : "";
};
