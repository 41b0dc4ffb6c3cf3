# The gateway as an image. Give it a DATABASE_URL and a configuration:
#   docker build -t hookonce .
#   docker run -p 4400:4400 -e DATABASE_URL=… -e STRIPE_WEBHOOK_SECRET=… -v ./hookonce.json:/app/hookonce.json hookonce
FROM node:20-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
# The compiler comes in an optional package; the embedded PostgreSQL does too, and goes again below.
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev --omit=optional --ignore-scripts

FROM node:20-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /src/package.json /opt/hookonce/
COPY --from=build /src/node_modules /opt/hookonce/node_modules
COPY --from=build /src/dist /opt/hookonce/dist
RUN ln -s /opt/hookonce/dist/cli/bin.js /usr/local/bin/hookonce
USER node
EXPOSE 4400
# Node as process 1 gets SIGTERM and drains; give it 30 s before it is killed.
CMD ["hookonce", "serve"]
