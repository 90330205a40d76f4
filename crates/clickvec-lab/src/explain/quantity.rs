//! Numbers and units in a text: `3/8 in.`, `5-gal`, `120v`, `2x4`, `six foot`.

use std::fmt;

use clickvec::internals::text::words;

/// A number with its unit if it has one, or a size of several numbers such as `2 x 4`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Quantity {
    /// The number as digits: `3/8`, `1 1/2`, `2.5`, `2x4`.
    pub number: String,
    /// The usual abbreviation of the unit.
    pub unit: Option<&'static str>,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Some(unit) => write!(f, "{} {unit}", self.number),
            None => f.write_str(&self.number),
        }
    }
}

/// Units: the usual abbreviation, then other spellings.
const UNITS: &[&[&str]] = &[
    &["in", "inch", "inches", "\""],
    &["ft", "foot", "feet", "'"],
    &["yd", "yard", "yards"],
    &["mm", "millimeter", "millimeters"],
    &["cm", "centimeter", "centimeters"],
    &["m", "meter", "meters", "metre", "metres"],
    &["mi", "mile", "miles"],
    &["gal", "gallon", "gallons"],
    &["qt", "quart", "quarts"],
    &["pt", "pint", "pints"],
    &["l", "liter", "liters", "litre", "litres"],
    &["ml", "milliliter", "milliliters"],
    &["oz", "ounce", "ounces"],
    &["lb", "lbs", "pound", "pounds"],
    &["g", "gram", "grams"],
    &["kg", "kilogram", "kilograms"],
    &["v", "volt", "volts"],
    &["w", "watt", "watts"],
    &["kw", "kilowatt", "kilowatts"],
    &["a", "amp", "amps", "ampere", "amperes"],
    &["ah", "mah"],
    &["hz", "hertz"],
    &["btu", "btus"],
    &["hp", "horsepower"],
    &["psi"],
    &["rpm"],
    &["ga", "gauge", "awg"],
    &["sq ft", "sqft", "sq"],
    &["cu ft", "cuft", "cu"],
    &["pack", "pk", "packs", "pcs", "piece", "pieces", "count", "ct"],
    &["gb", "gigabyte", "gigabytes"],
    &["tb", "terabyte", "terabytes"],
    &["mb", "megabyte", "megabytes"],
    &["°", "degree", "degrees"],
    &["%", "percent"],
    &["$", "dollar", "dollars", "usd"],
    &["€", "euro", "euros", "eur"],
];

/// Numbers written as words.
const NUMBER_WORDS: [(&str, &str); 16] = [
    ("half", "1/2"),
    ("quarter", "1/4"),
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("twelve", "12"),
    ("fifteen", "15"),
    ("twenty", "20"),
    ("dozen", "12"),
];

fn unit(text: &str) -> Option<&'static str> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let same = |unit: &&&[&'static str]| unit.iter().any(|name| name.eq_ignore_ascii_case(text));
    UNITS.iter().find(same).map(|unit| unit[0])
}

/// Returns the numbers of a text with their units, in order. They are read from the raw text, because its normalised words have
/// no fractions and no decimal points.
pub fn quantities(text: &str) -> Vec<Quantity> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut position = 0;
    while position < tokens.len() {
        let Some((number, used)) = number(&tokens[position..]) else {
            position += 1;
            continue;
        };
        position += used;
        let unit = tokens.get(position).and_then(|token| unit(token));
        position += usize::from(unit.is_some());
        // `two` and `half` are numbers only with a unit.
        if unit.is_some() || number.starts_with(|c: char| c.is_ascii_digit()) {
            let spelt = NUMBER_WORDS.iter().find(|(word, _)| *word == number);
            found.push(Quantity { number: spelt.map_or(number, |(_, digits)| (*digits).to_owned()), unit });
        }
    }
    found
}

/// Returns the number at the start of these tokens, and how many tokens it takes: `3/8`, `1 1/2`, `2 x 4`.
fn number(tokens: &[String]) -> Option<(String, usize)> {
    let first = tokens.first()?;
    if NUMBER_WORDS.iter().any(|(word, _)| word == first) {
        return Some((first.clone(), 1));
    }
    let is_number = |token: &String| token.starts_with(|c: char| c.is_ascii_digit());
    if !is_number(first) {
        return None;
    }
    let (mut number, mut used) = (first.clone(), 1);
    // A whole number and a fraction.
    if let Some(fraction) = tokens.get(1).filter(|token| is_number(token) && token.contains('/'))
        && !first.contains(['/', '.'])
    {
        number = format!("{number} {fraction}");
        used = 2;
    }
    // A size. Of the units in `2 in. x 4 in.` only the last one counts.
    loop {
        let skip = usize::from(tokens.get(used).is_some_and(|token| unit(token).is_some()));
        let is_times = tokens.get(used + skip).is_some_and(|token| token == "x" || token == "×");
        match tokens.get(used + skip + 1).filter(|token| is_times && is_number(token)) {
            Some(next) => {
                number = format!("{number}x{next}");
                used += skip + 2;
            }
            None => return Some((number, used)),
        }
    }
}

/// Returns numbers with their fractions and decimal points, words, and symbols that are units; all in lower case.
fn tokens(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.to_lowercase().chars().collect();
    let mut tokens = Vec::new();
    let mut position = 0;
    while position < characters.len() {
        let c = characters[position];
        let start = position;
        if c.is_ascii_digit() {
            while position < characters.len() {
                let joins = matches!(characters[position], '.' | '/' | ',')
                    && characters.get(position + 1).is_some_and(char::is_ascii_digit);
                if !characters[position].is_ascii_digit() && !joins {
                    break;
                }
                position += 1;
            }
        } else if c.is_alphabetic() {
            while position < characters.len() && characters[position].is_alphabetic() {
                position += 1;
            }
        } else {
            position += 1;
            // A quotation mark after a number means inches or feet.
            let follows_digit = start > 0 && characters[start - 1].is_ascii_digit();
            let mark = match c {
                '"' | '”' | '″' if follows_digit => "\"",
                '\'' | '’' | '′' if follows_digit => "'",
                '%' | '°' | '$' | '€' | '×' => {
                    tokens.push(c.to_string());
                    continue;
                }
                _ => continue,
            };
            tokens.push(mark.to_owned());
            continue;
        }
        let token: String = characters[start..position].iter().collect();
        tokens.push(token.replace(',', ""));
    }
    tokens
}

/// Returns whether a query asks for a number, a size or a unit.
pub(super) fn has_number_or_unit(text: &str) -> bool {
    // Units of one or two letters are often ordinary words: `a`, `in`, `m`.
    let spelt =
        |word: &String| word.len() > 2 && word != "count" && word != "pack" && word != "piece" && unit(word).is_some();
    !quantities(text).is_empty() || words(text).iter().any(|word| word.chars().any(char::is_numeric) || spelt(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_units() {
        for (text, expected) in [
            ("3/8 in. drill bit", vec!["3/8 in"]),
            ("1-1/2 inch pvc", vec!["1 1/2 in"]),
            ("5-gal bucket", vec!["5 gal"]),
            ("120v outlet", vec!["120 v"]),
            ("2x4 lumber", vec!["2x4"]),
            ("2 in. x 4 in. x 8 ft. stud", vec!["2x4x8 ft"]),
            ("2\" x 4\" board", vec!["2x4 in"]),
            ("6' ladder 20,000 btu", vec!["6 ft", "20000 btu"]),
            ("six foot fence", vec!["6 ft"]),
            ("half inch hose", vec!["1/2 in"]),
            ("two of a kind", vec![]),
            ("led 60 watt, 4 pack", vec!["60 w", "4 pack"]),
            ("18.5 v", vec!["18.5 v"]),
            ("r-13 insulation", vec!["13"]),
            ("hotels in chicago", vec![]),
            ("", vec![]),
            ("1/", vec!["1"]),
            ("x x 3 x", vec!["3"]),
            ("٣ 三", vec![]),
        ] {
            let found: Vec<String> = quantities(text).iter().map(Quantity::to_string).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_unit_is_asked_for_with_or_without_a_number() {
        for (text, expected) in [
            ("gallon bucket", true),
            ("gfci 120v", true),
            ("m12 drill", true),
            ("٣ مصباح", true),
            ("ring in a box", false),
            ("a chair", false),
            ("count of monte cristo", false),
        ] {
            assert_eq!(has_number_or_unit(text), expected, "{text}");
        }
    }
}
