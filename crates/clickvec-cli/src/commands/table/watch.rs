//! What people are told while a table is made: a bar on a terminal, and notes on standard error.

use std::ops::ControlFlow;

use clickvec::table::{Event, Plan};
use clickvec::train;
use indicatif::ProgressBar;

use crate::{advice, input, output, progress, test_set};

/// Shows how far a table is.
pub(super) struct Watcher<'a> {
    plan: &'a Plan,
    bar: ProgressBar,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(plan: &'a Plan) -> Watcher<'a> {
        Watcher { plan, bar: progress::bar_with_message(plan.entries.len() as u64, "judging", "systems") }
    }

    /// Shows an event.
    pub(super) fn event(&mut self, event: Event<'_>) -> ControlFlow<()> {
        let bar = &self.bar;
        match event {
            Event::TestSet(set) => bar.suspend(|| test_set::say(&self.plan.data.test_set(), set)),
            Event::Corpus(read) => bar.suspend(|| input::note_corpus(read, "--judged")),
            Event::Row { name, .. } => bar.set_message(output::printable(name).into_owned()),
            Event::Step { system, progress } => bar.set_message(format!("{system} {}/{}", progress.done, progress.of)),
            Event::Training(train::Event::Epoch(report)) => bar.set_message(format!("epoch {}", report.epoch)),
            Event::Damaged { path } => {
                note(
                    bar,
                    format_args!("{}: expected what was kept there, found it damaged; made again", path.display()),
                );
            }
            Event::PointLeftOut { row, reason } => {
                let reason = advice::told(reason);
                note(bar, format_args!("{}: left a grid point out: {reason}", output::printable(row)));
            }
            Event::RowLeftOut { row, reason } => {
                note(bar, format_args!("{}: left out: {}", output::printable(row), advice::told(reason)));
            }
            Event::RowDone => bar.inc(1),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// Takes the bar away.
    pub(super) fn close(self) {
        self.bar.finish_and_clear();
    }
}

fn note(bar: &ProgressBar, text: std::fmt::Arguments<'_>) {
    bar.suspend(|| output::note(text));
}
