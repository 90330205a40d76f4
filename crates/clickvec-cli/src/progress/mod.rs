//! Progress bars on a terminal; elsewhere, a line now and then.

mod lines;

use std::cell::RefCell;
use std::io::IsTerminal;
use std::sync::LazyLock;
use std::time::Duration;

use clickvec_tools::Watcher;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use self::lines::{LineTarget, Pace};
use crate::console;
use crate::interrupt::Interrupt;
use crate::ranks;
pub(crate) use clickvec_tables::shown::{duration, rate};

/// The number of times a second that a bar is drawn.
const DRAWS_PER_SECOND: u8 = 10;
/// The pace of lines where no terminal is.
static PACE: LazyLock<Pace> = LazyLock::new(|| Pace::new(Duration::from_secs(60)));

/// Returns whether standard error is a terminal.
pub(crate) fn is_watched() -> bool {
    std::io::stderr().is_terminal() && ranks::follower().is_none()
}

/// Creates a bar of `length` things with the time left: `encoding ━━━━ 512/45,000 titles, 9,120/s, 5s left`. Where standard error is
/// not a terminal, the same without its bar is a line once a minute.
pub(crate) fn bar(length: u64, verb: &str, noun: &str) -> ProgressBar {
    styled(length, &format!("{verb} {{wide_bar}} {{human_pos}}/{{human_len}} {noun}{{rate}}{{left}}"))
}

/// Creates a bar with a message.
pub(crate) fn bar_with_message(length: u64, verb: &str, noun: &str) -> ProgressBar {
    styled(length, &format!("{verb} {{wide_bar}} {{human_pos}}/{{human_len}} {noun}{{rate}}, {{msg}}"))
}

/// Creates a count of things whose number is not known: `reading: 12,345 pairs`.
pub(crate) fn counter(verb: &str, noun: &str) -> ProgressBar {
    styled(0, &format!("{verb}: {{human_pos}} {noun}"))
}

/// Shows what is done, without a number.
pub(crate) fn waiting(text: &str) -> ProgressBar {
    let bar = styled(1, &format!("{text} …"));
    bar.tick();
    bar
}

/// Creates a step of something longer: its name and its progress.
pub(crate) fn step(name: &str) -> ProgressBar {
    let bar = styled(1, "  {msg} {wide_bar} {percent}%{left}");
    bar.set_message(name.to_owned());
    // Show the bar before the first part is done.
    bar.tick();
    bar
}

/// Shows the notes of a tool and how far its steps are: one bar at a time.
#[derive(Default)]
pub(crate) struct Watch {
    /// The step and its bar.
    step: RefCell<Option<(String, ProgressBar)>>,
    /// What may ask the tool to stop. Without it, a signal ends the program.
    interrupt: Option<Interrupt>,
}

impl Watch {
    /// Creates one that asks the tool to stop at a signal.
    pub(crate) fn with(interrupt: Interrupt) -> Watch {
        Watch { step: RefCell::default(), interrupt: Some(interrupt) }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        if let Some((_, bar)) = self.step.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Watcher for Watch {
    fn note(&self, text: String) {
        match &*self.step.borrow() {
            Some((_, bar)) => bar.suspend(|| console::note(text)),
            None => console::note(text),
        }
    }

    fn warn(&self, text: String) {
        self.note(text);
    }

    fn show(&self, step: &str, units: &'static str, done: u64, of: Option<u64>) {
        if self.step.borrow().as_ref().is_none_or(|(name, _)| name != step) {
            self.finish();
            let verb = console::printable(step);
            let new = of.map_or_else(|| counter(&verb, units), |of| bar(of, &verb, units));
            self.step.replace(Some((step.to_owned(), new)));
        }
        if let Some((_, bar)) = &*self.step.borrow() {
            of.into_iter().for_each(|of| bar.set_length(of));
            bar.set_position(done);
        }
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|interrupt| interrupt.status().is_some())
    }
}

fn styled(length: u64, template: &str) -> ProgressBar {
    let is_watched = is_watched();
    let target = if ranks::follower().is_some() {
        ProgressDrawTarget::hidden()
    } else if is_watched {
        ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND)
    } else {
        ProgressDrawTarget::term_like_with_hz(Box::new(LineTarget::new(PACE.clone(), std::io::stderr())), 1)
    };
    let template = if is_watched { template.to_owned() } else { template.replace(" {wide_bar}", "") };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    // Only the words in the templates vary. If indicatif refuses one, its default style will do.
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style.progress_chars("━╸─").with_key("rate", write_pace).with_key("left", left));
    }
    bar
}

/// Writes the time left, as soon as something is done.
fn left(state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write) {
    if state.pos() > 0 {
        let _ = write!(out, ", {:#} left", indicatif::HumanDuration(state.eta()));
    }
}

/// Writes how fast things are done, in the unit that has a number for it.
fn write_pace(state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write) {
    let _ = out.write_str(&pace(state.per_sec()));
}

fn pace(per_second: f64) -> String {
    let units = [(1.0, "s"), (60.0, "min"), (3600.0, "h")];
    let unit = units.into_iter().find(|(seconds, _)| per_second * seconds >= 1.0);
    unit.map_or_else(String::new, |(seconds, unit)| format!(", {}/{unit}", rate(per_second * seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_for_people() {
        assert_eq!((rate(12.34), rate(12_345.6)), ("12.3".to_owned(), "12,346".to_owned()));
        let paces = [9_120.0, 1.0, 0.05, 0.001, 0.0].map(pace);
        assert_eq!(paces, [", 9,120/s", ", 1.0/s", ", 3.0/min", ", 3.6/h", ""]);
    }
}
