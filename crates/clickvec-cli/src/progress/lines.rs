//! Progress without a terminal: in a pipe or a log, a line now and then instead of a bar.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::TermLike;

/// The columns of a line: enough for every template.
const WIDTH: u16 = 200;

/// The time since the last line, for all bars of the program.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    every: Duration,
    last: Arc<Mutex<Instant>>,
}

impl Pace {
    /// Creates a pace of at most one line in each `every`; the first one comes after that time.
    pub(super) fn new(every: Duration) -> Pace {
        Pace { every, last: Arc::new(Mutex::new(Instant::now())) }
    }

    /// Returns whether it is time for a line. If so, the time begins anew.
    fn is_due(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.elapsed() >= self.every;
        if is_due {
            *last = Instant::now();
        }
        is_due
    }
}

/// What a bar is drawn on: of its pictures, the newest is written as a line when it is time for one.
pub(super) struct LineTarget<W> {
    pace: Pace,
    parts: Mutex<(String, W)>,
}

impl<W> LineTarget<W> {
    pub(super) fn new(pace: Pace, out: W) -> LineTarget<W> {
        LineTarget { pace, parts: Mutex::new((String::new(), out)) }
    }

    fn parts(&self) -> MutexGuard<'_, (String, W)> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> std::fmt::Debug for LineTarget<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineTarget").field("pace", &self.pace).finish_non_exhaustive()
    }
}

impl<W: Write + Send> TermLike for LineTarget<W> {
    fn width(&self) -> u16 {
        WIDTH
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.parts().0.push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.parts().0.clear();
        Ok(())
    }

    /// The end of a picture.
    fn flush(&self) -> io::Result<()> {
        let (text, out) = &mut *self.parts();
        let line = std::mem::take(text);
        match line.trim() {
            "" => Ok(()),
            line if self.pace.is_due() => writeln!(out, "{line}").and_then(|()| out.flush()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What a bar of three steps writes.
    fn lines(every: Duration) -> Vec<String> {
        let written = Written::default();
        let target = LineTarget::new(Pace::new(every), written.clone());
        let bar = ProgressBar::with_draw_target(Some(3), ProgressDrawTarget::term_like(Box::new(target)));
        bar.set_style(ProgressStyle::with_template("encoding {pos}/{len} titles").unwrap());
        for _ in 0..3 {
            bar.inc(1);
        }
        bar.finish_and_clear();
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_bar_is_one_line_at_a_time() {
        assert_eq!(lines(Duration::ZERO), ["encoding 1/3 titles", "encoding 2/3 titles", "encoding 3/3 titles"]);
    }

    #[test]
    fn what_is_quick_says_nothing() {
        assert_eq!(lines(Duration::from_secs(3600)), Vec::<String>::new());
    }
}
