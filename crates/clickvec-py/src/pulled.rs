//! Pairs that the calling thread pulls from Python. They come once; to be learnt from twice they are kept in a temporary file.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::ops::ControlFlow;
use std::path::Path;

use clickvec::Error;
use clickvec::train::ClickSource;
use clickvec_cli::embedded::{self, Queries};

use crate::bridge::Caller;
use crate::clicks::Pair;

/// How many pairs are kept between two reports.
const REPORT_EVERY: u64 = 10_000;

/// Pairs as they are pulled.
pub(crate) struct Pulled<'a> {
    caller: &'a Caller,
    pairs: std::vec::IntoIter<Pair>,
}

impl<'a> Pulled<'a> {
    pub(crate) fn new(caller: &'a Caller) -> Pulled<'a> {
        Pulled { caller, pairs: Vec::new().into_iter() }
    }
}

impl Iterator for Pulled<'_> {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        if self.pairs.len() == 0 {
            self.pairs = self.caller.pairs().into_iter();
        }
        self.pairs.next()
    }
}

/// Pairs that are learnt from once, straight from Python.
pub(crate) struct Once<'a>(RefCell<Option<Pulled<'a>>>);

impl<'a> Once<'a> {
    pub(crate) fn new(pairs: Pulled<'a>) -> Once<'a> {
        Once(RefCell::new(Some(pairs)))
    }
}

impl embedded::Pairs for Once<'_> {
    fn source(&self) -> ClickSource<'_> {
        let pairs = self.0.take().expect("pairs that are learnt from once");
        ClickSource::marked(pairs.map(Ok::<_, std::convert::Infallible>))
    }

    fn have_queries(&self, _: Queries) -> clickvec::Result<bool> {
        Ok(false)
    }
}

/// Pairs in a temporary file without a name, which vanishes with the process.
///
/// A pair is the lengths of its two texts, its weight, whether its query is rare, and the texts.
pub(crate) struct Kept {
    file: File,
    pairs: u64,
}

impl Kept {
    /// Keeps all pairs in a file in `folder`, the system's temporary one if there is none, and reports how many there are so
    /// far. `None` if `told` breaks.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub(crate) fn read(
        pairs: Pulled<'_>,
        folder: Option<&Path>,
        told: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Option<Kept>, Error> {
        let folder = folder.map_or_else(std::env::temp_dir, Path::to_owned);
        let failed = |source| Error::io(&folder, "write a temporary file to", source);
        let mut file = BufWriter::with_capacity(1 << 16, tempfile::tempfile_in(&folder).map_err(failed)?);
        let mut kept = 0;
        for (query, title, weight, rare) in pairs {
            write(&mut file, query.as_ref(), title.as_ref(), weight, rare).map_err(failed)?;
            kept += 1;
            if kept % REPORT_EVERY == 0 && told(kept).is_break() {
                return Ok(None);
            }
        }
        // A generator that raised ends the pairs too.
        if told(kept).is_break() {
            return Ok(None);
        }
        let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok(Some(Kept { file, pairs: kept }))
    }

    /// The pairs from the beginning, as long as nobody begins again.
    fn again(&self) -> impl Iterator<Item = io::Result<KeptPair>> + '_ {
        let mut failed = (&self.file).rewind().err();
        let mut file = BufReader::with_capacity(1 << 16, &self.file);
        (0..self.pairs).map(move |_| match failed.take() {
            Some(error) => Err(error),
            None => read(&mut file),
        })
    }
}

impl embedded::Pairs for Kept {
    fn source(&self) -> ClickSource<'_> {
        ClickSource::marked(self.again())
    }

    fn have_queries(&self, mut queries: Queries) -> clickvec::Result<bool> {
        for (number, pair) in (1..).zip(self.again()) {
            let (query, title, ..) = pair.map_err(|source| {
                clickvec_tables::Error::new(ErrorKind::Io, source.to_string()).within(format!("pair {number}"))
            })?;
            if queries.add(&query, &title) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A query, a title, the weight of the pair, and whether the query is rare.
type KeptPair = (String, String, f32, bool);

fn write(file: &mut impl Write, query: &str, title: &str, weight: f32, rare: bool) -> io::Result<()> {
    file.write_all(&(query.len() as u64).to_le_bytes())?;
    file.write_all(&(title.len() as u64).to_le_bytes())?;
    file.write_all(&weight.to_le_bytes())?;
    file.write_all(&[u8::from(rare)])?;
    file.write_all(query.as_bytes())?;
    file.write_all(title.as_bytes())
}

fn read(file: &mut impl Read) -> io::Result<KeptPair> {
    let (query, title) = (number(file)? as usize, number(file)? as usize);
    let (mut weight, mut rare) = ([0; 4], [0]);
    file.read_exact(&mut weight)?;
    file.read_exact(&mut rare)?;
    Ok((text(file, query)?, text(file, title)?, f32::from_le_bytes(weight), rare == [1]))
}

fn number(file: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn text(file: &mut impl Read, length: usize) -> io::Result<String> {
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}
