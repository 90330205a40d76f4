//! `--require`: whether a system is better than another, or not shown to be worse, for jobs that go on only then.

use anyhow::{Result, bail};
use clickvec_eval::{Comparison, Correction, Metric, Verdict};

use crate::console;
use clickvec_report::numbers::{difference, probability};

const BETTER: &str = ":better:";
const NOT_WORSE: &str = ":not-worse:";

/// What is required of system `a` compared with system `b`.
#[derive(Debug, PartialEq)]
pub(super) struct Requirement<'a> {
    a: &'a str,
    b: &'a str,
    /// Whether `a` has to be significantly better. Otherwise it must not be significantly worse.
    better: bool,
}

/// Parses `A:better:B` and `A:not-worse:B`, where A and B are two of `names`.
pub(super) fn parse<'a>(texts: &'a [String], names: &[String]) -> Result<Vec<Requirement<'a>>> {
    texts.iter().map(|text| parse_one(text, names)).collect()
}

fn parse_one<'a>(text: &'a str, names: &[String]) -> Result<Requirement<'a>> {
    // A name may have colons itself, as `bm25:b=0.4` does.
    for (word, better) in [(BETTER, true), (NOT_WORSE, false)] {
        let is_system = |name: &str| names.iter().any(|other| other == name);
        if let Some((a, b)) = text.split_once(word).filter(|(a, b)| a != b && is_system(a) && is_system(b)) {
            return Ok(Requirement { a, b, better });
        }
    }
    let names: Vec<_> = names.iter().map(|name| format!("`{}`", console::printable(name))).collect();
    bail!(
        "expected two of the systems {} with `{BETTER}` or `{NOT_WORSE}` between them for `--require`, found `{}`",
        names.join(", "),
        console::printable(text)
    )
}

/// Returns whether all requirements hold, and reports each finding.
pub(super) fn holds(requirements: &[Requirement<'_>], metrics: &[Metric], tests: &[Comparison]) -> Result<bool> {
    let ten = Metric::Ndcg(10);
    let first = metrics.iter().copied().find(|metric| metric.is_quality());
    let by = if metrics.contains(&ten) { ten } else { first.unwrap_or(ten) };
    let mut all = true;
    for &Requirement { a, b, better } in requirements {
        let pair = format!("{} than {}", console::printable(a), console::printable(b));
        let is_tested = |name: &str| tests.iter().any(|test| test.a == name || test.b == name);
        if !is_tested(a) || !is_tested(b) {
            // A message already said why the system was left out.
            console::note(format_args!("required: {pair}: not compared"));
            all = false;
            continue;
        }
        let is_pair = |test: &&Comparison| [(a, b), (b, a)].contains(&(&test.a, &test.b)) && test.metric == by;
        let Some(test) = tests.iter().find(is_pair) else {
            bail!("expected a metric of quality to compare systems by, found none; add `ndcg@10` to `--measures`");
        };
        let verdict = test.verdict(Correction::None);
        let (verdict, sign) = if test.a == a { (verdict, 1.0) } else { (verdict.reversed(), -1.0) };
        let (holds, finding) = match (better, verdict) {
            (true, Verdict::Better) => (true, "is better"),
            (true, _) => (false, "is not shown to be better"),
            (false, Verdict::Worse) => (false, "is worse"),
            (false, _) => (true, "is not shown to be worse"),
        };
        all &= holds;
        console::note(format_args!(
            "required: {} {finding} than {} by {by}: {}, p {}",
            console::printable(a),
            console::printable(b),
            difference(sign * test.test.difference),
            probability(test.test.evidence())
        ));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_colons() {
        let names = ["bm25:b=0.4", "shop", "fusion:min-max"].map(str::to_owned);
        let parsed = parse_one("fusion:min-max:better:bm25:b=0.4", &names).unwrap();
        assert_eq!(parsed, Requirement { a: "fusion:min-max", b: "bm25:b=0.4", better: true });
        let parsed = parse_one("shop:not-worse:fusion:min-max", &names).unwrap();
        assert_eq!(parsed, Requirement { a: "shop", b: "fusion:min-max", better: false });
        for wrong in ["shop", "shop:", "shop:bm25:b=0.4", "shop:better:shop", "shop:better:other", ""] {
            assert!(parse_one(wrong, &names).is_err(), "{wrong}");
        }
    }
}
