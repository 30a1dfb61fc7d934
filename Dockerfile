# The container of a release, for amd64 and arm64: the program of the Debian package, run by its own user; not tested.
# The packages are in dist/release, built there or downloaded:
#
#   npx -y bun@1.4.5 run release
#   docker build -t profile-lookup .
#   docker buildx build --platform linux/amd64,linux/arm64 -t profile-lookup .
#
# deploy/compose.yaml runs it behind Caddy. Alone, it needs PUBLIC_URL and either a certificate (TLS_CERT_FILE and
# TLS_KEY_FILE, mounted) or the proxy's IP address as the container sees it, with 127.0.0.1 for its own health check:
#   TRUSTED_PROXIES=127.0.0.1,172.17.0.1
# Nothing is written outside /data and /tmp, so it can run with --read-only --tmpfs /tmp.

FROM debian:bookworm-slim AS package
COPY dist/release/profile-lookup_*.deb /packages/
RUN dpkg-deb --extract /packages/profile-lookup_*_"$(dpkg --print-architecture)".deb /unpacked

# The program needs glibc, and `id` to name the actor; certificate authorities are built in.
FROM debian:bookworm-slim
RUN groupadd --gid 10001 profile-lookup \
 && useradd --no-log-init --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin profile-lookup \
 && install -d -m 0700 -o profile-lookup -g profile-lookup /data
COPY --from=package /unpacked/usr/bin/profilectl /usr/bin/profilectl
COPY --from=package /unpacked/usr/share/doc/profile-lookup/copyright /usr/share/doc/profile-lookup/copyright
USER profile-lookup
WORKDIR /data
ENV DATABASE_PATH=/data/profiles.db HOST=0.0.0.0 PORT=3000
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s --retries=3 CMD ["profilectl", "healthcheck"]
ENTRYPOINT ["profilectl"]
CMD ["serve"]
