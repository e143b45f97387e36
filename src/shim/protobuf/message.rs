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

/// The values of one message, in their order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message<'a>(Vec<(u32, Raw<'a>)>);

impl<'a> Message<'a> {
    /// Reads a message. The fixed-width types are passed over: no field that is read here has them. Groups, which
    /// protobuf 3 and Kubernetes do not have, are malformed.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, NoMessage> {
        let mut message = Self(Vec::new());
        message.append(bytes).map(|()| message)
    }

    /// The values before the first one that cannot be read.
    pub(super) fn read_what_can_be(bytes: &'a [u8]) -> Self {
        let mut message = Self(Vec::new());
        let _ = message.append(bytes);
        message
    }

    fn append(&mut self, mut rest: &'a [u8]) -> Result<(), NoMessage> {
        let Self(values) = self;
        while !rest.is_empty() {
            let key = varint(&mut rest)?;
            let number = u32::try_from(key >> 3).map_err(|_| NoMessage)?;
            match key & 7 {
                0 => values.push((number, Raw::Number(varint(&mut rest)?))),
                1 => drop(take(&mut rest, 8)?),
                2 => {
                    let length = varint(&mut rest)?;
                    values.push((number, Raw::Bytes(take(&mut rest, length)?)));
                }
                5 => drop(take(&mut rest, 4)?),
                _ => return Err(NoMessage),
            }
        }
        Ok(())
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

    /// The number of a field, 0 if there is none.
    pub(super) fn number(&self, number: u32) -> u64 {
        match self.one(number) {
            Some(Raw::Number(number)) => number,
            Some(Raw::Bytes(_)) | None => 0,
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
        assert_eq!((message.number(1), message.bytes(2)), (7, &b""[..]), "the last counts");
        assert_eq!(
            (message.number(2), message.bytes(1), message.one(3)),
            (0, &b""[..], None),
            "of another type, or absent"
        );
        let negative = [b"\x08", &[0xff; 9][..], b"\x01"].concat();
        assert_eq!(Message::read(&negative).map(|message| message.number(1).cast_signed()), Ok(-1));
    }

    #[test]
    fn what_is_cut_off_or_nothing_is_malformed() {
        let endless = [0xff; 11];
        let too_large = b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x";
        for bytes in [&b"\x08"[..], b"\x12\x05abcd", b"\x0d123", b"\x111234567", b"\x0b", b"\x0c", &endless, too_large]
        {
            assert_eq!(Message::read(bytes), Err(NoMessage), "{bytes:?}");
        }
    }
}
