//! `clickvec man`: manual pages of the program and of each command.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap_mangen::Man;
use clickvec_tables::files;

use crate::answer::Answer;
use crate::{console, output_files};

/// Print a manual page, or write all of them into a folder.
///
/// `clickvec man train | man -l -` shows one page. `clickvec man --output ~/.local/share/man/man1` writes all pages
/// where `man` finds them, as in `man clickvec-train`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The command whose page to print, such as train or explain-match [default: the program itself].
    #[arg(value_name = "COMMAND")]
    page: Option<String>,

    /// Write the pages of all commands into this folder, which is created if needed: clickvec.1, clickvec-train.1 and
    /// so on.
    #[arg(long, short, value_name = "FOLDER", conflicts_with = "page")]
    output: Option<PathBuf>,
}

/// Prints or writes pages of `command`, which is the whole program.
pub(crate) fn run(args: Args, command: clap::Command) -> Result<Answer> {
    let command = built(command);
    match &args.output {
        None => {
            let page = match &args.page {
                None => &command,
                Some(name) => pages(&command).into_iter().find(|page| short_name(page) == name).with_context(|| {
                    let names: Vec<&str> = pages(&command).into_iter().skip(1).map(short_name).collect();
                    format!("expected a command, one of {}, found `{name}`", names.join(", "))
                })?,
            };
            console::print(String::from_utf8_lossy(&rendered(page)?))?;
        }
        Some(folder) => {
            output_files::refuse_folder_in_index(folder)?;
            std::fs::create_dir_all(folder)
                .map_err(|source| clickvec::Error::io(folder, "make this folder", source))?;
            let pages = pages(&command);
            for page in &pages {
                let name = full_name(page);
                files::write_bytes_atomically(&folder.join(format!("{name}.1")), &rendered(page)?)?;
            }
            let count = console::counted(pages.len() as u64, "page");
            console::note(format_args!("{}: written; {count}", folder.display()));
        }
    }
    Ok(Answer::Done)
}

/// The program with the full names of its commands. `help` is left out, because it has no page.
fn built(command: clap::Command) -> clap::Command {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    command
}

/// The program itself and its commands, each followed by its own.
fn pages(command: &clap::Command) -> Vec<&clap::Command> {
    std::iter::once(command).chain(command.get_subcommands().flat_map(pages)).collect()
}

/// The name of a page: `clickvec-explain-match`.
fn full_name(page: &clap::Command) -> &str {
    page.get_display_name().unwrap_or(page.get_name())
}

/// The name of a command's page without the program's.
fn short_name(page: &clap::Command) -> &str {
    full_name(page).trim_start_matches("clickvec-")
}

fn rendered(page: &clap::Command) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let source = format!("clickvec {}", env!("CARGO_PKG_VERSION"));
    Man::new(page.clone()).source(source).manual("clickvec").render(&mut text)?;
    Ok(text)
}
