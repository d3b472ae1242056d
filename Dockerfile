# syntax=docker/dockerfile:1
# The server as a container: small, not root, the ledger on a volume.
#
#   docker build --tag deniable .                  builds everything from this checkout; that takes over an hour
#   docker run --volume clinic:/srv/deniable --publish 8443:8443 --publish 5433:5433 deniable
#
# The volume holds the catalog `deniable.toml`, the ledger with its key, the certificate and its key, and the data if it is in files. It outlives the container: without its ledger, the budget
# could be spent again.
#
# The release workflow gives the stage `built` what it has built already: --build-context built=FOLDER, with the programs as FOLDER/out/amd64/deniable and FOLDER/out/arm64/deniable.
FROM rust:1.95-bookworm AS built
ARG TARGETARCH
COPY . /src
RUN cd /src \
    && cargo build --release --locked --package deniable-cli \
    && install -D target/release/deniable "/out/${TARGETARCH}/deniable"

FROM debian:bookworm-slim
ARG TARGETARCH
LABEL org.opencontainers.image.title="Deniable" \
      org.opencontainers.image.description="Differential privacy that can be checked: private SQL for many analysts under one budget" \
      org.opencontainers.image.source="https://github.com/deniable-dp/deniable" \
      org.opencontainers.image.licenses="Apache-2.0 OR MIT"
# Certificates for a ledger in PostgreSQL and tables in object storage, curl for the health check.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --create-home --home-dir /srv/deniable --shell /usr/sbin/nologin deniable
COPY --from=built --chmod=0755 /out/${TARGETARCH}/deniable /usr/local/bin/deniable
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/deniable/
USER 10001:10001
WORKDIR /srv/deniable
VOLUME /srv/deniable
ENV DENIABLE_INCIDENTS=/srv/deniable/incidents
EXPOSE 8443 5433
# Questions that were charged are finished first, for up to a minute.
STOPSIGNAL SIGTERM
# Of the curators' address, which stays on the container's loopback. Its certificate is for another name.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["curl", "--fail", "--silent", "--show-error", "--insecure", "--output", "/dev/null", "https://127.0.0.1:8444/healthz"]
ENTRYPOINT ["deniable"]
CMD ["serve", "--catalog", "deniable.toml", "--http", "0.0.0.0:8443", "--wire", "0.0.0.0:5433", "--certificate", "server.crt", "--key", "server.key"]
