const $ = id => document.getElementById(id);
const make = (tag, text, attributes) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  return element;
};
const svgNode = (tag, attributes, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
};
const table = (cells, numbersFrom, name) => {
  const shown = make("table", undefined, { class: name }), parts = [make("thead"), make("tbody")];
  shown.append(...parts);
  cells.forEach((row, i) => {
    const line = parts[i ? 1 : 0].appendChild(make("tr"));
    row.forEach((cell, j) => line.appendChild(make(i ? "td" : "th", cell, j >= numbersFrom ? { class: "n" } : {})));
  });
  return shown;
};
const systems = table(data.table, 2, "systems");
$("table").append(systems);
// The best number of each column of metrics.
[2, 3, 4].forEach(column => {
  const cells = [...systems.rows].slice(1).map(row => row.cells[column]).filter(cell => cell && !isNaN(parseFloat(cell.textContent)));
  const most = Math.max(...cells.map(cell => parseFloat(cell.textContent)));
  if (cells.length > 1) cells.filter(cell => parseFloat(cell.textContent) === most).forEach(cell => cell.className += " best");
});
data.notes.forEach(note => $("notes").append(make("p", note)));
for (const side of ["a", "b"]) data.systems.forEach((name, i) => $(side).append(make("option", name, { value: i })));
// The best system beside the first.
const mean = system => data.queries.reduce((sum, query) => sum + query.ndcg[system][0], 0);
const best = data.systems.map((_, i) => i).reduce((best, i) => mean(i) > mean(best) ? i : best, 0);
$("a").value = best; $("b").value = best ? 0 : Math.min(1, data.systems.length - 1);
const chosen = () => [+$("a").value, +$("b").value];
const bars = (series, labels, colours, width) => {
  const height = 180, left = 34, bottom = 20, slot = (width - left) / labels.length;
  const most = Math.max(...series.flat(), 1e-9), picture = svgNode("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  [0, .5, 1].forEach(share => {
    const y = 8 + (height - bottom - 8) * (1 - share);
    picture.append(svgNode("line", { x1: left, x2: width, y1: y, y2: y, stroke: "var(--line)" }));
    picture.append(svgNode("text", { x: left - 4, y: y + 4, "text-anchor": "end" }, (most * share).toFixed(most < 10 ? 1 : 0)));
  });
  labels.forEach((label, i) => {
    series.forEach((values, s) => {
      const size = (height - bottom - 8) * values[i] / most, thick = slot * .8 / series.length;
      const bar = svgNode("rect", { x: left + slot * (i + .1) + thick * s, y: height - bottom - size, width: thick, height: size, fill: colours[s] });
      bar.append(svgNode("title", {}, `${label}: ${values[i].toFixed(1)} %`));
      picture.append(bar);
    });
    if (labels.length < width / 22 || i % 5 === 0) picture.append(svgNode("text", { x: left + slot * (i + .5), y: height - 5, "text-anchor": "middle" }, label));
  });
  return picture;
};
// Drawn as wide as there is room, so that letters keep their size.
const room = Math.min(700, document.body.clientWidth - 32), narrow = room < 500;
const dots = metric => {
  const left = narrow ? 135 : 210, right = 20, step = 24, width = room, letters = narrow ? 19 : 30, rows = data.intervals, height = rows.length * step + 34;
  const low = Math.min(...rows.map(row => row[metric][1])), high = Math.max(...rows.map(row => row[metric][2]));
  const span = Math.max(high - low, 1e-6), x = v => left + (width - left - right) * (v - low) / span;
  const picture = svgNode("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  const unit = 10 ** Math.floor(Math.log10(span)), tick = unit * (span / unit > 5 ? 2 : span / unit > 2 ? 1 : .5) * (narrow ? 2 : 1);
  for (let v = Math.ceil(low / tick) * tick; v <= high + 1e-9; v += tick) {
    picture.append(svgNode("line", { x1: x(v), x2: x(v), y1: 4, y2: height - 24, stroke: "var(--line)" }));
    picture.append(svgNode("text", { x: x(v), y: height - 8, "text-anchor": "middle" }, v.toFixed(3).replace(/0+$/, "").replace(/\.$/, "")));
  }
  rows.forEach((row, i) => {
    const [mean, from, to] = row[metric], y = 16 + i * step, name = data.systems[i], colour = i ? "var(--a)" : "var(--b)";
    const label = svgNode("text", { x: left - 12, y: y + 4, "text-anchor": "end", style: "fill: var(--ink)" }, name.length > letters ? name.slice(0, letters - 1) + "…" : name);
    const line = svgNode("line", { x1: x(from), x2: x(to), y1: y, y2: y, stroke: colour, "stroke-width": 3, "stroke-linecap": "round", opacity: .55 });
    const dot = svgNode("circle", { cx: x(mean), cy: y, r: 5, fill: colour });
    dot.append(svgNode("title", {}, `${name}: ${mean.toFixed(3)}, from ${from.toFixed(3)} to ${to.toFixed(3)}`));
    picture.append(label, line, dot);
  });
  return picture;
};
const showIntervals = () => $("intervals").replaceChildren(dots(+$("metric").value));
$("metric").addEventListener("change", showIntervals);
showIntervals();
// The papers' names of grades 0 to 4; a finer scale has numbers.
const scale = data.systems.length ? data.first_grades.of[0].length : 5;
const names = scale === 5 ? ["bad", "fair", "good", "excellent", "perfect"] : [...Array(scale).keys()].map(String);
let shown = 20;
const compare = () => {
  if (!data.systems.length) return;
  const [a, b] = chosen(), grades = data.first_grades, of = [a, b].map(system => grades.of[system]);
  // Each two systems are there once: rows are those of the first in the table.
  const cross = a <= b ? grades.cross[a][b - a] : names.map((_, g) => grades.cross[b][a - b].map(row => row[g]));
  const per = 100 / data.queries.length;
  $("grades").replaceChildren(bars(of.map(grades => grades.map(x => x * per)), names, ["var(--a)", "var(--b)"], Math.min(420, room)));
  const rows = cross.map((row, g) => [names[g], ...row.map(x => x.toFixed(0)), of[0][g].toFixed(0)]);
  $("cross").replaceChildren(table([["", ...names, "all"], ...rows, ["all", ...of[1].map(x => x.toFixed(0)), data.queries.length]], 1, "cross"));
  // The paper's table: bad, fair, and good or better as one.
  const merged = [0, 1, 2].map(g => [0, 1, 2].map(h => cross.reduce((sum, row, i) => Math.min(i, 2) === g ? sum + row.reduce((s, x, j) => Math.min(j, 2) === h ? s + x : s, 0) : sum, 0)));
  const three = ["bad", "fair", "good+"];
  $("paperhead").hidden = $("paper").hidden = scale !== 5;
  $("paper").replaceChildren(table([["", ...three], ...merged.map((row, g) => [three[g], ...row.map(x => x.toFixed(0))])], 1, "cross"));
  // The fuller a cell the darker it is; the diagonal is where both do the same.
  const most = Math.max(...cross.flat(), 1);
  [...$("cross").querySelectorAll("tbody tr")].slice(0, names.length).forEach((line, g) => names.forEach((_, h) => {
    const share = Math.round(60 * Math.sqrt(cross[g][h] / most)), colour = g > h ? "var(--a)" : g < h ? "var(--b)" : "var(--soft)";
    line.cells[h + 1].style.background = `color-mix(in srgb, ${colour} ${share}%, transparent)`;
  }));
  lengthwise();
  list();
};
// NDCG by the number of words, in five groups of about the same number of queries, or fewer.
const lengthwise = () => [["byquery", 0, "words of the query"], ["bytitles", 1, "words of its titles, mean"]].forEach(([id, which, head]) => {
  const [a, b] = chosen(), k = +$("of").value, sorted = data.queries.map(query => query.words[which]).sort((x, y) => x - y);
  const ends = [...new Set([1, 2, 3, 4, 5].map(fifth => sorted[Math.ceil(sorted.length * fifth / 5) - 1]))];
  const rows = ends.map((end, i) => {
    const of = data.queries.filter(query => query.words[which] <= end && (i === 0 || query.words[which] > ends[i - 1]));
    const mean = values => values.reduce((x, y) => x + y, 0) / values.length, d = of.map(query => query.ndcg[a][k] - query.ndcg[b][k]), m = mean(d);
    const half = 1.96 * Math.sqrt(d.reduce((sum, x) => sum + (x - m) ** 2, 0) / (of.length - 1) / of.length);
    const shown = x => x === Math.round(x) ? String(x) : x.toFixed(1), from = Math.min(...of.map(query => query.words[which]));
    const sign = x => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(3);
    return [from === end ? shown(end) : `${shown(from)} to ${shown(end)}`, of.length, mean(of.map(query => query.ndcg[a][k])).toFixed(3), mean(of.map(query => query.ndcg[b][k])).toFixed(3), sign(m), of.length > 1 ? `${sign(m - half)} to ${sign(m + half)}` : ""];
  });
  $(id).replaceChildren(table([[head, "queries", data.systems[a], data.systems[b], "difference", "95 % interval"], ...rows], 1));
});
const ranking = (query, system) => {
  const column = make("div");
  column.append(make("p", data.systems[system]));
  query.titles.map((title, i) => [query.ranks[system][i], ...title]).sort((x, y) => x[0] - y[0]).forEach(([rank, text, grade]) => {
    const line = column.appendChild(make("div"));
    line.append(make("span", grade, { class: "tag", style: `background: var(--g${Math.round(4 * grade / (scale - 1))})`, title: names[grade] }));
    line.append(text);
    line.title = `rank ${rank}`;
  });
  return column;
};
const list = () => {
  const [a, b] = chosen(), k = +$("k").value, sign = +$("order").value, words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = data.queries.filter(query => words.every(word => query.text.toLowerCase().includes(word)));
  const sorted = found.map(query => [query.ndcg[a][k] - query.ndcg[b][k], query]).sort((x, y) => sign * (y[0] - x[0]));
  const wins = sorted.filter(([d]) => d > 0).length, losses = sorted.filter(([d]) => d < 0).length;
  $("count").textContent = `${wins} won, ${losses} lost, ${sorted.length - wins - losses} equal`;
  $("queries").replaceChildren(...sorted.slice(0, shown).map(([difference, query]) => {
    const item = make("details"), head = item.appendChild(make("summary"));
    head.append(make("span", (difference > 0 ? "+" : "") + difference.toFixed(3), { class: difference > 0 ? "d a" : difference < 0 ? "d b" : "d" }), query.text);
    item.addEventListener("toggle", () => {
      if (item.children.length > 1) return;
      const both = item.appendChild(make("div", undefined, { class: "titles" }));
      both.append(ranking(query, a), ranking(query, b));
    });
    return item;
  }));
  $("more").hidden = shown >= sorted.length;
};
["a", "b"].forEach(id => $(id).addEventListener("change", compare));
["k", "order"].forEach(id => $(id).addEventListener("change", list));
$("of").addEventListener("change", lengthwise);
$("search").addEventListener("input", list);
$("more").addEventListener("click", () => { shown += 100; list(); });
compare();
$("versus").hidden = !data.against.length;
data.against.forEach(([heading, cells]) => { const box = make("div", undefined, { class: "wide" }); box.append(make("p", heading), table(cells, 1, "versus")); $("against").append(box); });
const lengths = Object.values(data.lengths), longest = Math.max(...lengths.map(x => x.length));
$("lengths").append(bars(lengths.map(counts => { const sum = counts.reduce((x, y) => x + y, 0) || 1;
  return Array.from({ length: longest }, (_, i) => 100 * (counts[i] || 0) / sum); }), Array.from({ length: longest }, (_, i) => i === 40 ? "40+" : i), ["var(--a)", "var(--b)"], room));
// One picture for each number of negatives and γ: other losses cannot be compared, since one starts at ln(1 + n).
const groups = new Map();
data.curves.forEach(curve => { const key = `${curve.loss} ${curve.negatives} ${curve.gamma}`; groups.set(key, [...(groups.get(key) || []), curve]); });
if (groups.size) $("training").append(make("h2", "Training"));
for (const curves of groups.values()) {
  const width = room, height = 260, left = 50, right = narrow ? 110 : 160, all = curves.flatMap(curve => curve.losses).filter(x => x > 0).map(Math.log10);
  const low = Math.min(...all), high = Math.max(...all, low + 1e-6), steps = Math.max(...curves.map(curve => curve.losses.length));
  const x = i => left + (width - left - right) * (steps > 1 ? i / (steps - 1) : 0), y = v => 10 + (height - 40) * (high - Math.log10(v)) / (high - low);
  const picture = svgNode("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  [low, (low + high) / 2, high].forEach(v => { const at = y(10 ** v);
    picture.append(svgNode("line", { x1: left, x2: width - right, y1: at, y2: at, stroke: "var(--line)" }), svgNode("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, (10 ** v).toPrecision(3))); });
  picture.append(svgNode("text", { x: left, y: height - 6 }, "epoch 1"), svgNode("text", { x: width - right, y: height - 6, "text-anchor": "end" }, steps));
  const hue = i => `hsl(${(210 + i * 137) % 360} 60% 50%)`;
  // Names that would cover each other are moved down.
  const ends = curves.map((curve, i) => [y(curve.losses[curve.losses.length - 1]), i]).sort((p, q) => p[0] - q[0]);
  ends.forEach((end, i) => { if (i && end[0] < ends[i - 1][0] + 13) end[0] = ends[i - 1][0] + 13; });
  ends.forEach(([at, i]) => { const { name, losses } = curves[i];
    picture.append(svgNode("polyline", { points: losses.map((v, e) => `${x(e)},${y(v)}`).join(" "), fill: "none", stroke: hue(i), "stroke-width": 2 }));
    picture.append(svgNode("text", { x: width - right + 6, y: at + 4, style: `fill: ${hue(i)}` }, name)); });
  const { loss, negatives, gamma } = curves[0];
  const [kind, formula, ignorant] = loss === "nce"
    ? ["Mean noise-contrastive loss", `ln(1 + ${negatives}) + ${negatives} ln(1 + 1/${negatives})`, Math.log(1 + negatives) + negatives * Math.log(1 + 1 / negatives)]
    : ["Mean loss", `ln(1 + ${negatives})`, Math.log(1 + negatives)];
  $("training").append(make("p", `${kind} of a pair with ${negatives} negatives and γ = ${gamma}, epoch by epoch, logarithmic; a model that knows nothing has ${formula} = ${ignorant.toFixed(2)} times the mean weight of a pair`), picture);
}
if (data.parameters.length) {
  $("parameters").append(make("h2", "Parameters, fold by fold"));
  const items = $("parameters").appendChild(make("ul"));
  data.parameters.forEach(line => items.append(make("li", line)));
}
