// What the graphs in this folder take, for onnxruntime-web and onnxruntime-node:
//
//     import * as ort from "onnxruntime-web";
//     const { words, rows, inputs } = reader(await (await fetch("trigrams.json")).json());
//     const { features, lengths } = inputs(["red shoes", "lamp"]);
//     const tensor = ({ data, dims }) => new ort.Tensor("int64", data, dims);
//     const session = await ort.InferenceSession.create("model.onnx");
//     const { vectors } = await session.run({ features: tensor(features), lengths: tensor(lengths) });
//
// A model that reads whole words needs their XXH3 as well, for example by the package `hash-wasm`:
//
//     const hash = await createXXHash3();
//     const { words, rows, inputs } = reader(settings, (word) => hash.init().update(word).digest());

const DELETED = /['\u2019\u02bc\uff07\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]|\p{Cf}/u;
const IDEOGRAPH =
  /[\u3006\u3007\u3021-\u3029\u3038-\u303a\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufad9\u{16fe4}\u{17000}-\u{18d7f}\u{1b170}-\u{1b2fb}\u{20000}-\u{3fffd}]/u;

export function reader({ trigrams, words: whole, max_words: most, merge_tail: merges }, hash) {
  if (whole.length && !hash) throw new Error("this model reads whole words: pass a function that returns their XXH3 in hexadecimal digits");
  const row = new Map([...trigrams, ...whole].map((feature, number) => [feature, number]));

  // Letters, marks and numbers; an ideograph is a word of its own, with the marks that follow it.
  function words(text) {
    const all = [""];
    let afterIdeograph = false;
    for (const c of text.normalize("NFKC").toLowerCase().normalize("NFKC")) {
      if (DELETED.test(c)) continue;
      const ideograph = IDEOGRAPH.test(c);
      const letter = ideograph || /[\p{L}\p{N}]/u.test(c);
      const mark = !letter && /\p{M}/u.test(c);
      if (ideograph || (afterIdeograph && letter) || !(letter || mark)) all.push("");
      if (letter || mark) all[all.length - 1] += c;
      if (!mark) afterIdeograph = ideograph;
    }
    const found = all.filter((word) => word);
    const tail = merges ? [found.slice(most - 1).join(" ")] : found.slice(most - 1, most);
    return [...found.slice(0, most - 1), ...tail].filter((word) => word);
  }

  // The letter trigrams of `#part#`, and the hash of the whole.
  function features(part) {
    const found = ["#", ...part, "#"].map((c, i, all) => c + all[i + 1] + all[i + 2]).slice(0, -2);
    return whole.length ? [...found, hash(part)] : found;
  }

  // For each word the rows of its features.
  function rows(text) {
    const ofWord = (word) => word.split(" ").flatMap(features);
    return words(text).map((word) => ofWord(word).filter((feature) => row.has(feature)).map((feature) => row.get(feature)));
  }

  // Places in which there is nothing have the number of rows.
  function inputs(texts) {
    const found = texts.map(rows);
    const most = Math.max(1, ...found.map((text) => text.length));
    const slots = Math.max(1, ...found.flat().map((word) => word.length));
    const data = new BigInt64Array(texts.length * most * slots).fill(BigInt(row.size));
    found.forEach((text, i) => text.forEach((word, j) => word.forEach((id, k) => (data[(i * most + j) * slots + k] = BigInt(id)))));
    const lengths = BigInt64Array.from(found, (text) => BigInt(text.length));
    return { features: { data, dims: [texts.length, most, slots] }, lengths: { data: lengths, dims: [texts.length] } };
  }

  return { words, rows, inputs };
}
