# The gateway as an image. Give it a DATABASE_URL and a configuration:
#   docker build -t hookonce .
#   docker run --read-only --cap-drop ALL --security-opt no-new-privileges -p 4400:4400 \
#     -e DATABASE_URL=… -e STRIPE_WEBHOOK_SECRET=… -e FORWARD_SECRET=… -v ./hookonce.config.yaml:/app/hookonce.config.yaml:ro hookonce
# The base is pinned by its digest, so that a build today is a build tomorrow. Raise both parts together.
ARG NODE_IMAGE=node:24.18.0-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
# The compiler comes in an optional package.
RUN npm ci --ignore-scripts
COPY . .
# nodemailer, for alerts by mail, is an optional peer without dependencies: pruning would remove it.
RUN npm run build && cp -r node_modules/nodemailer /nodemailer \
      && npm prune --omit=dev --omit=optional --ignore-scripts && mv /nodemailer node_modules/nodemailer

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
# Nothing is installed in the image: what only an attacker would use goes.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn-* \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg
WORKDIR /app
COPY --from=build /src/package.json /opt/hookonce/
COPY --from=build /src/node_modules /opt/hookonce/node_modules
COPY --from=build /src/dist /opt/hookonce/dist
RUN ln -s /opt/hookonce/dist/cli/bin.js /usr/local/bin/hookonce
# By number, so that Kubernetes can see that it is not root (runAsNonRoot).
USER 1000:1000
# Deliveries. The admin listener (4401) is on the loopback of the container, unless it has a token.
EXPOSE 4400
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4401/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node as process 1 gets SIGTERM and drains for 8 s, which is less than the 10 s after which Docker kills.
CMD ["hookonce", "serve"]
