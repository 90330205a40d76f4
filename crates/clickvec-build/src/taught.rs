//! The vectors of all titles and queries that a transformer makes once for a build: for the training, the test and the index.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use clickvec::internals::clicks::ClickReader;
use clickvec::internals::npy;
use clickvec::internals::vector_file::texts_path;
use clickvec::model::Side;
use clickvec::tables::{TITLE, Titles};
use clickvec::train::Weighting;
use clickvec_index::Teacher;
use clickvec_tables::collection::for_each_document;
use clickvec_tables::memory::room_for;
use clickvec_tables::{Error, Result, files};
use xxhash_rust::xxh3::xxh3_64;

use crate::progress::Progress;
use crate::{Run, TITLES_AT_ONCE};

/// A transformer that teaches.
pub(crate) struct Taught {
    /// The transformer, which knows the vectors of the titles.
    pub(crate) teacher: Teacher,
    /// Its vectors, as a file for the training.
    pub(crate) vectors: PathBuf,
}

/// Each text once, in order: titles, and then queries.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    /// The number of titles.
    titles: usize,
    seen: HashSet<u64>,
}

impl Texts {
    fn add(&mut self, text: &str) {
        // An empty text has nothing to teach, and each has a line of the file.
        if !text.trim().is_empty() && !text.contains('\n') && self.seen.insert(xxh3_64(text.trim().as_bytes())) {
            self.texts.push(text.trim().to_owned());
        }
    }

    /// Reads the texts of the titles and of counted clicks.
    fn read(titles: &Titles, clicks: Option<&Path>) -> Result<Texts> {
        let mut texts = Texts::default();
        for_each_document::<Error>(titles, TITLE, &[], |title, _| {
            texts.add(&title.title);
            Ok(())
        })?;
        let mut queries = Vec::new();
        if let Some(clicks) = clicks {
            let mut reader = ClickReader::open(clicks, TITLE, Weighting::Log)?;
            let mut seen = HashSet::new();
            while let Some(click) = reader.next()? {
                texts.add(click.title);
                if seen.insert(xxh3_64(click.query.as_bytes())) {
                    queries.push(click.query.to_owned());
                }
            }
        }
        texts.titles = texts.texts.len();
        queries.iter().for_each(|query| texts.add(query));
        Ok(texts)
    }
}

impl Taught {
    /// Encodes all titles and queries into the file `vectors`, from where an earlier build with the same inputs stopped.
    ///
    /// # Errors
    ///
    /// Those of reading the tables and of writing.
    pub(crate) fn encode(
        teacher: &Teacher,
        titles: &Titles,
        clicks: Option<&Path>,
        vectors: PathBuf,
        run: &mut Run<'_, '_>,
    ) -> Result<Taught> {
        let failed = |source| Error::io(&vectors, "write", source);
        let Texts { texts, titles, .. } = Texts::read(titles, clicks)?;
        let (header, row) = (npy::header(npy::F32, texts.len(), teacher.dimension()), 4 * teacher.dimension());
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(&vectors).map_err(failed)?;
        let written = file.metadata().map_err(failed)?.len().saturating_sub(header.len() as u64);
        let mut done = usize::try_from(written / row as u64).unwrap_or(0).min(texts.len());
        if done == 0 {
            file.write_all(&header).map_err(failed)?;
            files::write_bytes_atomically(&texts_path(&vectors), (texts.join("\n") + "\n").as_bytes())?;
        }
        // The last vector may be there in part.
        let end = (header.len() + done * row) as u64;
        file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end))).map_err(failed)?;
        while done < texts.len() {
            run.tell(Progress::Encoding { texts: done as u64, of: texts.len() as u64 })?;
            let (side, last) = if done < titles { (Side::Title, titles) } else { (Side::Query, texts.len()) };
            let some = &texts[done..last.min(done + TITLES_AT_ONCE as usize)];
            let encoded = teacher.encode(side, some)?;
            let bytes: Vec<u8> = encoded.iter().flat_map(|number| number.to_le_bytes()).collect();
            file.write_all(&bytes).and_then(|()| file.sync_data()).map_err(failed)?;
            done += some.len();
        }
        drop(file);
        let teacher = teacher.knowing(|each| {
            room_for("the teacher's vectors", (titles as u64).checked_mul(2 * row as u64))?;
            let bytes = std::fs::read(&vectors).map_err(|source| Error::io(&vectors, "read", source))?;
            let rows = bytes.get(header.len()..).unwrap_or_default().chunks_exact(row);
            for (text, bytes) in texts[..titles].iter().zip(rows) {
                let vector: Vec<f32> = bytes.as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect();
                each(text, &vector);
            }
            Ok(())
        })?;
        Ok(Taught { teacher, vectors })
    }
}
