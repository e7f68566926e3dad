{{- define "clientele.name" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) -}}
{{- $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "clientele.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "clientele.labels" -}}
{{ include "clientele.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "clientele.image" -}}
{{- $image := index .root.Values.images .which -}}
{{ printf "%s:%s" $image.repository (default .root.Chart.AppVersion $image.tag) }}
{{- end -}}

{{/* Where clients reach the listener, and the ports of the proxy. */}}
{{- define "clientele.bridgeHost" -}}
{{ default (printf "%s-bridge.%s.svc" (include "clientele.name" .) .Release.Namespace) .Values.bridge.advertisedHost }}
{{- end -}}
{{- define "clientele.proxyHost" -}}
{{ default (printf "%s-proxy.%s.svc" (include "clientele.name" .) .Release.Namespace) .Values.proxy.advertisedHost }}
{{- end -}}

{{/* The port of a broker: .basePort and .broker. */}}
{{- define "clientele.brokerPort" -}}
{{ ternary (sub .basePort 1) (add .basePort .broker) (eq (int .broker) 0) }}
{{- end -}}

{{/* What every container is told of its settings. */}}
{{- define "clientele.settings" -}}
- name: KAFKA_CLIENTELE_KAFKA__BOOTSTRAP_SERVERS
  value: {{ .Values.kafka.bootstrapServers | quote }}
- name: KAFKA_CLIENTELE_KAFKA__SECURITY_PROTOCOL
  value: {{ .Values.kafka.securityProtocol }}
{{- if .Values.kafka.saslPasswordKey }}
- name: KAFKA_CLIENTELE_KAFKA__SASL_MECHANISM
  value: {{ required "kafka.saslMechanism goes with kafka.saslPasswordKey" .Values.kafka.saslMechanism }}
- name: KAFKA_CLIENTELE_KAFKA__SASL_USERNAME
  value: {{ required "kafka.saslUsername goes with kafka.saslPasswordKey" .Values.kafka.saslUsername | quote }}
- name: KAFKA_CLIENTELE_KAFKA__SASL_PASSWORD
  value: file:/etc/kafka-clientele/secrets/{{ .Values.kafka.saslPasswordKey }}
{{- end }}
{{- end -}}

{{/* Files of every container: settings.toml, and those of the Secret. */}}
{{- define "clientele.mounts" -}}
- name: settings
  mountPath: /etc/kafka-clientele/settings
  readOnly: true
{{- if .Values.secretName }}
- name: secrets
  mountPath: /etc/kafka-clientele/secrets
  readOnly: true
{{- end }}
{{- end -}}
{{- define "clientele.volumes" -}}
- name: settings
  configMap:
    name: {{ include "clientele.name" . }}
{{- if .Values.secretName }}
- name: secrets
  secret:
    secretName: {{ .Values.secretName }}
    defaultMode: 0440
{{- else if .Values.kafka.saslPasswordKey }}
{{- fail "kafka.saslPasswordKey is a key of secretName, which is empty" }}
{{- end }}
{{- end -}}

{{- define "clientele.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
# Owns the volumes, and may read the files of the Secret.
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "clientele.pullSecrets" -}}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Words of every command of the jobs' image; what a user gives comes after them. */}}
{{- define "clientele.jobWords" -}}
- --env
- container
- --config
- /etc/kafka-clientele/settings/settings.toml
- --driver-memory
- {{ .Values.jobs.driverMemory }}
{{- end -}}

{{/* Where pods of jobs, tasks and executors go. */}}
{{- define "clientele.jobNodes" -}}
{{- with .Values.jobs.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.jobs.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* What makes the driver one of executors in pods. */}}
{{- define "clientele.executorWords" -}}
- --master
- k8s://https://kubernetes.default.svc
{{- $confs := list
  "spark.kubernetes.namespace=$(POD_NAMESPACE)"
  "spark.kubernetes.driver.pod.name=$(POD_NAME)"
  (printf "spark.kubernetes.container.image=%s" (include "clientele.image" (dict "root" . "which" "jobs")))
  (printf "spark.kubernetes.container.image.pullPolicy=%s" .Values.images.pullPolicy)
  "spark.kubernetes.executor.podTemplateFile=/etc/kafka-clientele/settings/executor.yaml"
  "spark.kubernetes.executor.podTemplateContainerName=executor"
  (printf "spark.executor.instances=%d" (int .Values.jobs.executors))
  (printf "spark.executor.cores=%d" (int .Values.jobs.executorCores))
  (printf "spark.executor.memory=%s" .Values.jobs.executorMemory)
  "spark.driver.host=$(POD_IP)"
  "spark.driver.bindAddress=0.0.0.0"
}}
{{- range $confs }}
- --conf
- {{ . | quote }}
{{- end }}
{{- end -}}
