# The image of the service: it serves its volume, or PostgreSQL with RELATA_DATABASE_URL (compose.yaml).
# The version is that of the optional dependencies (docs/decisions/0002), whose own binary is therefore left out.
FROM node:26.10.0-slim AS packages
WORKDIR /opt/relata
COPY package.json package-lock.json ./
COPY server/package.json server/
COPY client/package.json client/
COPY console/package.json console/
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

# The console and the documentation are built here and only their files go on: what builds them is not in the image.
FROM packages AS console
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY client client
COPY clients clients
COPY console console
COPY docs docs
COPY site site
COPY ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md ./
RUN npm run build

FROM node:26.10.0-slim
ENV NODE_ENV=production \
    RELATA_HOST=0.0.0.0 \
    RELATA_PORT=4810 \
    RELATA_DATA_DIR=/var/lib/relata
WORKDIR /opt/relata
RUN install -d -o node -g node -m 0700 /var/lib/relata
# Root's, so that the service cannot change its own program.
COPY --from=packages /opt/relata ./
COPY LICENSE ./
COPY server/migrations server/migrations
COPY server/src server/src
COPY --from=console /opt/relata/client/dist client/dist
COPY --from=console /opt/relata/console/dist console/dist
COPY --from=console /opt/relata/site/dist site/dist
USER node
VOLUME /var/lib/relata
EXPOSE 4810
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.RELATA_PORT}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "server/src/main.ts"]
CMD ["serve"]
