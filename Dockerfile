# The program in it is the tested binary. docs/operating.md says how far the container was tried.
#
#   docker build --build-arg COMMIT="$(git rev-parse --short=7 HEAD)" -t profile-lookup .
#
# deploy/compose.yaml runs it behind Caddy. Alone, it wants PUBLIC_URL and either a certificate (TLS_CERT_FILE and
# TLS_KEY_FILE, mounted) or the proxy's address as the container sees it, with 127.0.0.1 for its own health check:
#   TRUSTED_PROXIES=127.0.0.1,172.17.0.1

FROM oven/bun:1.4.5-debian AS build
WORKDIR /source
COPY package.json bun.lock bunfig.toml tsconfig.json ./
RUN bun install --frozen-lockfile --production
COPY drizzle drizzle
COPY shared shared
COPY server server
COPY cli cli
ARG COMMIT=
RUN bun cli/build.ts dist/profilectl "$COMMIT"

# The binary needs glibc, and `id` to name who acts; certificate authorities are inside it.
FROM debian:bookworm-slim
RUN groupadd --system --gid 10001 profile-lookup \
 && useradd --system --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin profile-lookup \
 && install -d -m 0700 -o profile-lookup -g profile-lookup /data
COPY --from=build /source/dist/profilectl /usr/local/bin/profilectl
USER profile-lookup
WORKDIR /data
ENV DATABASE_PATH=/data/profiles.db HOST=0.0.0.0 PORT=3000
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s --retries=3 CMD ["profilectl", "healthcheck"]
ENTRYPOINT ["profilectl"]
CMD ["serve"]
