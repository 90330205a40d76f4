//! `clickvec embed`: texts in, vectors out.

mod texts;

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use clickvec::Error;
use clickvec::model::{Embedder, Model, Side};
use clickvec::vectors::{NpyWriter, Word2vecWriter, word2vec_token, write_json_line};
use clickvec_tables::files::Pending;

use crate::answer::Answer;
use crate::console;
use crate::numbers::choice;
use crate::output_files::{self, Kind};
use texts::{Batch, Texts};

/// The number of texts that are embedded at once, if that many are waiting.
const BATCH_TEXTS: usize = 1024;

/// Write the vectors of texts, one a line or in a table.
///
/// An empty line, or one without any word, gets the zero vector, so line n of the input is always vector n of the output; a line
/// that cannot be read, or a row with any fault, ends the work for the same reason. A table is recognised by its header or its first
/// object: TSV, CSV, JSON lines or (if built in) Parquet. JSON lines then have the table's ids, if it has a column `id`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The model that `clickvec train` wrote.
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The texts, one a line or in a table, also as .gz or .zst; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    texts: PathBuf,

    /// The kind of the texts, query or title: a model has one tower for each.
    #[arg(long, value_name = "SIDE", value_parser = choice::<Side>)]
    side: Side,

    /// The column of a table with the texts [default: query or title, as --side says].
    #[arg(long, value_name = "NAME")]
    text_column: Option<String>,

    /// The format of the output [default: npy or parquet if the name of --output ends in .npy or .parquet, otherwise jsonl].
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Where to write the vectors [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Take every line as a text, also a first one that looks like the header of a table or like JSON.
    #[arg(long, conflicts_with = "text_column", hide_short_help = true)]
    lines: bool,

    /// Write vectors as the encoder computes them. By default they have length 1 (a text without a word has a zero vector), and
    /// the dot product of a query's and a title's vector is the score of a search by vectors.
    #[arg(long, hide_short_help = true)]
    raw: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object a line, {"text":…,"vector":[…]}, written as the texts arrive.
    Jsonl,
    /// A NumPy array of f32, [texts, dimension]. Reads all texts first, because the header gives their number.
    Npy,
    /// word2vec's text format, for gensim and similar tools. White space in a text becomes `_`, and a text that occurs
    /// twice is written once. Reads all texts first.
    Word2vec,
    /// Apache Parquet, with the columns text and vector.
    Parquet,
}

impl Format {
    fn kind(self) -> Kind {
        match self {
            Format::Jsonl => Kind::JsonVectors,
            Format::Npy => Kind::Npy,
            Format::Word2vec => Kind::Word2vec,
            Format::Parquet => Kind::Parquet,
        }
    }

    /// Returns the name of the format, if it should not go to a terminal.
    fn binary(self) -> Option<&'static str> {
        match self {
            Format::Npy => Some("npy"),
            Format::Parquet => Some("parquet"),
            Format::Jsonl | Format::Word2vec => None,
        }
    }
}

impl Args {
    /// Returns the format from the options, or the one that the name of the output implies.
    fn format(&self) -> Format {
        let ends_in = |end: &str| {
            self.output.as_ref().and_then(|path| path.extension()).is_some_and(|found| found.eq_ignore_ascii_case(end))
        };
        self.format.unwrap_or(match (ends_in("npy"), ends_in("parquet")) {
            (true, _) => Format::Npy,
            (_, true) => Format::Parquet,
            _ => Format::Jsonl,
        })
    }
}

/// Embeds and writes.
pub(crate) fn run(args: Args) -> Result<Answer> {
    let format = args.format();
    if let Some(name) = format.binary()
        && args.output.is_none()
        && io::stdout().is_terminal()
    {
        bail!("expected a file for the binary {name} format, found a terminal; add `--output FILE`");
    }
    if let Some(output) = &args.output {
        output_files::check([output], [&args.model, &args.texts])?;
        output_files::refuse_other(output, format.kind())?;
    }
    let model = Model::load(&args.model)?;
    let embedder = model.embedder(args.side);
    let embedder = if args.raw { embedder.raw() } else { embedder };
    let mut job = Job { texts: Texts::open(&args)?, embedder, format };
    match &args.output {
        None => job.write(&mut io::BufWriter::new(io::stdout()), Path::new("standard output"), model.dimension())?,
        Some(path) => {
            // The file has no name until it is complete, so a kill leaves nothing behind.
            let mut file = Pending::new(path)?;
            job.write(file.writer(), path, model.dimension())?;
            file.seal()?.publish()?;
        }
    }
    Ok(Answer::Done)
}

struct Job {
    texts: Texts,
    embedder: Embedder,
    format: Format,
}

impl Job {
    fn write(&mut self, out: &mut (impl Write + Send), name: &Path, dimension: usize) -> Result<()> {
        match self.format {
            Format::Jsonl => self.write_json(out, name, dimension),
            Format::Npy => self.write_npy(out, name, dimension),
            Format::Word2vec => self.write_word2vec(out, name, dimension),
            Format::Parquet => self.write_parquet(out, name, dimension),
        }
    }

    /// Reads all texts, for formats whose header gives their number.
    fn texts(&mut self) -> Result<Vec<String>> {
        let (mut all, mut batch) = (Vec::new(), Batch::default());
        loop {
            self.texts.next_batch(BATCH_TEXTS, &mut batch)?;
            if batch.texts.is_empty() {
                return Ok(all);
            }
            all.append(&mut batch.texts);
        }
    }

    fn write_json(&mut self, out: &mut impl Write, name: &Path, dimension: usize) -> Result<()> {
        let failed = |source| Error::io(name, "write", source);
        let (mut batch, mut vectors) = (Batch::default(), Vec::new());
        loop {
            self.texts.next_batch(BATCH_TEXTS, &mut batch)?;
            if batch.texts.is_empty() {
                return Ok(out.flush().map_err(failed)?);
            }
            self.embedder.embed_into(&batch.texts, &mut vectors);
            for (number, (text, vector)) in batch.texts.iter().zip(vectors.chunks_exact(dimension)).enumerate() {
                let id = batch.ids.get(number).map(String::as_str);
                write_json_line(out, id, text, vector).map_err(failed)?;
            }
            // A program that sends one text and waits gets its vector.
            out.flush().map_err(failed)?;
        }
    }

    fn write_npy(&mut self, out: &mut impl Write, name: &Path, dimension: usize) -> Result<()> {
        let failed = |source| Error::io(name, "write", source);
        let texts = self.texts()?;
        let mut writer = NpyWriter::new(out, texts.len(), dimension).map_err(failed)?;
        for batch in texts.chunks(BATCH_TEXTS) {
            for vector in self.embedder.embed(batch).chunks_exact(dimension) {
                writer.write(vector).map_err(failed)?;
            }
        }
        writer.finish().map_err(failed)?;
        Ok(())
    }

    fn write_word2vec(&mut self, out: &mut impl Write, name: &Path, dimension: usize) -> Result<()> {
        let failed = |source| Error::io(name, "write", source);
        let texts = self.texts()?;
        // Texts that become the same token have the same words, and so the same vector.
        let (mut tokens, mut known, mut all) = (Vec::new(), HashSet::new(), 0u64);
        for text in texts {
            all += 1;
            let token = word2vec_token(&text);
            if known.insert(token.clone()) {
                tokens.push(token);
            }
        }
        drop(known);
        let mut writer = Word2vecWriter::new(out, tokens.len(), dimension).map_err(failed)?;
        for batch in tokens.chunks(BATCH_TEXTS) {
            for (token, vector) in batch.iter().zip(self.embedder.embed(batch).chunks_exact(dimension)) {
                writer.write(token, vector).map_err(failed)?;
            }
        }
        writer.finish().map_err(failed)?;
        let repeated = all - tokens.len() as u64;
        if repeated > 0 {
            let repeated = console::counted(repeated, "text");
            console::note(format_args!("{}: left out {repeated} that occurred before", name.display()));
        }
        Ok(())
    }

    fn write_parquet(&mut self, out: &mut (impl Write + Send), name: &Path, dimension: usize) -> Result<()> {
        let failed = |source| Error::io(name, "write", source);
        let mut writer = clickvec_tools::vectors_parquet::Writer::new(out, &["text"], dimension).map_err(failed)?;
        let mut batch = Batch::default();
        loop {
            self.texts.next_batch(BATCH_TEXTS, &mut batch)?;
            if batch.texts.is_empty() {
                return Ok(writer.finish().map_err(failed)?);
            }
            let texts = batch.texts.iter().map(String::as_str).collect();
            writer.write(&[texts], &self.embedder.embed(&batch.texts)).map_err(failed)?;
        }
    }
}
