//! Gzip and Zstandard, recognised by their first bytes and never by a file's name.

use std::io::{self, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

/// How a file was compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    fn detect(head: &[u8]) -> Option<Self> {
        if head.starts_with(&[0x1f, 0x8b]) {
            Some(Self::Gzip)
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Self::Zstd)
        } else {
            None
        }
    }
}

/// Compressed bytes read at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// The bytes of `input`, inflated if they are compressed.
pub(super) fn inflated<'a>(
    mut input: impl Read + 'a,
) -> io::Result<(Option<Compression>, Box<dyn Read + 'a>)> {
    let mut head = Vec::with_capacity(4);
    (&mut input).take(4).read_to_end(&mut head)?;
    let compression = Compression::detect(&head);
    let whole = Cursor::new(head).chain(input);
    let text: Box<dyn Read + 'a> = match compression {
        None => Box::new(whole),
        Some(Compression::Gzip) => {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(BLOCK_BYTES, whole)))
        }
        Some(Compression::Zstd) => {
            Box::new(zstd::Decoder::with_buffer(BufReader::with_capacity(BLOCK_BYTES, whole))?)
        }
    };
    Ok((compression, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8]) -> (Option<Compression>, Vec<u8>) {
        let (compression, mut input) = inflated(bytes).unwrap();
        let mut text = Vec::new();
        input.read_to_end(&mut text).unwrap();
        (compression, text)
    }

    #[test]
    fn compressed_text_is_inflated_and_the_rest_is_left_alone() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"[]\n").unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(read(&gzip), (Some(Compression::Gzip), b"[]\n".to_vec()));
        // Members one after the other are one text.
        assert_eq!(read(&[gzip.clone(), gzip].concat()).1, b"[]\n[]\n");
        let zstd = zstd::encode_all(&b"[]\n"[..], 1).unwrap();
        assert_eq!(read(&zstd), (Some(Compression::Zstd), b"[]\n".to_vec()));
        assert_eq!(read(b"[]\n"), (None, b"[]\n".to_vec()));
        assert_eq!(read(b"\x1f"), (None, b"\x1f".to_vec()));
        assert_eq!(read(b""), (None, Vec::new()));
    }
}
