//! A message of protobuf as what it is without a schema: numbered values. (prost reads whole schemas only, and takes no
//! text that is not UTF-8, which Kubernetes' annotations may hold.)

/// The bytes are cut off, or are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed protobuf")]
pub struct NoMessage;

/// A value as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raw<'a> {
    /// A number, or true or false.
    Number(u64),
    /// A text, or a message.
    Bytes(&'a [u8]),
}

/// The values of one message, one after the other; where it cannot be read any more, that, and then none.
struct Values<'a>(&'a [u8]);

impl<'a> Iterator for Values<'a> {
    type Item = Result<(u32, Raw<'a>), NoMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.0.is_empty() {
            match first(&mut self.0) {
                Ok(Some(value)) => return Some(Ok(value)),
                Ok(None) => {}
                Err(problem) => {
                    self.0 = &[];
                    return Some(Err(problem));
                }
            }
        }
        None
    }
}

/// Takes the first value; `None` if it was of a fixed-width type, which no field has that is read here. Groups, which
/// protobuf 3 and Kubernetes do not have, are malformed.
fn first<'a>(rest: &mut &'a [u8]) -> Result<Option<(u32, Raw<'a>)>, NoMessage> {
    let key = varint(rest)?;
    let number = u32::try_from(key >> 3).map_err(|_| NoMessage)?;
    match key & 7 {
        0 => Ok(Some((number, Raw::Number(varint(rest)?)))),
        1 => take(rest, 8).map(|_| None),
        2 => {
            let length = varint(rest)?;
            Ok(Some((number, Raw::Bytes(take(rest, length)?))))
        }
        5 => take(rest, 4).map(|_| None),
        _ => Err(NoMessage),
    }
}

/// The text or message in one field of a message of which nothing else is looked at: it is read without being kept. Empty
/// if there is none; the last if it was sent again.
pub(super) fn bytes_of(message: &[u8], number: u32) -> Result<&[u8], NoMessage> {
    match last(message, number)? {
        Some(Raw::Bytes(bytes)) => Ok(bytes),
        Some(Raw::Number(_)) | None => Ok(&[]),
    }
}

/// The same for a number, 0 if there is none.
pub(super) fn number_of(message: &[u8], number: u32) -> Result<u64, NoMessage> {
    match last(message, number)? {
        Some(Raw::Number(number)) => Ok(number),
        Some(Raw::Bytes(_)) | None => Ok(0),
    }
}

fn last(message: &[u8], number: u32) -> Result<Option<Raw<'_>>, NoMessage> {
    let mut last = None;
    for value in Values(message) {
        let (of, raw) = value?;
        if of == number {
            last = Some(raw);
        }
    }
    Ok(last)
}

/// The values of one message, in their order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message<'a>(Vec<(u32, Raw<'a>)>);

/// Values that there is room for at first: most messages of a pod have no more, and growing to that would take three steps.
const USUAL: usize = 16;

impl<'a> Message<'a> {
    /// Reads a message.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, NoMessage> {
        // A value has two bytes at least.
        let mut values = Vec::with_capacity((bytes.len() / 2).min(USUAL));
        for value in Values(bytes) {
            values.push(value?);
        }
        Ok(Self(values))
    }

    /// The values before the first one that cannot be read.
    pub(super) fn read_what_can_be(bytes: &'a [u8]) -> Self {
        Self(Values(bytes).map_while(Result::ok).collect())
    }

    /// Every value of a field.
    pub(super) fn all(&self, number: u32) -> impl Iterator<Item = Raw<'a>> {
        self.0.iter().filter(move |(of, _)| *of == number).map(|(_, raw)| *raw)
    }

    /// The value of a field that has one; the last if it was sent again.
    pub(super) fn one(&self, number: u32) -> Option<Raw<'a>> {
        self.all(number).last()
    }

    /// The text or message of a field, empty if there is none.
    pub(super) fn bytes(&self, number: u32) -> &'a [u8] {
        match self.one(number) {
            Some(Raw::Bytes(bytes)) => bytes,
            Some(Raw::Number(_)) | None => &[],
        }
    }
}

/// Seven bits in each byte, the lowest first; the highest bit of a byte says that more follow.
fn varint(rest: &mut &[u8]) -> Result<u64, NoMessage> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, left) = rest.split_first().ok_or(NoMessage)?;
        *rest = left;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(NoMessage)
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Result<&'a [u8], NoMessage> {
    let length = usize::try_from(length).map_err(|_| NoMessage)?;
    let (taken, left) = rest.split_at_checked(length).ok_or(NoMessage)?;
    *rest = left;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_values_are_read_in_their_order() {
        let fixed = [&b"\x0d1234"[..], b"\x1112345678"].concat();
        let bytes = [&b"\x08\x96\x01\x12\x02ab"[..], &fixed, b"\x08\x07\x12\x00"].concat();
        let message = Message::read(&bytes).expect("a message");
        let values = [(1, Raw::Number(150)), (2, Raw::Bytes(b"ab")), (1, Raw::Number(7)), (2, Raw::Bytes(b""))];
        assert_eq!(message.0, values);
        assert_eq!(message.all(1).collect::<Vec<_>>(), [Raw::Number(150), Raw::Number(7)]);
        assert_eq!((message.one(1), message.bytes(2)), (Some(Raw::Number(7)), &b""[..]), "the last counts");
        assert_eq!((message.bytes(1), message.one(3)), (&b""[..], None), "of another type, or absent");
        assert_eq!((number_of(&bytes, 1), bytes_of(&bytes, 2)), (Ok(7), Ok(&b""[..])), "the last counts");
        assert_eq!(bytes_of(&bytes[..7], 2), Ok(&b"ab"[..]));
        assert_eq!((number_of(&bytes, 2), bytes_of(&bytes, 1)), (Ok(0), Ok(&b""[..])), "of another type");
        assert_eq!((number_of(&bytes, 3), bytes_of(&bytes, 3)), (Ok(0), Ok(&b""[..])), "absent");
        let negative = [b"\x08", &[0xff; 9][..], b"\x01"].concat();
        assert_eq!(number_of(&negative, 1).map(u64::cast_signed), Ok(-1));
    }

    #[test]
    fn what_is_cut_off_or_nothing_is_malformed() {
        let endless = [0xff; 11];
        let too_large = b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x";
        for bytes in [&b"\x08"[..], b"\x12\x05abcd", b"\x0d123", b"\x111234567", b"\x0b", b"\x0c", &endless, too_large]
        {
            assert_eq!(Message::read(bytes), Err(NoMessage), "{bytes:?}");
            assert_eq!(bytes_of(bytes, 7), Err(NoMessage), "{bytes:?}");
        }
    }
}
