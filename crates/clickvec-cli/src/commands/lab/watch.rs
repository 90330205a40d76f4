//! Messages while a table is made: a progress bar on a terminal, and notes on standard error.

use std::ops::ControlFlow;

use clickvec::train;
use clickvec_lab::table::{Event, Plan};
use clickvec_tools::evaluate::{lacking_in_run, lacking_vectors};
use clickvec_tools::{inputs, test_set};
use indicatif::ProgressBar;

use crate::interrupt::Interrupt;
use crate::progress::Watch;
use crate::{console, progress};

/// Shows the progress of a table.
pub(super) struct Watcher<'a> {
    plan: &'a Plan,
    bar: ProgressBar,
    /// Watches for a signal, once there is something to lose.
    interrupt: Option<Interrupt>,
    /// Whether the user was told that the table stops.
    is_announced: bool,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(plan: &'a Plan) -> Watcher<'a> {
        let bar = progress::bar_with_message(plan.entries.len() as u64, "judging", "systems");
        Watcher { plan, bar, interrupt: None, is_announced: false }
    }

    /// The exit status to stop with, after a signal.
    pub(super) fn stop_status(&self) -> Option<u8> {
        self.interrupt.as_ref().and_then(Interrupt::status)
    }

    /// Shows an event.
    pub(super) fn event(&mut self, event: Event<'_>) -> ControlFlow<()> {
        if self.interrupt.is_none() && matches!(event, Event::Row { .. }) {
            // If this fails, a signal ends the program at once, and finished work is kept all the same.
            self.interrupt = Interrupt::watch().ok();
        }
        let bar = &self.bar;
        match event {
            Event::TestSet(set) => bar.suspend(|| test_set::note(&self.plan.data.test_set(), set, &Watch::default())),
            Event::Corpus(read) => bar.suspend(|| inputs::note_corpus(read, &Watch::default())),
            Event::Row { name, .. } => bar.set_message(console::printable(name).into_owned()),
            Event::Step { system, progress } => bar.set_message(format!("{system} {}/{}", progress.done, progress.of)),
            Event::Training(train::Event::Epoch(report)) => bar.set_message(format!("epoch {}", report.epoch)),
            Event::Damaged { path } => {
                note(bar, format_args!("{}: this cached file is damaged and is computed again", path.display()));
            }
            Event::PointLeftOut { row, reason } => {
                note(bar, format_args!("{}: left a grid point out: {reason}", console::printable(row)));
            }
            Event::RowLeftOut { row, reason } => {
                note(bar, format_args!("{}: left out: {}", console::printable(row), reason));
            }
            Event::RunCoverage { row, coverage } => {
                let lines = lacking_in_run(&console::printable(row), &coverage);
                lines.iter().for_each(|line| note(bar, format_args!("{line}")));
            }
            Event::VectorCoverage { row, coverage } => {
                let line = lacking_vectors(row, &coverage);
                line.iter().for_each(|line| note(bar, format_args!("{line}")));
            }
            Event::RowDone => bar.inc(1),
            _ => {}
        }
        if self.stop_status().is_none() {
            return ControlFlow::Continue(());
        }
        if !self.is_announced {
            self.is_announced = true;
            note(&self.bar, format_args!("stopping; the same command resumes; Ctrl-C again stops at once"));
        }
        ControlFlow::Break(())
    }

    /// Removes the bar.
    pub(super) fn close(&self) {
        self.bar.finish_and_clear();
    }
}

fn note(bar: &ProgressBar, text: std::fmt::Arguments<'_>) {
    bar.suspend(|| console::note(text));
}
