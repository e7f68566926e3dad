# Streaming jobs, and every other command: Java, Spark and all packages. From the root of
# the checkout:
#   docker build -f docs/operations/containers/jobs.Dockerfile -t kafka-clientele-jobs:0.1.0 .
# It is a checkout after its set-up: whatever ./spark-submit.sh takes, the container does.
ARG BASE=docker.io/library/python:3.12-slim-bookworm
FROM ${BASE}

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --create-home clientele \
    && install --directory --owner=clientele --group=clientele /app /app/data
WORKDIR /app
# The code is root's: what runs cannot change it.
COPY LICENSE spark-submit.sh ./
COPY conf conf
COPY pipelines pipelines
COPY udfs udfs
COPY notebooks notebooks

# A number, by which Kubernetes sees that it is not root.
USER 10001:10001
# .venv and .cache with packages, jars and Spark's classes; not what they were made of,
# nor the Kafka of the demo.
RUN ./spark-submit.sh setup --with-checks --with-report \
    && rm -rf .cache/wheels .cache/jars/kafka .cache/setup.log
# Tables and checkpoints, where no setting says otherwise.
VOLUME /app/data
# /metrics of the jobs.
EXPOSE 9194
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s CMD \
    ["python3", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ.get('KAFKA_CLIENTELE_WATCHING__JOBS_HTTP_PORT', '9194') + '/metrics', timeout=2)"]
ENTRYPOINT ["./spark-submit.sh"]
CMD ["jobs", "--env", "container"]
