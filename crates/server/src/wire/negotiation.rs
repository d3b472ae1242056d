//! The first bytes of a connection: a request for encryption, or to cancel something. Everything else is
//! refused.
//!
//! Bytes that arrive before the handshake of TLS are read exactly and never handed on. Otherwise bytes that
//! an attacker on the network put in front of it would count as the client's.

use crate::listen::Patient;
use bytes::{BufMut as _, BytesMut};
use pgwire::messages::cancel::CancelRequest;
use pgwire::messages::{DecodeContext, PgWireFrontendMessage, ProtocolVersion};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
const CANCEL: u32 = 80_877_102;
/// The first byte of a handshake of TLS.
const HANDSHAKE: u8 = 0x16;
/// What a client says before it may ask for encryption: once for each kind, and then it has to decide.
const MOST_WISHES: usize = 3;

/// The result.
pub(super) enum Negotiated {
    /// A connection that nobody else reads.
    Encrypted(Box<TlsStream<Patient<TcpStream>>>),
    /// Somebody wants to cancel what another connection waits for.
    Cancel(CancelRequest),
    /// It was told why not.
    Refused,
}

/// What a client wants first.
pub(super) enum Wish {
    Tls,
    Gss,
    Cancel(CancelRequest),
    /// Something that must be encrypted.
    Other,
}

/// Reads the first bytes, and shakes hands.
pub(super) async fn negotiate(
    mut stream: TcpStream,
    acceptor: &TlsAcceptor,
    patience: Duration,
) -> io::Result<Negotiated> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0] == HANDSHAKE {
        let encrypted = acceptor.accept(Patient::new(stream, patience)).await?;
        // Without the protocol's name in it this may be a handshake that was meant for another server.
        return Ok(match encrypted.get_ref().1.alpn_protocol() {
            Some(b"postgresql") => Negotiated::Encrypted(Box::new(encrypted)),
            _ => Negotiated::Refused,
        });
    }
    for _ in 0..MOST_WISHES {
        match wish(&mut stream).await? {
            Wish::Tls => {
                stream.write_all(b"S").await?;
                let encrypted = acceptor.accept(Patient::new(stream, patience)).await?;
                return Ok(Negotiated::Encrypted(Box::new(encrypted)));
            }
            Wish::Gss => stream.write_all(b"N").await?,
            // Older clients cancel without encryption. The key that they send is good for that alone.
            Wish::Cancel(request) => return Ok(Negotiated::Cancel(request)),
            Wish::Other => {
                refuse(&mut stream).await?;
                break;
            }
        }
    }
    Ok(Negotiated::Refused)
}

/// Reads what a client wants, and no byte after it.
pub(super) async fn wish(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Wish> {
    let mut head = [0; 8];
    stream.read_exact(&mut head).await?;
    let [a, b, c, d, e, f, g, h] = head;
    let (length, code) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
    Ok(match (length, code) {
        (8, SSL) => Wish::Tls,
        (8, GSS) => Wish::Gss,
        (16..=268, CANCEL) => {
            let mut rest = vec![0; length as usize - 8];
            stream.read_exact(&mut rest).await?;
            cancel(&head, &rest).map_or(Wish::Other, Wish::Cancel)
        }
        _ => Wish::Other,
    })
}

fn cancel(head: &[u8], rest: &[u8]) -> Option<CancelRequest> {
    let mut bytes = BytesMut::from(head);
    bytes.put_slice(rest);
    let mut context = DecodeContext::new(match rest.len() {
        8 => ProtocolVersion::PROTOCOL3_0,
        _ => ProtocolVersion::PROTOCOL3_2,
    });
    context.awaiting_frontend_ssl = false;
    match PgWireFrontendMessage::decode(&mut bytes, &context) {
        Ok(Some(PgWireFrontendMessage::CancelRequest(request))) => Some(request),
        _ => None,
    }
}

/// Says, in the clear, that it must be encrypted.
async fn refuse(stream: &mut TcpStream) -> io::Result<()> {
    let mut body = BytesMut::new();
    for (field, text) in [
        (b'S', "FATAL"),
        (b'V', "FATAL"),
        (b'C', "28000"),
        (b'M', "connections to Deniable are encrypted"),
        (
            b'H',
            "connect with sslmode=require, or better with sslmode=verify-full and the server's certificate",
        ),
    ] {
        body.put_u8(field);
        body.put_slice(text.as_bytes());
        body.put_u8(0);
    }
    body.put_u8(0);
    let mut message = BytesMut::new();
    message.put_u8(b'E');
    message.put_u32(4 + body.len() as u32);
    message.put_slice(&body);
    stream.write_all(&message).await?;
    stream.shutdown().await
}
