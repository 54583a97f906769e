//! Gzip, recognised by its first bytes and never by a file's name.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The bytes of `input`, inflated if they are gzipped.
pub(crate) fn inflated<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut first = Vec::with_capacity(MAGIC.len());
    (&mut input).take(MAGIC.len() as u64).read_to_end(&mut first)?;
    let is_gzip = first == MAGIC;
    let whole = Cursor::new(first).chain(input);
    Ok(if is_gzip { Box::new(BufReader::new(MultiGzDecoder::new(whole))) } else { Box::new(whole) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        inflated(bytes).unwrap().read_to_end(&mut text).unwrap();
        text
    }

    #[test]
    fn gzip_is_inflated_and_the_rest_is_left_alone() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"a,b\n").unwrap();
        assert_eq!(read(&gzip.finish().unwrap()), b"a,b\n");
        assert_eq!(read(b"a,b\n"), b"a,b\n");
        assert_eq!(read(b"\x1f"), b"\x1f");
        assert_eq!(read(b""), b"");
    }
}
