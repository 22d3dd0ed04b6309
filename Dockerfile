# docker build -t parley .                     servers, hosts, agents and orchestrators
# docker build -t parley --target pages .      pages too: with Chromium
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /parley ./cmd/parley && mkdir /empty

FROM debian:stable-slim AS chromium
COPY internal/image/browser.sh /
RUN apt-get update \
 && apt-get install -y --no-install-recommends chromium-headless-shell ca-certificates \
 && sh /browser.sh /browser

FROM debian:stable-slim AS pages
COPY --from=chromium /browser/ /
RUN useradd --uid 65532 --create-home parley
COPY --from=build /parley /usr/bin/parley
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/usr/bin/parley"]
CMD ["--help"]

FROM scratch AS plain
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 --chmod=1777 /empty /tmp
COPY --from=build --chown=65532:65532 /empty /work
COPY --from=build /parley /usr/bin/parley
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/usr/bin/parley"]
CMD ["--help"]
