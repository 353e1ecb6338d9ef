# The emulator as a sidecar: name server, broker and gRPC proxy in one small process.
#
#   docker build -t rocketmq-emulator .
#   docker run --rm -p 9876:9876 -p 10911:10911 -p 8081:8081 -p 127.0.0.1:8090:8090 rocketmq-emulator --topic orders
#
# If pip needs a configuration or a certificate bundle of its own, pass them as secrets, which leave no trace in the
# image: --secret id=pip_conf,src=$HOME/.config/pip/pip.conf --secret id=ca_bundle,src=...

ARG DEBIAN=debian:bookworm-slim

FROM ${DEBIAN} AS python
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

FROM python AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv
RUN python3 -m venv /opt/rocketmq-testkit
WORKDIR /source
COPY . .
RUN --mount=type=secret,id=pip_conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca_bundle,target=/etc/ssl/certs/ca-certificates.crt \
    /opt/rocketmq-testkit/bin/pip wheel --disable-pip-version-check --no-deps --wheel-dir /wheels . \
    && /opt/rocketmq-testkit/bin/pip install --disable-pip-version-check --no-cache-dir \
        "$(ls /wheels/rocketmq_testkit-*.whl)[speed]" \
    && /opt/rocketmq-testkit/bin/pip uninstall --yes pip setuptools \
    && find /opt/rocketmq-testkit/lib -type d -name test -prune -exec rm -rf {} +
COPY docker/health.py docker/client.py /opt/rocketmq-testkit/share/

FROM python
LABEL org.opencontainers.image.title="rocketmq-emulator" \
      org.opencontainers.image.description="An Apache RocketMQ emulator for tests" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin rocketmq
COPY --from=build /opt/rocketmq-testkit /opt/rocketmq-testkit
ENV PATH=/opt/rocketmq-testkit/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001
EXPOSE 9876 10911 8081 8090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=2s --timeout=3s --start-period=10s --retries=3 \
    CMD ["python3", "-I", "-S", "/opt/rocketmq-testkit/share/health.py"]
# Options given to `docker run` are added; a later --host wins over this one.
ENTRYPOINT ["rocketmq-emulator", "--host", "0.0.0.0"]
