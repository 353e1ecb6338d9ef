# The emulator as a sidecar: name server, broker and gRPC proxy in one small process.
#
#   docker build -t rocketmq-emulator .
#   docker run --rm -p 9876:9876 -p 10911:10911 -p 8081:8081 -p 127.0.0.1:8090:8090 rocketmq-emulator --topic orders
#
# The image has the program of docs/executable.md, and no Python of its own. Libraries are installed with the hashes of
# scripts/executable/requirements.txt. The release pins the base by its digest: --build-arg DEBIAN=debian@sha256:...
#
# If pip needs a configuration or a certificate bundle of its own, pass them as secrets, which leave no trace in the
# image: --secret id=pip_conf,src=$HOME/.config/pip/pip.conf --secret id=ca_bundle,src=...

ARG DEBIAN=debian:bookworm-slim

FROM ${DEBIAN} AS build
# binutils: PyInstaller reads and strips libraries with it.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-venv libpython3.11 binutils
RUN python3 -m venv /venv
WORKDIR /source
COPY scripts/executable/requirements.txt scripts/executable/
RUN --mount=type=secret,id=pip_conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca_bundle,target=/etc/ssl/certs/ca-certificates.crt \
    /venv/bin/pip install --disable-pip-version-check --no-cache-dir --require-hashes \
        --requirement scripts/executable/requirements.txt
COPY . .
RUN /venv/bin/pip install --disable-pip-version-check --no-cache-dir --no-deps --no-build-isolation . \
    && cd scripts/executable \
    && /venv/bin/pyinstaller --noconfirm --log-level WARN --distpath /opt emulator.spec \
    && install -D --mode 755 /source/docker/health /opt/rocketmq-emulator/share/health

FROM ${DEBIAN}
LABEL org.opencontainers.image.title="rocketmq-emulator" \
      org.opencontainers.image.description="An Apache RocketMQ emulator for tests" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/rocketmq-emulator /opt/rocketmq-emulator
ENV PATH=/opt/rocketmq-emulator:$PATH
# No entry in /etc/passwd is needed, and the program writes no file.
USER 10001:10001
EXPOSE 9876 10911 8081 8090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=2s --timeout=3s --start-period=10s --retries=3 \
    CMD ["/opt/rocketmq-emulator/share/health"]
# Options given to `docker run` are added; a later --host wins over this one.
ENTRYPOINT ["rocketmq-emulator", "--host", "0.0.0.0"]
