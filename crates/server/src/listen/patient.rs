//! A stream whose other end must read what is sent to it.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A stream that fails when there is something to write and the other end takes nothing of it for a while.
/// Without it, a client that does not read holds a connection, and the bytes that wait in it, as long as it
/// likes.
#[derive(Debug)]
pub(crate) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Runs while nothing is taken.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            stuck: None,
        }
    }

    /// Passes on the result of writing, unless there was no progress for too long.
    fn within_patience<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let stuck = self
            .stuck
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(self.patience)));
        match stuck.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.within_patience(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.within_patience(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        // A flush that has nothing to do is no progress.
        match flushed {
            Poll::Ready(Ok(())) if self.stuck.is_some() => Poll::Ready(Ok(())),
            flushed => self.within_patience(context, flushed),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.within_patience(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn who_takes_nothing_is_given_up() {
        let (ours, theirs) = tokio::io::duplex(1024);
        let mut patient = Patient::new(ours, Duration::from_millis(20));
        let error = patient.write_all(&[0; 4096]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(theirs);
    }

    /// The wait begins anew for each part: a client that reads slowly gets everything.
    #[tokio::test]
    async fn who_takes_it_slowly_gets_everything() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let mut patient = Patient::new(ours, Duration::from_secs(3600));
        let sent = tokio::spawn(async move { patient.write_all(&[7; 1024]).await });
        let mut taken = Vec::new();
        let mut part = [0; 16];
        while taken.len() < 1024 {
            let count = theirs.read(&mut part).await.unwrap();
            taken.extend_from_slice(&part[..count]);
        }
        sent.await.unwrap().unwrap();
        assert_eq!(taken, [7; 1024]);
    }
}
