# The proxy alone, as its release build, in an image that holds little else.
#   docker build -t mcscope .        or, without an engine:   ./dev image
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
# The packages first: they stay cached while the sources change.
COPY scripts/packages.sh scripts/
RUN bash -euc 'source scripts/packages.sh && need building "${packages_build[@]}"'
COPY . .
RUN ./dev build

FROM ${BASE}
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    libabsl20220623 libevent-core-2.1-7 libevent-extra-2.1-7 libfmt9 libprometheus-cpp-core1.0 \
    libspdlog1.10 \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin mcscope
COPY --from=build /src/build/release/bin/mcscope /usr/local/bin/mcscope
USER mcscope
EXPOSE 11212 9151
HEALTHCHECK --interval=10s --timeout=3s CMD ["bash", "-c", \
  "exec 3<>/dev/tcp/127.0.0.1/9151 && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && grep -q ' 200 ' <&3"]
ENTRYPOINT ["mcscope"]
# A container's loopback is nobody else's: listen where the other containers can reach it.
CMD ["--listen=0.0.0.0:11212", "--admin=0.0.0.0:9151", "--upstream=memcached:11211"]
