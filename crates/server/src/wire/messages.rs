//! Messages of a client: read to their end, no longer than allowed, and checked to be well-formed before they
//! are parsed.

use super::connection::Connection;
use super::sign_in::reported;
use crate::memory::Reservation;
use bytes::{Buf as _, BytesMut};
use pgwire::api::{ClientInfo, PgWireConnectionState};
use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use pgwire::messages::{DecodeContext, PgWireFrontendMessage};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// The longest message once somebody has signed in: a query with its parameters.
const LONGEST: usize = 1 << 20;
/// The longest one before.
const LONGEST_UNKNOWN: usize = 8 << 10;
/// What is not counted of a message: there are no more of them than connections.
const SMALL: usize = 16 << 10;
/// The longest name of a statement or a portal. Clients number theirs.
const LONGEST_NAME: usize = 1 << 10;
/// The most rows that a portal hands out at once.
const MOST_ROWS: i32 = 200_000;
/// How long the rest of a message may take once it has begun.
const MESSAGE: Duration = Duration::from_secs(30);

/// Where messages come from.
pub(super) struct Inbox<R> {
    reading: R,
    /// Whether the next message with a password is the first one, which names the mechanism.
    names_mechanism: bool,
    /// The bytes of the message that was received last.
    reserved: Option<Reservation>,
}

impl<R: AsyncRead + Unpin> Inbox<R> {
    pub(super) fn new(reading: R) -> Self {
        Self {
            reading,
            names_mechanism: true,
            reserved: None,
        }
    }

    /// The next message; `None` if the client has hung up, or does not go on with what it has begun.
    pub(super) async fn receive(
        &mut self,
        client: &impl ClientInfo,
    ) -> PgWireResult<Option<PgWireFrontendMessage>> {
        // The message before this one is done with.
        self.reserved = None;
        let mut first = [0];
        if self.reading.read(&mut first).await? == 0 {
            return Ok(None);
        }
        match tokio::time::timeout(MESSAGE, self.rest(first[0], client)).await {
            Ok(received) => received,
            Err(_) => Ok(None),
        }
    }

    /// The rest of a message after its first byte.
    async fn rest(
        &mut self,
        first: u8,
        client: &impl ClientInfo,
    ) -> PgWireResult<Option<PgWireFrontendMessage>> {
        let starting = matches!(client.state(), PgWireConnectionState::AwaitingStartup);
        let unknown = starting || matches!(client.state(), PgWireConnectionState::AuthenticationInProgress);
        // The first message has no byte for its kind.
        let head = if starting { 4 } else { 5 };
        let mut bytes = BytesMut::zeroed(head);
        bytes[0] = first;
        match self.reading.read_exact(&mut bytes[1..]).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        };
        let length = (&bytes[head - 4..]).get_u32() as usize;
        let body = length.checked_sub(4).ok_or_else(malformed)?;
        if body > if unknown { LONGEST_UNKNOWN } else { LONGEST } {
            return Err(fatal("54000", "a message is longer than this server takes"));
        }
        if body > SMALL
            && let Some(connection) = client.session_extensions().get::<Connection>()
        {
            let reserved = connection.room.reserve(body);
            self.reserved = Some(reserved.map_err(|failure| reported(&failure, "FATAL"))?);
        }
        bytes.resize(head + body, 0);
        self.reading.read_exact(&mut bytes[head..]).await?;
        if !starting {
            self.check(first, &bytes[head..])?;
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

    /// Whether a message can be parsed.
    fn check(&mut self, kind: u8, body: &[u8]) -> PgWireResult<()> {
        let well_formed = match kind {
            b'p' if std::mem::take(&mut self.names_mechanism) => names_mechanism(body),
            // What follows is a text of the mechanism, which reads it as one that may be anything.
            b'p' => true,
            _ => is_well_formed(kind, body),
        };
        if !well_formed {
            return Err(malformed());
        }
        match names(kind, body).all(|name| name.len() <= LONGEST_NAME) {
            true => Ok(()),
            false => Err(fatal(
                "42622",
                "the name of a statement or a portal is longer than 1 KiB",
            )),
        }
    }
}

fn malformed() -> PgWireError {
    fatal("08P01", "a message is malformed")
}

pub(super) fn fatal(code: &str, what: &str) -> PgWireError {
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
        b'S' | b'H' | b'X' | b'c' => Some(()),
        b'd' => return true,
        b'f' => body.text(),
        _ => None,
    };
    whole.is_some() && body.0.is_empty()
}

/// Whether a body has the name of a mechanism and as many bytes for it as it says, or none.
fn names_mechanism(body: &[u8]) -> bool {
    let mut body = Body(body);
    body.text().and_then(|()| body.value()).is_some() && body.0.is_empty()
}

/// The names of statements and portals in a message that is well-formed.
fn names(kind: u8, body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (skipped, count) = match kind {
        b'P' | b'E' => (0, 1),
        b'B' => (0, 2),
        b'D' | b'C' => (1, 1),
        _ => (0, 0),
    };
    let named = body.get(skipped..).unwrap_or_default();
    named.split(|&byte| byte == 0).take(count)
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

    /// A number of values, and the values.
    fn values(&mut self) -> Option<()> {
        (0..self.count()?).try_for_each(|_| self.value())
    }

    /// A value after its length; −1 stands for none.
    fn value(&mut self) -> Option<()> {
        let &[a, b, c, d, ..] = self.0 else {
            return None;
        };
        self.skip(4)?;
        match i32::from_be_bytes([a, b, c, d]) {
            -1 => Some(()),
            length => self.skip(usize::try_from(length).ok()?),
        }
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
    fn the_first_message_with_a_password_has_its_parts() {
        assert!(names_mechanism(b"SCRAM-SHA-256\0\0\0\0\x03n,,"));
        assert!(names_mechanism(b"SCRAM-SHA-256\0\xff\xff\xff\xff"));
        for body in [
            &b""[..],
            b"\0",
            b"SCRAM-SHA-256",
            b"SCRAM-SHA-256\0",
            b"SCRAM-SHA-256\0\0\0\0",
            b"SCRAM-SHA-256\0\0\0\0\x04n,,",
            b"SCRAM-SHA-256\0\x7f\xff\xff\xffn,,",
            b"SCRAM-SHA-256\0\x80\0\0\0n,,",
            b"SCRAM-SHA-256\0\0\0\0\x02n,,",
        ] {
            assert!(!names_mechanism(body), "{}", body.escape_ascii());
        }
    }

    #[test]
    fn long_names_are_refused_before_anybody_keeps_them() {
        let mut inbox = Inbox::new(tokio::io::empty());
        let long = "x".repeat(LONGEST_NAME + 1);
        let refused = |outcome: PgWireResult<()>| outcome.unwrap_err().code() == "42622";
        let parse = format!("{long}\0SELECT 1\0\0\0");
        assert!(refused(inbox.check(b'P', parse.as_bytes())));
        let bind = |portal: &str, statement: &str| format!("{portal}\0{statement}\0\0\0\0\0\0\0");
        assert!(refused(inbox.check(b'B', bind(&long, "").as_bytes())));
        assert!(refused(inbox.check(b'B', bind("", &long).as_bytes())));
        assert!(inbox.check(b'B', bind("a", "b").as_bytes()).is_ok());
        assert!(refused(inbox.check(b'C', format!("S{long}\0").as_bytes())));
        assert!(inbox.check(b'Q', format!("{long}\0").as_bytes()).is_ok());
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
        let kinds = b"QPBDCESHXcdf";
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
