//! The wire format of protocol buffers (protobuf.dev/programming-guides/encoding): fields as they stand, nothing copied.

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A number, wire type 0.
    Varint(u64),
    /// A string, a message or packed numbers, wire type 2.
    Bytes(&'a [u8]),
    /// Wire types 1 and 5.
    Fixed,
}

impl<'a> Value<'a> {
    /// The bytes of a string or message; empty for a number.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// A number as `int64`; 0 for anything else.
    pub fn signed(self) -> i64 {
        match self {
            Self::Varint(value) => value.cast_signed(),
            _ => 0,
        }
    }
}

/// The fields of a message in their order. Ends early where the bytes are no message: [`Fields::broken_at`] says where.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    broken_at: Option<usize>,
}

impl<'a> Fields<'a> {
    /// The fields of the message that `bytes` hold.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, broken_at: None }
    }

    /// Where the field begins that could not be read.
    pub fn broken_at(&self) -> Option<usize> {
        self.broken_at
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.skip(8)?,
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let end = self.at.checked_add(length)?;
                let bytes = self.bytes.get(self.at..end)?;
                self.at = end;
                Value::Bytes(bytes)
            }
            5 => self.skip(4)?,
            _ => return None,
        };
        Some((tag >> 3, value))
    }

    fn skip(&mut self, length: usize) -> Option<Value<'a>> {
        self.at += length;
        (self.at <= self.bytes.len()).then_some(Value::Fixed)
    }

    fn varint(&mut self) -> Option<u64> {
        let (value, length) = varint(self.bytes.get(self.at..)?)?;
        self.at += length;
        Some(value)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() || self.broken_at.is_some() {
            return None;
        }
        let start = self.at;
        let field = self.field();
        if field.is_none() {
            self.broken_at = Some(start);
        }
        field
    }
}

/// The number at the front of `bytes` with its length: seven bits a byte, the lowest first.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_of_every_wire_type() {
        let bytes = b"\x08\x96\x01\x12\x02ab\x19\0\0\0\0\0\0\0\0\x25\0\0\0\0\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        let mut fields = Fields::of(bytes);
        let read: Vec<_> = fields.by_ref().collect();
        let expected = [
            (1, Value::Varint(150)),
            (2, Value::Bytes(b"ab")),
            (3, Value::Fixed),
            (4, Value::Fixed),
            (5, Value::Varint(u64::MAX)),
        ];
        assert_eq!(read, expected);
        assert_eq!(read[4].1.signed(), -1);
        assert_eq!(fields.broken_at(), None);
    }

    #[test]
    fn a_field_that_cannot_be_read_ends_the_message() {
        for broken in [
            &b"\x08\x01\x12\x05ab"[..],
            b"\x08\x01\x0b",
            b"\x08\x01\x08\x80",
            b"\x08\x01\x19\0",
            b"\x08\x01\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            let mut fields = Fields::of(broken);
            assert_eq!(fields.by_ref().count(), 1, "{broken:?}");
            assert_eq!(fields.broken_at(), Some(2), "{broken:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let mut fields = Fields::of(&bytes);
            let count = fields.by_ref().count();
            prop_assert!(count <= bytes.len());
        }
    }
}
