//! Messages of a client: read to their end, no longer than they may be, and well-formed before anybody takes them apart.

use bytes::BytesMut;
use pgwire::api::{ClientInfo, PgWireConnectionState};
use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use pgwire::messages::{DecodeContext, PgWireFrontendMessage};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// The longest message once somebody has signed in: a query with its parameters.
const LONGEST: usize = 1 << 20;
/// The longest one before.
const LONGEST_UNKNOWN: usize = 8 << 10;
/// The most rows that a portal hands out at once.
const MOST_ROWS: i32 = 200_000;

/// Where messages come from.
pub(super) struct Inbox<R> {
    reading: R,
}

impl<R: AsyncRead + Unpin> Inbox<R> {
    pub(super) fn new(reading: R) -> Self {
        Self { reading }
    }

    /// The next message; `None` where the client has hung up.
    pub(super) async fn receive(
        &mut self,
        client: &impl ClientInfo,
    ) -> PgWireResult<Option<PgWireFrontendMessage>> {
        let starting = matches!(client.state(), PgWireConnectionState::AwaitingStartup);
        let unknown = starting || matches!(client.state(), PgWireConnectionState::AuthenticationInProgress);
        let mut bytes = BytesMut::new();
        if !starting {
            let mut kind = [0];
            if self.reading.read(&mut kind).await? == 0 {
                return Ok(None);
            }
            bytes.extend_from_slice(&kind);
        }
        let mut length = [0; 4];
        match self.reading.read_exact(&mut length).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        };
        let body = (u32::from_be_bytes(length) as usize)
            .checked_sub(4)
            .ok_or_else(malformed)?;
        if body > if unknown { LONGEST_UNKNOWN } else { LONGEST } {
            return Err(fatal("54000", "a message is longer than this server takes"));
        }
        bytes.extend_from_slice(&length);
        let head = bytes.len();
        bytes.resize(head + body, 0);
        self.reading.read_exact(&mut bytes[head..]).await?;
        if !starting && !is_well_formed(bytes[0], &bytes[head..]) {
            return Err(malformed());
        }
        let mut context = DecodeContext::new(client.protocol_version());
        context.awaiting_frontend_ssl = false;
        context.awaiting_frontend_startup = starting;
        let mut message = PgWireFrontendMessage::decode(&mut bytes, &context)
            .map_err(|_| malformed())?
            .ok_or_else(malformed)?;
        if let PgWireFrontendMessage::Execute(execute) = &mut message {
            // No limit is written as 0, or as anything below.
            execute.max_rows = execute.max_rows.clamp(0, MOST_ROWS);
        }
        Ok(Some(message))
    }
}

fn malformed() -> PgWireError {
    fatal("08P01", "a message is malformed")
}

fn fatal(code: &str, what: &str) -> PgWireError {
    PgWireError::UserError(Box::new(ErrorInfo::new(
        "FATAL".to_owned(),
        code.to_owned(),
        what.to_owned(),
    )))
}

/// Whether a body has the parts that a message of its kind has, each within it.
fn is_well_formed(kind: u8, body: &[u8]) -> bool {
    let mut body = Body(body);
    let whole = match kind {
        b'Q' => body.text(),
        b'P' => body
            .text()
            .and_then(|()| body.text())
            .and_then(|()| body.fixed(4)),
        b'B' => body
            .text()
            .and_then(|()| body.text())
            .and_then(|()| body.fixed(2))
            .and_then(|()| body.values())
            .and_then(|()| body.fixed(2)),
        b'D' | b'C' => body.skip(1).and_then(|()| body.text()),
        b'E' => body.text().and_then(|()| body.skip(4)),
        // Whoever signs in: what is in it is read by what checks it, which expects anything.
        b'p' => return body.0.len() >= 2,
        b'S' | b'H' | b'X' | b'c' => Some(()),
        b'd' => return true,
        b'f' => body.text(),
        _ => None,
    };
    whole.is_some() && body.0.is_empty()
}

/// What is left of a body.
struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    /// UTF-8 up to a zero byte.
    fn text(&mut self) -> Option<()> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&self.0[..end]).ok()?;
        self.skip(end + 1)
    }

    fn count(&mut self) -> Option<usize> {
        let &[high, low, ..] = self.0 else {
            return None;
        };
        self.skip(2)?;
        Some(usize::from(u16::from_be_bytes([high, low])))
    }

    /// A number of items, and the items, each of this many bytes.
    fn fixed(&mut self, size: usize) -> Option<()> {
        let count = self.count()?;
        self.skip(count * size)
    }

    /// A number of values, and the values, each after its length.
    fn values(&mut self) -> Option<()> {
        for _ in 0..self.count()? {
            let &[a, b, c, d, ..] = self.0 else {
                return None;
            };
            self.skip(4)?;
            match i32::from_be_bytes([a, b, c, d]) {
                -1 => {}
                length => self.skip(usize::try_from(length).ok()?)?,
            }
        }
        Some(())
    }
}

/// Where answers go. Nothing is read from it: messages come from the [`Inbox`].
pub(super) struct Outbox<W>(pub(super) W);

impl<W: Unpin> AsyncRead for Outbox<W> {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Outbox<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_their_parts_and_nothing_else() {
        assert!(is_well_formed(b'Q', b"SELECT 1\0"));
        assert!(!is_well_formed(b'Q', b"SELECT 1"));
        assert!(!is_well_formed(b'Q', b"SELECT 1\0x"));
        assert!(!is_well_formed(b'Q', b"\xff\0"));
        assert!(is_well_formed(b'P', b"\0SELECT 1\0\0\x01\0\0\0\x17"));
        assert!(!is_well_formed(b'P', b"\0SELECT 1\0\0\x02\0\0\0\x17"));
        assert!(is_well_formed(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xff\0\0"));
        assert!(!is_well_formed(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0"));
        assert!(!is_well_formed(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0"));
        assert!(!is_well_formed(b'B', b"\0\0\xff\xff"));
        assert!(is_well_formed(b'E', b"\0\0\0\0\0"));
        assert!(!is_well_formed(b'E', b"\0\0\0\0"));
        assert!(!is_well_formed(b'z', b""));
    }

    #[test]
    fn what_is_well_formed_is_taken_apart_without_a_panic() {
        let mut state = 7_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 40) as u8
        };
        let kinds = b"QPBDCESHXcdfp";
        let mut taken = 0;
        for round in 0..200_000 {
            let kind = kinds[round % kinds.len()];
            let body: Vec<u8> = (0..next() % 24)
                .map(|_| [0, 0, 0, 1, 2, b'S', b'x', 255][usize::from(next() % 8)])
                .collect();
            if is_well_formed(kind, &body) {
                let mut bytes = BytesMut::new();
                bytes.extend_from_slice(&[kind]);
                bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
                bytes.extend_from_slice(&body);
                let mut context = DecodeContext::default();
                context.awaiting_frontend_ssl = false;
                context.awaiting_frontend_startup = false;
                let _ = PgWireFrontendMessage::decode(&mut bytes, &context);
                taken += 1;
            }
        }
        assert!(taken > 10_000, "{taken}");
    }
}
