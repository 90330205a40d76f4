#!/usr/bin/env python3
"""Write the click log of a small invented shop: python3 bench/make_shop.py [FOLDER]

The shop sells hardware, kitchen and garden things. Customers call a thing by another word than its title does (tap for
faucet), leave words out, and misspell about every seventh query. The files are titles.tsv (the collection), clicks.tsv (the
log to learn from), validation.tsv and judged.tsv (graded titles for queries that the log does not contain), and log.csv,
the raw log behind clicks.tsv as `clickvec prepare` reads it: the same clicks with users and times, and what else a raw
log contains: a robot, personal data in queries, items that are no longer sold. The files are the same every time;
testdata/shop holds them. It is for trying things out, and far too easy for comparing systems.
"""
import datetime
import random
import sys
from pathlib import Path

CLICKS, VALIDATION, JUDGED = 3000, 60, 120
USERS, DAYS, ROBOT_QUERIES = 400, 14, 260
MISSPELT = 0.15

# The parts of a title: (what customers say, adjectives, sizes, department).
THINGS = {
    "Faucet": (["faucet", "tap", "spigot"], ["Chrome", "Brass", "Matte Black", "Brushed Nickel"], ["Single Handle", "Two Handle"], "bath"),
    "Shower Head": (["shower head", "showerhead", "rain shower"], ["Chrome", "Brass", "White"], ["6 in.", "8 in."], "bath"),
    "Toilet Seat": (["toilet seat", "loo seat", "wc lid"], ["White", "Oak", "Grey"], ["Round", "Elongated"], "bath"),
    "Vanity": (["vanity", "bathroom cabinet", "sink cabinet"], ["White", "Walnut", "Oak"], ["24 in.", "36 in."], "bath"),
    "Sofa": (["sofa", "couch", "settee"], ["Leather", "Linen", "Velvet", "Grey"], ["2-Seat", "3-Seat"], "living"),
    "Floor Lamp": (["floor lamp", "standing light", "tall lamp"], ["Brass", "Matte Black", "Bamboo"], ["60 in.", "72 in."], "living"),
    "Rug": (["rug", "carpet", "floor mat"], ["Wool", "Jute", "Blue", "Grey"], ["5 ft. x 7 ft.", "8 ft. x 10 ft."], "living"),
    "Bookcase": (["bookcase", "book shelf", "shelving"], ["Walnut", "White", "Oak"], ["3-Tier", "5-Tier"], "living"),
    "Refrigerator": (["refrigerator", "fridge", "icebox"], ["Stainless Steel", "White", "Matte Black"], ["10 cu. ft.", "18 cu. ft."], "kitchen"),
    "Range Hood": (["range hood", "extractor fan", "stove vent"], ["Stainless Steel", "White"], ["30 in.", "36 in."], "kitchen"),
    "Cooktop": (["cooktop", "hob", "stove top"], ["Gas", "Induction", "Electric"], ["4-Burner", "5-Burner"], "kitchen"),
    "Skillet": (["skillet", "frying pan", "fry pan"], ["Cast Iron", "Copper", "Nonstick"], ["8 in.", "12 in."], "kitchen"),
    "Stockpot": (["stockpot", "soup pot", "big pot"], ["Stainless Steel", "Enamel", "Copper"], ["8 qt.", "12 qt."], "kitchen"),
    "Trash Can": (["trash can", "garbage bin", "dustbin"], ["Stainless Steel", "White", "Bamboo"], ["8 gal.", "13 gal."], "kitchen"),
    "Adjustable Wrench": (["wrench", "spanner", "adjustable wrench"], ["Steel", "Titanium"], ["8 in.", "12 in."], "tools"),
    "Cordless Drill": (["drill", "power driver", "cordless drill"], ["Compact", "Brushless", "Hammer"], ["12-Volt", "20-Volt"], "tools"),
    "Utility Knife": (["utility knife", "box cutter", "craft blade"], ["Folding", "Retractable"], ["3-Pack", "Single"], "tools"),
    "Ladder": (["ladder", "steps", "stepladder"], ["Aluminum", "Fiberglass", "Wood"], ["4 ft.", "6 ft."], "tools"),
    "Flashlight": (["flashlight", "torch", "hand light"], ["LED", "Rechargeable", "Waterproof"], ["300 Lumens", "1000 Lumens"], "tools"),
    "Duct Tape": (["duct tape", "gaffer", "sticky tape"], ["Silver", "Matte Black", "Clear"], ["30 yd.", "60 yd."], "tools"),
    "Drywall Anchor": (["drywall anchor", "wall plug", "screw dowel"], ["Nylon", "Zinc", "Toggle"], ["50-Pack", "100-Pack"], "tools"),
    "Lawn Mower": (["lawn mower", "grass cutter", "lawnmower"], ["Gas", "Electric", "Cordless"], ["16 in.", "21 in."], "garden"),
    "Garden Hose": (["hose", "water pipe", "garden hose"], ["Rubber", "Expandable", "Green"], ["50 ft.", "100 ft."], "garden"),
    "Pruning Shears": (["pruning shears", "secateurs", "clippers"], ["Bypass", "Anvil", "Titanium"], ["7 in.", "9 in."], "garden"),
    "Planter": (["planter", "flower pot", "plant box"], ["Terracotta", "Cedar", "White"], ["10 in.", "16 in."], "garden"),
    "Wheelbarrow": (["wheelbarrow", "barrow", "yard cart"], ["Steel", "Poly", "Green"], ["4 cu. ft.", "6 cu. ft."], "garden"),
    "Umbrella": (["parasol", "sun shade", "patio umbrella"], ["Teak", "Blue", "Green"], ["7 ft.", "9 ft."], "garden"),
    "Grill": (["grill", "barbecue", "bbq"], ["Charcoal", "Gas", "Stainless Steel"], ["2-Burner", "4-Burner"], "garden"),
}
BRANDS = ["Alderbrook", "Corvane", "Finch & Lowe", "Hartwell", "Norrland", "Quillon", "Tamsin", "Verrano"]
EXTRAS = ["", "", " with Mounting Kit", " - Easy Clean", " for Home and Yard", " (Set of 2)", " with 5-Year Warranty"]


def products(rng):
    made = []
    for noun, (_, adjectives, sizes, _) in THINGS.items():
        for adjective in adjectives:
            for size in sizes:
                title = f"{rng.choice(BRANDS)} {size} {adjective} {noun}{rng.choice(EXTRAS)}"
                made.append({"title": title, "noun": noun, "adjective": adjective, "size": size})
    rng.shuffle(made)
    return made


def misspell(rng, text):
    """Swaps, drops, doubles or replaces one letter of a word of four letters or more."""
    words = text.split()
    long = [i for i, word in enumerate(words) if len(word) >= 4 and word.isalpha()]
    if not long:
        return text
    i = rng.choice(long)
    word = words[i]
    k = rng.randrange(1, len(word) - 1)
    words[i] = rng.choice([
        word[:k] + word[k + 1] + word[k] + word[k + 2:],
        word[:k] + word[k + 1:],
        word[:k] + word[k] + word[k:],
        word[:k] + rng.choice("aeiourstn") + word[k + 1:],
    ])
    return " ".join(words)


def query(rng, product):
    """The query of a customer who wants `product`."""
    parts = [rng.choice(THINGS[product["noun"]][0])]
    if rng.random() < 0.6:
        parts.insert(0, product["adjective"].lower())
    if rng.random() < 0.25:
        parts.append(product["size"].lower().replace(".", ""))
    text = " ".join(parts)
    return misspell(rng, text) if rng.random() < MISSPELT else text


def grade(wanted, shown, text):
    """4: what was wanted; 3: the same thing, if the query asks for no more; 2: the thing in another form; 1: the same department."""
    if shown["noun"] != wanted["noun"]:
        return int(THINGS[shown["noun"]][3] == THINGS[wanted["noun"]][3])
    named = [shown[part] == wanted[part] for part in ("adjective", "size") if wanted[part].lower().replace(".", "") in text]
    return (4 if all(named) else 2) if named else 3


def judged(rng, all_products, queries):
    rows = []
    for text, wanted in queries:
        same = [p for p in all_products if p["noun"] == wanted["noun"] and p is not wanted]
        near = [p for p in all_products if p["noun"] != wanted["noun"] and THINGS[p["noun"]][3] == THINGS[wanted["noun"]][3]]
        alike = [p for p in all_products if p["noun"] != wanted["noun"] and p["adjective"] == wanted["adjective"]]
        shown = [wanted] + rng.sample(same, min(3, len(same))) + rng.sample(near, 4) + rng.sample(alike, min(4, len(alike)))
        titles = {p["title"]: grade(wanted, p, text) for p in shown}
        rows += [(text, title, str(g)) for title, g in titles.items()]
    return rows


def raw_log(stock, clicks):
    """The clicks with user and time, and whatever else is in a raw log."""
    rng = random.Random(21)
    ids = {p["title"]: f"p{n:03}" for n, p in enumerate(stock)}
    begin = datetime.datetime(2026, 3, 2)

    def row(day, user, query, item):
        time = begin + datetime.timedelta(days=day, seconds=rng.randrange(86400))
        return time.strftime("%Y-%m-%dT%H:%M:%SZ"), user, query, item

    def person():
        return f"u{rng.randrange(USERS):03}"

    rows = [row(rng.randrange(DAYS), person(), query, ids[title]) for query, title in clicks]
    # A robot makes all its queries on one day.
    rows += [row(5, "u999", query, ids[title]) for query, title in rng.sample(clicks, ROBOT_QUERIES)]
    for text in ["lamp for jane.doe@example.com", "order 555-234-5678", "4111 1111 1111 1111", "rug jane.doe@example.com"]:
        rows += [row(rng.randrange(DAYS), person(), text, ids[rng.choice(stock)["title"]]) for _ in range(3)]
    # An empty query, and an item that is no longer sold.
    rows += [row(rng.randrange(DAYS), person(), "", ids[rng.choice(stock)["title"]]) for _ in range(20)]
    rows += [row(rng.randrange(DAYS), person(), rng.choice(clicks)[0], "p999") for _ in range(30)]
    return sorted(rows)


def write(path, header, rows, separator="\t"):
    path.write_text("".join(separator.join(row) + "\n" for row in [header, *rows]), encoding="utf-8")


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "testdata/shop")
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(20)
    stock = products(rng)
    held_out = {}
    while len(held_out) < VALIDATION + JUDGED:
        wanted = rng.choice(stock)
        held_out.setdefault(query(rng, wanted), wanted)
    clicks = []
    while len(clicks) < CLICKS:
        wanted = rng.choice(stock)
        text = query(rng, wanted)
        if text in held_out:
            continue
        # One click in ten goes to the same thing in another form.
        if rng.random() < 0.1:
            wanted = rng.choice([p for p in stock if p["noun"] == wanted["noun"]])
        clicks.append((text, wanted["title"]))
    queries = list(held_out.items())
    write(folder / "titles.tsv", ("id", "title"), [(f"p{n:03}", p["title"]) for n, p in enumerate(stock)])
    write(folder / "clicks.tsv", ("query", "title"), clicks)
    write(folder / "log.csv", ("time", "user", "query", "sku"), raw_log(stock, clicks), ",")
    write(folder / "validation.tsv", ("query", "title", "grade"), judged(rng, stock, queries[:VALIDATION]))
    write(folder / "judged.tsv", ("query", "title", "grade"), judged(rng, stock, queries[VALIDATION:]))


if __name__ == "__main__":
    main()
