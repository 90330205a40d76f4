//! What all commands do with what they found: they print it as text or as lines of JSON, and write it as a page.

use std::io::{BufWriter, StdoutLock, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use clickvec_report::explanation;
use clickvec_report::report::Report;
use clickvec_tables::files;
use maud::{Markup, html};
use serde::Serialize;

use crate::console;
use crate::output_files::{self, Kind};

/// The form of the output.
#[derive(clap::Args)]
pub(in super::super) struct Form {
    /// Print JSON, one object a line.
    #[arg(long, display_order = 900)]
    pub(in super::super) json: bool,

    /// Also write an HTML page: one file that needs no network and can be read without JavaScript.
    #[arg(long, value_name = "FILE", display_order = 901)]
    pub(in super::super) html: Option<PathBuf>,
}

impl Form {
    /// Checks before any work that the page can be written and does not overwrite an input.
    pub(in super::super) fn printer<'a>(&'a self, read: impl IntoIterator<Item = &'a PathBuf>) -> Result<Printer<'a>> {
        if let Some(html) = &self.html {
            output_files::check([html], read)?;
            output_files::refuse_other(html, Kind::Page)?;
        }
        Ok(Printer::new(self))
    }
}

/// Prints explanations one after the other, and collects them for the page.
pub(in super::super) struct Printer<'a> {
    form: &'a Form,
    out: BufWriter<StdoutLock<'static>>,
    has_text: bool,
    page: Vec<Markup>,
    has_heat: bool,
}

impl<'a> Printer<'a> {
    fn new(form: &'a Form) -> Printer<'a> {
        Printer { form, out: console::stdout(), has_text: false, page: Vec::new(), has_heat: false }
    }

    /// Prints a line of JSON, if that is the form.
    pub(in super::super) fn line(&mut self, line: &impl Serialize) -> Result<()> {
        if self.form.json { console::json_line(&mut self.out, line) } else { Ok(()) }
    }

    /// Prints a text, unless the form is JSON.
    pub(in super::super) fn text(&mut self, report: &Report) -> Result<()> {
        let text = report.to_text();
        if self.form.json || text.is_empty() {
            return Ok(());
        }
        let gap = if std::mem::replace(&mut self.has_text, true) { "\n" } else { "" };
        console::written(write!(self.out, "{gap}{text}"))
    }

    /// Adds to the page, if there is one.
    pub(in super::super) fn page(&mut self, contents: impl FnOnce() -> Markup) {
        if self.form.html.is_some() {
            self.page.push(contents());
        }
    }

    /// Prints a report as text, and adds it to the page.
    pub(in super::super) fn report(&mut self, report: &Report) -> Result<()> {
        self.has_heat |= report.has_picture();
        self.page(|| report.to_markup());
        self.text(report)
    }

    /// Prints what columns and marks mean: below the text, at the top of the page.
    pub(in super::super) fn legend(&mut self, legend: &str) -> Result<()> {
        let mut report = Report::default();
        report.note(legend);
        self.page.insert(0, report.to_markup());
        if legend.is_empty() { Ok(()) } else { self.text(&report) }
    }

    /// Returns whether there is a page, for which more is drawn.
    pub(in super::super) fn has_page(&self) -> bool {
        self.form.html.is_some()
    }

    /// Writes the page, under this title.
    pub(in super::super) fn finish(mut self, title: &str) -> Result<()> {
        console::written(self.out.flush())?;
        let Some(html) = &self.form.html else { return Ok(()) };
        let page = explanation::page(title, self.has_heat, &html! { @for part in &self.page { (part) } });
        files::write_bytes_atomically(html, page.as_bytes())?;
        console::note(format_args!("{}: written", html.display()));
        Ok(())
    }
}
