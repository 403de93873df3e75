# syntax=docker/dockerfile:1

# --- build: all dependencies, TypeScript to JavaScript ------------------------------------------------
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
# Manifests first: the layer with the dependencies is kept until they change.
COPY package.json package-lock.json .npmrc ./
# The npm package `node` is a dev dependency whose install script unpacks a second Node; the image has its own.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts

# --- run: the compiled program and what it imports ----------------------------------------------------
FROM node:24.21.0-bookworm-slim AS run
LABEL org.opencontainers.image.title="mz-iceberg-sink" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production \
    TMPDIR=/var/lib/mz-iceberg-sink/spill
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
# Rows beyond the memory budget spill here. Progress lives in the Iceberg table alone, so losing it costs nothing.
RUN install --directory --owner=node --group=node --mode=0700 /var/lib/mz-iceberg-sink/spill
VOLUME ["/var/lib/mz-iceberg-sink/spill"]
USER node
# node is PID 1 and gets SIGTERM itself; the sink then finishes or abandons its commit. Allow it 30 s.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "dist/main.js"]
CMD ["--help"]
# No HEALTHCHECK: the process ends by itself when it has to stop, and being behind is no reason to be killed.
