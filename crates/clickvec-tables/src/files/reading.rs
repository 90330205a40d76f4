//! Reading a stream: plain, gzip or zstd, from a file, a pipe or standard input.

use std::fs::File;
#[cfg(unix)]
use std::io::IsTerminal;
use std::io::{self, BufRead, BufReader, Cursor, Read};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::bufread::GzDecoder;

use super::{BUFFER_BYTES, Found, is_folder, is_stream};
use crate::{Error, ErrorKind, Result};

/// The number of bytes that are looked at to recognise a file.
const PEEKED_BYTES: usize = 64 * 1024;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A zstd skippable frame starts with 0x50–0x5f and these bytes. Parallel compressors put one at the beginning.
const ZSTD_SKIPPABLE_TAIL: [u8; 3] = [0x2a, 0x4d, 0x18];

/// Whether standard input, which can be read once, was opened.
static STANDARD_INPUT_READ: AtomicBool = AtomicBool::new(false);

/// A file's contents, opened for reading; `-` is standard input, which can be opened once.
///
/// Gzip (with several members too) and zstd (with several frames too) are recognised by their first bytes, whatever
/// the name, and decompressed. A compressed stream that was cut short fails where it was cut
/// ([`io::ErrorKind::UnexpectedEof`]); the cut never looks like the end of the file.
///
/// # Errors
///
/// [`ErrorKind::Mismatch`] for a folder, or for a device that is neither a terminal nor empty; [`ErrorKind::Io`] if the file is
/// missing or cannot be read.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    if path == Path::new("-") {
        if STANDARD_INPUT_READ.swap(true, Ordering::Relaxed) {
            let repeated = io::Error::other("standard input was read before; give one of the inputs as a file");
            return Err(Error::io(path, "read", repeated));
        }
        refuse_device(path, &io::stdin())?;
        return decode(io::stdin()).map_err(|source| Error::io(path, "read", source));
    }
    let failed = |source| Error::io(path, "open", source);
    if let Found::Folder = Found::at(path).map_err(failed)? {
        return Err(is_folder(path));
    }
    let file = File::open(path).map_err(failed)?;
    refuse_device(path, &file)?;
    decode(file).map_err(|source| Error::io(path, "read", source))
}

/// Refuses a device such as `/dev/zero`: one line of it has no end, and a copy would fill the disk.
#[cfg(unix)]
fn refuse_device(path: &Path, opened: &(impl AsFd + IsTerminal)) -> Result<()> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let failed = |source| Error::io(path, "read", source);
    // A second name of what is open, which is closed at once.
    let metadata = opened.as_fd().try_clone_to_owned().and_then(|file| File::from(file).metadata()).map_err(failed)?;
    let kind = metadata.file_type();
    let is_null = || std::fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == metadata.rdev());
    if kind.is_block_device() || (kind.is_char_device() && !opened.is_terminal() && !is_null()) {
        let error = Error::expected(ErrorKind::Mismatch, "a file or a pipe", "a device, which may never end");
        return Err(error.help("name another").at(path));
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_device<T>(_: &Path, _: &T) -> Result<()> {
    Ok(())
}

/// Adds the decoder that the first bytes call for. Never seeks, because the stream may be a pipe.
fn decode(mut source: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let mut head = Vec::with_capacity(ZSTD_MAGIC.len());
    source.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut head)?;
    let gzip = head.starts_with(&GZIP_MAGIC);
    let zstd = head == ZSTD_MAGIC
        || (head.first().is_some_and(|first| first & 0xf0 == 0x50) && head[1..] == ZSTD_SKIPPABLE_TAIL);
    let stream = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(source));
    Ok(if gzip {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, GzipMembers(Some(GzDecoder::new(stream)))))
    } else if zstd {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, zstd::Decoder::with_buffer(stream)?))
    } else {
        Box::new(stream)
    })
}

/// A reader of gzip's members, one after the other. Bytes of zero after the last one, with which tapes are filled, say nothing.
struct GzipMembers<R>(Option<GzDecoder<R>>);

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(bytes)?;
            if read > 0 || bytes.is_empty() {
                return Ok(read);
            }
            self.0 = self.0.take().map(GzDecoder::into_inner).map_or(Ok(None), next_member)?;
        }
        Ok(0)
    }
}

/// Returns the decoder of the next member, if there is one.
fn next_member<R: BufRead>(mut stream: R) -> io::Result<Option<GzDecoder<R>>> {
    loop {
        let bytes = stream.fill_buf()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let (zeros, length) = (bytes.iter().take_while(|&&byte| byte == 0).count(), bytes.len());
        stream.consume(zeros);
        if zeros < length {
            return Ok(Some(GzDecoder::new(stream)));
        }
    }
}

/// The first bytes of a file as it lies on disk, which tell what it is; none of a pipe or of standard input, since they would be
/// lost to its reader.
///
/// # Errors
///
/// [`ErrorKind::Io`] if the file is missing or cannot be read.
pub fn first_bytes<const N: usize>(path: &Path) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    if is_stream(path) || path.is_dir() {
        return Ok(head);
    }
    let file = File::open(path).map_err(|source| Error::io(path, "open", source))?;
    file.take(N as u64).read_to_end(&mut head).map_err(|source| Error::io(path, "read", source))?;
    Ok(head)
}

/// The first line that is not blank, up to 64 KiB, and a reader that still returns it. The line tells what
/// the file is, even if it is a pipe. Bytes that are not UTF-8 become U+FFFD, and a byte order mark is left out.
///
/// # Errors
///
/// [`ErrorKind::Io`]; `path` is for the message.
pub fn first_line(mut reader: Box<dyn BufRead + Send>, path: &Path) -> Result<(String, Box<dyn BufRead + Send>)> {
    let (mut head, mut line) = (Vec::new(), 0);
    let first = loop {
        line += 1;
        let start = head.len();
        let read = (&mut reader).take((PEEKED_BYTES - start) as u64).read_until(b'\n', &mut head);
        read.map_err(|source| Error::read_at(path, line, source))?;
        let read = head[start..].strip_prefix("\u{feff}".as_bytes()).filter(|_| line == 1).unwrap_or(&head[start..]);
        if !read.trim_ascii().is_empty() || head.len() == start {
            break String::from_utf8_lossy(read.trim_ascii_end()).into_owned();
        }
    };
    Ok((first, Box::new(Cursor::new(head).chain(reader))))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    const TEXT: &[u8] = b"query\ttitle\nred shoes\tShoes in red\n";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_without_an_end_is_refused() {
        let refused = |path: &str| {
            open(Path::new(path)).is_err_and(|error| {
                error.to_string().starts_with(&format!("{path}: expected a file or a pipe, found a device"))
            })
        };
        assert!(refused("/dev/zero") && refused("/dev/full"));
        let mut nothing = Vec::new();
        open(Path::new("/dev/null")).unwrap().read_to_end(&mut nothing).unwrap();
        assert!(nothing.is_empty());
    }

    #[test]
    fn the_first_bytes_are_those_of_a_plain_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "abc").unwrap();
        assert_eq!(first_bytes::<2>(&path).unwrap(), b"ab");
        assert_eq!(first_bytes::<4>(&path).unwrap(), b"abc");
        for other in [folder.path(), Path::new("-")] {
            assert_eq!(first_bytes::<2>(other).unwrap(), b"", "{}", other.display());
        }
        assert!(first_bytes::<2>(&folder.path().join("none")).is_err());
    }

    fn read_back(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("any name");
        fs::write(&path, bytes)?;
        let mut text = Vec::new();
        open(&path).unwrap().read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn the_first_line_stays_to_be_read() {
        let long = "x".repeat(PEEKED_BYTES + 5);
        // Blank lines count towards the bound.
        let late = format!("\n\n{long}");
        for (text, expected) in [
            ("", ""),
            ("\n \r\n", ""),
            ("a\tb", "a\tb"),
            ("\u{feff}\r\n\n a\t\r\nb\n", " a"),
            (&long, &long[..PEEKED_BYTES]),
            (&late, &long[..PEEKED_BYTES - 2]),
        ] {
            let reader: Box<dyn BufRead + Send> = Box::new(Cursor::new(text.to_owned()));
            let (first, mut reader) = first_line(reader, Path::new("f")).unwrap();
            assert_eq!(first, expected);
            let mut read = String::new();
            reader.read_to_string(&mut read).unwrap();
            assert_eq!(read, text);
        }
    }

    #[test]
    fn plain_gzip_and_zstd_read_alike() {
        let (first, second) = TEXT.split_at(7);
        let zstd_of = |bytes: &[u8]| zstd::encode_all(bytes, 0).unwrap();
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9][..], &zstd_of(TEXT)].concat();
        let cases = [
            TEXT.to_vec(),
            gzip(TEXT),
            [gzip(first), gzip(second)].concat(),
            [gzip(first), gzip(second), vec![0; 2 * BUFFER_BYTES]].concat(),
            zstd_of(TEXT),
            [zstd_of(first), zstd_of(second)].concat(),
            skippable,
        ];
        for case in cases {
            assert_eq!(read_back(&case).unwrap(), TEXT);
        }
        for short in [&b""[..], b"q", b"abc"] {
            assert_eq!(read_back(short).unwrap(), short);
        }
    }

    #[test]
    fn a_compressed_stream_cut_short_is_an_error_wherever_it_is_cut() {
        let text = TEXT.repeat(50);
        for stream in [gzip(&text), zstd::encode_all(&text[..], 0).unwrap()] {
            for length in 4..stream.len() {
                let error = read_back(&stream[..length]).expect_err("a cut stream");
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "cut after {length}");
            }
        }
        let second = gzip(TEXT);
        for length in 1..second.len() {
            read_back(&[&gzip(TEXT)[..], &second[..length]].concat()).expect_err("a cut second member");
        }
    }

    #[test]
    fn missing_files_and_folders_have_their_own_messages() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("clicks.tsv");
        let error = open(&missing).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().starts_with(&format!("{}: cannot open: ", missing.display())));
        assert!(open(folder.path()).err().unwrap().to_string().contains("expected a file, found a folder"));
    }
}
