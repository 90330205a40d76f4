// Fills in a sheet: digits grade the title that is marked and go to the next one.
"use strict";
(() => {
  const source = document.getElementById("data");
  const rows = JSON.parse(source.textContent);
  const key = "clickvec-judge-" + source.dataset.name;
  const grades = new Array(rows.length).fill(null);
  const done = [];
  let here = 0;
  const keep = () => { try { localStorage.setItem(key, JSON.stringify(grades)); } catch { /* The page works without. */ } };
  try {
    const kept = JSON.parse(localStorage.getItem(key) || "[]");
    kept.slice(0, rows.length).forEach((grade, row) => { if (grade >= 0 && grade <= 4 && grade !== null) grades[row] = grade; });
  } catch { /* Nothing was kept. */ }

  const sheet = document.getElementById("sheet");
  const items = [];
  let list = null;
  rows.forEach(([query, , title], row) => {
    if (row === 0 || rows[row - 1][0] !== query) {
      const head = document.createElement("h2");
      head.className = "query";
      head.textContent = query;
      list = document.createElement("ol");
      list.className = "titles";
      sheet.append(head, list);
    }
    const item = document.createElement("li");
    const text = document.createElement("span");
    text.className = "text";
    text.textContent = title;
    const choice = document.createElement("span");
    choice.className = "grades";
    for (let grade = 0; grade <= 4; grade++) {
      const button = document.createElement("button");
      button.type = "button";
      button.tabIndex = -1;
      button.textContent = grade;
      button.setAttribute("aria-label", `grade ${grade} for ${title}`);
      button.addEventListener("click", (event) => { event.stopPropagation(); give(row, grade); });
      choice.append(button);
    }
    item.append(text, choice);
    item.addEventListener("click", () => go(row));
    list.append(item);
    items.push(item);
  });

  function show(row) {
    items[row].querySelectorAll("button").forEach((button, grade) => {
      button.setAttribute("aria-pressed", String(grades[row] === grade));
    });
  }
  function count() {
    const judged = grades.filter((grade) => grade !== null).length;
    document.getElementById("done").value = judged;
    document.getElementById("count").textContent = `${judged} of ${rows.length} titles judged`;
  }
  function go(row) {
    items[here].classList.remove("here");
    here = Math.max(0, Math.min(rows.length - 1, row));
    items[here].classList.add("here");
    items[here].scrollIntoView({ block: "center" });
  }
  function give(row, grade) {
    done.push([row, grades[row]]);
    grades[row] = grade;
    show(row);
    count();
    keep();
    go(row + 1);
  }
  function undo() {
    const last = done.pop();
    if (!last) return;
    [grades[last[0]]] = [last[1]];
    show(last[0]);
    count();
    keep();
    go(last[0]);
  }
  function save() {
    const lines = rows.map(([query, id, title], row) => [query, id, title, grades[row] ?? ""].join("\t"));
    const table = "query\ttitle_id\ttitle\tgrade\n" + lines.join("\n") + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([table], { type: "text/tab-separated-values" }));
    link.download = document.getElementById("data").dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const grade = "01234".indexOf(event.key);
    if (event.key.length === 1 && grade >= 0) give(here, grade);
    else if (event.key === "ArrowDown" || event.key === "j") go(here + 1);
    else if (event.key === "ArrowUp" || event.key === "k") go(here - 1);
    else if (event.key === " ") give(here, null);
    else if (event.key === "u") undo();
    else if (event.key === "s") save();
    else return;
    event.preventDefault();
  });
  document.getElementById("save").addEventListener("click", save);
  rows.forEach((_, row) => show(row));
  count();
  const open = grades.indexOf(null);
  go(open < 0 ? 0 : open);
})();
