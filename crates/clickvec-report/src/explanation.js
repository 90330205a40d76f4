// Shows the value under the pointer. Without this script the page still has everything else.
"use strict";
const tip = document.body.appendChild(document.createElement("div"));
tip.id = "tip";
const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const say = (text, event) => {
  tip.textContent = text;
  if (text) {
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 6)) + "px";
    tip.style.top = Math.max(4, event.clientY - 30) + "px";
  }
};
const at = (svg, event) => {
  const box = svg.getBoundingClientRect(), { left, head, word, row, words, units, low, high, values } = svg.dataset;
  const column = Math.floor((event.clientX - box.left - left) / word), line = Math.floor((event.clientY - box.top - head) / row);
  if (column < 0 || column >= +words || line < 0) return "";
  const numbers = units.split(" "), place = 2 * (line * words + column);
  if (line >= numbers.length) return "";
  const step = digits.indexOf(values[place]) * 64 + digits.indexOf(values[place + 1]);
  const value = +low + (high - low) * step / 4095;
  const name = svg.querySelectorAll("text.word title")[column].textContent;
  return `unit ${numbers[line]}, ${name}: ${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
};
const pick = event => {
  const svg = event.target.closest && event.target.closest("svg.heat");
  say(svg ? at(svg, event) : "", event);
};
document.addEventListener("pointermove", pick);
document.addEventListener("pointerdown", pick);
// Filters a table by what is typed above it, and marks the word under the pointer wherever it occurs.
for (const input of document.querySelectorAll("input.filter")) {
  input.hidden = false;
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of document.querySelectorAll(input.dataset.rows)) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}
document.addEventListener("pointerover", event => {
  const word = event.target.closest && event.target.closest("[data-w]");
  for (const other of document.querySelectorAll(".pick")) other.classList.remove("pick");
  if (word) for (const same of document.querySelectorAll(`[data-w="${CSS.escape(word.dataset.w)}"]`)) same.classList.add("pick");
});
