//! `--require-better` and `--require-not-worse`: whether systems are better than others, or at least not shown to be
//! worse, for jobs that go on only then.

use anyhow::{Result, bail};
use clickvec_eval::{Comparison, Correction, Metric, Verdict};

use super::Args;
use super::report::{difference, probability};
use super::systems::Entry;
use crate::output;

/// What is required of a system compared with another.
#[derive(Clone, Copy)]
enum Requirement {
    /// To be significantly better.
    Better,
    /// Not to be significantly worse.
    NotWorse,
}

impl Requirement {
    fn flag(self) -> &'static str {
        match self {
            Self::Better => "--require-better",
            Self::NotWorse => "--require-not-worse",
        }
    }

    /// Whether it holds for a system of which a test says this.
    fn holds(self, verdict: Verdict) -> bool {
        match self {
            Self::Better => verdict == Verdict::Better,
            Self::NotWorse => verdict != Verdict::Worse,
        }
    }

    /// What was found, as in "A … than B".
    fn finding(self, holds: bool) -> &'static str {
        match (self, holds) {
            (Self::Better, true) => "is better",
            (Self::Better, false) => "is not shown to be better",
            (Self::NotWorse, true) => "is not shown to be worse",
            (Self::NotWorse, false) => "is worse",
        }
    }
}

/// All that is required, each as `A:B`.
fn requirements(args: &Args) -> impl Iterator<Item = (Requirement, &str)> {
    let better = args.require_better.iter().map(|text| (Requirement::Better, text.as_str()));
    better.chain(args.require_not_worse.iter().map(|text| (Requirement::NotWorse, text.as_str())))
}

/// An error unless what is required names systems and measures of this evaluation. Checked before anything is trained.
pub(super) fn check(args: &Args, entries: &[Entry]) -> Result<()> {
    let fusions: Vec<String> = args.fusion.iter().map(|flag| flag.name()).collect();
    let names: Vec<&str> =
        entries.iter().map(|entry| entry.name.as_str()).chain(fusions.iter().map(String::as_str)).collect();
    for (requirement, text) in requirements(args) {
        if named(text, |name| names.contains(&name)).is_none() {
            let names: Vec<_> = names.iter().map(|name| format!("`{}`", output::printable(name))).collect();
            bail!(
                "expected two of the systems {} with a colon between them for `{}`, found `{}`",
                names.join(", "),
                requirement.flag(),
                output::printable(text)
            );
        }
    }
    Ok(())
}

/// The two systems of `A:B`. A name may have colons itself, as `bm25:b=0.4` does.
fn named(text: &str, is_system: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let splits = text.match_indices(':').map(|(place, _)| (&text[..place], &text[place + 1..]));
    splits.into_iter().find(|(a, b)| a != b && is_system(a) && is_system(b))
}

/// Returns whether all that is required holds, and reports each finding.
pub(super) fn holds(args: &Args, metrics: &[Metric], tests: &[Comparison]) -> Result<bool> {
    let ten = Metric::Ndcg(10);
    let first = metrics.iter().copied().find(|metric| metric.is_quality());
    let by = if metrics.contains(&ten) { ten } else { first.unwrap_or(ten) };
    let mut all = true;
    for (requirement, text) in requirements(args) {
        let tested = |name: &str| tests.iter().any(|test| test.a == name || test.b == name);
        let Some((a, b)) = named(text, tested) else {
            // A system that could not be trained has been told of.
            output::note(format_args!("required: {}: not compared", output::printable(text)));
            all = false;
            continue;
        };
        let is_pair = |test: &Comparison| (test.a == a && test.b == b) || (test.a == b && test.b == a);
        let Some(test) = tests.iter().find(|test| is_pair(test) && test.metric == by) else {
            bail!("expected a metric of quality to compare systems by, found none; add `ndcg@10` to `--measures`");
        };
        let (verdict, sign) = match test.verdict(Correction::None) {
            verdict if test.a == a => (verdict, 1.0),
            Verdict::Better => (Verdict::Worse, -1.0),
            Verdict::Worse => (Verdict::Better, -1.0),
            verdict => (verdict, -1.0),
        };
        let holds = requirement.holds(verdict);
        all &= holds;
        output::note(format_args!(
            "required: {} {} than {} by {by}: {}, p {}",
            output::printable(a),
            requirement.finding(holds),
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
