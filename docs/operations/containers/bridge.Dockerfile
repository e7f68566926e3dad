# The bridge and its proxy alone: no Java, no Spark. From the root of the checkout:
#   docker build -f docs/operations/containers/bridge.Dockerfile -t kafka-clientele-bridge:0.1.0 .
# podman and buildah take the same words. docs/operations/containers.md says how it is run.
ARG BASE=docker.io/library/python:3.12-slim-bookworm
FROM ${BASE}

WORKDIR /app
COPY conf/requirements.txt /tmp/requirements.txt
# What the bridge imports, in the versions of the lock.
RUN python3 -m pip install --no-cache-dir --no-compile --constraint /tmp/requirements.txt \
        asn1crypto \
        cffi \
        confluent-kafka \
        cryptography \
        google-re2 \
        kio \
        prometheus-client \
        PyJWT \
        scramp \
        uvloop \
    && rm /tmp/requirements.txt \
    && useradd --system --uid 10001 --user-group --no-create-home clientele
COPY LICENSE ./
COPY conf conf
COPY pipelines pipelines
COPY udfs udfs

# A number, by which Kubernetes sees that it is not root.
USER 10001:10001
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# The listener, and the pages /metrics, /healthz and /readyz. With the proxy, publish
# proxy.base_port and the port of each broker as well.
EXPOSE 9192 9193
# Ten seconds for pushes in flight, and some: stop it with a timeout of 20.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD \
    ["python3", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ.get('KAFKA_CLIENTELE_BRIDGE__HTTP_PORT', '9193') + '/readyz', timeout=2)"]
ENTRYPOINT ["python3", "-m", "pipelines"]
CMD ["bridge", "--env", "container"]
