//! `--require-better`: whether systems are better than others, for jobs that go on only then.

use anyhow::{Result, bail};
use clickvec::eval::{Comparison, Correction, Measure, Verdict};

use super::Args;
use super::report::{difference, probability};
use super::systems::Entry;
use crate::output;

/// Systems that must be better, each with the one that it must be better than. Checked before anything is trained.
pub(super) fn pairs(args: &Args, entries: &[Entry]) -> Result<()> {
    let fusions: Vec<String> = args.fusion.iter().map(|flag| flag.name()).collect();
    let names: Vec<&str> =
        entries.iter().map(|entry| entry.name.as_str()).chain(fusions.iter().map(String::as_str)).collect();
    for text in &args.require_better {
        if named(text, |name| names.contains(&name)).is_none() {
            let names: Vec<_> = names.iter().map(|name| format!("`{}`", output::printable(name))).collect();
            bail!(
                "expected two of the systems {} with a colon between them for `--require-better`, found `{}`",
                names.join(", "),
                output::printable(text)
            );
        }
    }
    let Some(by) = args.require_by else { return Ok(()) };
    let measures: Vec<Measure> = match (args.full, &args.measures[..]) {
        (false, _) => [1, 3, 10].map(Measure::Ndcg).to_vec(),
        (true, []) => Measure::USUAL.to_vec(),
        (true, given) => given.to_vec(),
    };
    let measures: Vec<Measure> = measures.into_iter().filter(|measure| measure.is_quality()).collect();
    if !measures.contains(&by) {
        let measures: Vec<String> = measures.iter().map(|measure| format!("`{measure}`")).collect();
        bail!("expected one of {} for `--require-by`, found `{by}`", measures.join(", "));
    }
    Ok(())
}

/// The two systems of `A:B`. A name may have colons itself, as `bm25:b=0.4` does.
fn named(text: &str, is_system: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let splits = text.match_indices(':').map(|(place, _)| (&text[..place], &text[place + 1..]));
    splits.into_iter().find(|(a, b)| a != b && is_system(a) && is_system(b))
}

/// Whether all that is required holds. Says of each what was found.
pub(super) fn holds<M>(
    args: &Args,
    usual: Measure,
    tests: &[Comparison<M>],
    measure_of: impl Fn(M) -> Option<Measure>,
) -> Result<bool>
where
    M: Copy,
{
    let by = args.require_by.unwrap_or(usual);
    let mut all = true;
    for text in &args.require_better {
        let tested = |name: &str| tests.iter().any(|test| test.a == name || test.b == name);
        let Some((a, b)) = named(text, tested) else {
            // A system that could not be trained has been told of.
            output::note(format_args!("required: {}: not compared", output::printable(text)));
            all = false;
            continue;
        };
        let is_pair = |test: &Comparison<M>| (test.a == a && test.b == b) || (test.a == b && test.b == a);
        let Some(test) = tests.iter().find(|test| is_pair(test) && measure_of(test.metric) == Some(by)) else {
            bail!("expected a measure that the systems are compared by for `--require-by`, found `{by}`");
        };
        let (wanted, sign) = if test.a == a { (Verdict::Better, 1.0) } else { (Verdict::Worse, -1.0) };
        let is_better = test.verdict(Correction::None) == wanted;
        all &= is_better;
        output::note(format_args!(
            "required: {} {} better than {} by {by}: {}, p {}",
            output::printable(a),
            if is_better { "is" } else { "is not shown to be" },
            output::printable(b),
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
        let is_system = |name: &str| ["bm25:b=0.4", "shop", "fusion:min-max"].contains(&name);
        assert_eq!(named("fusion:min-max:bm25:b=0.4", is_system), Some(("fusion:min-max", "bm25:b=0.4")));
        assert_eq!(named("shop:fusion:min-max", is_system), Some(("shop", "fusion:min-max")));
        for wrong in ["shop", "shop:", "shop:shop", "shop:other", ""] {
            assert_eq!(named(wrong, is_system), None, "{wrong}");
        }
    }
}
