{{- define "relata.name" -}}
{{ printf "%s-%s" .root.Release.Name .role | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "relata.selector" -}}
app.kubernetes.io/name: relata
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "relata.labels" -}}
{{ include "relata.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "relata.secretVariable" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .root.Values.secrets.existingSecret | quote }}
      key: {{ .key | quote }}
{{- end }}

{{- define "relata.variables" -}}
- name: RELATA_DATABASE_URL
  value: {{ .root.Values.database.url | quote }}
{{ include "relata.secretVariable" (dict "root" .root "name" "PGPASSWORD" "key" .root.Values.secrets.databasePasswordKey) }}
{{ include "relata.secretVariable" (dict "root" .root "name" "RELATA_SECRET_KEYS" "key" .root.Values.secrets.secretKeysKey) }}
{{ include "relata.secretVariable" (dict "root" .root "name" "RELATA_ACCOUNT_KEY" "key" .root.Values.secrets.accountKeyKey) }}
      optional: true
{{ include "relata.secretVariable" (dict "root" .root "name" "RELATA_OIDC_CLIENT_SECRET" "key" .root.Values.secrets.oidcClientSecretKey) }}
      optional: true
{{- if .root.Values.publicUrl }}
- name: RELATA_PUBLIC_URL
  value: {{ .root.Values.publicUrl | quote }}
{{- end }}
{{- if .root.Values.trustedProxies }}
- name: RELATA_TRUSTED_PROXIES
  value: {{ .root.Values.trustedProxies | quote }}
{{- end }}
{{- range $name, $value := .root.Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "relata.container" -}}
name: relata
image: {{ printf "%s:%s" .root.Values.image.repository (.root.Values.image.tag | default .root.Chart.AppVersion) | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: [serve, --role, {{ .role }}]
env:
  {{- include "relata.variables" . | nindent 2 }}
ports:
  - name: http
    containerPort: 4810
# It listens after the migrations, which may take long on a large database.
startupProbe:
  httpGet: {path: /health/live, port: http}
  periodSeconds: 5
  failureThreshold: 720
livenessProbe:
  httpGet: {path: /health/live, port: http}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /health/ready, port: http}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
lifecycle:
  preStop:
    # Waits until no load balancer sends requests to it.
    sleep: {seconds: 5}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources:
  {{- toYaml .values.resources | nindent 2 }}
volumeMounts:
  - name: data
    mountPath: /var/lib/relata
  - name: tmp
    mountPath: /tmp
{{- end }}

{{- define "relata.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "relata.name" . }}
  labels:
    {{- include "relata.labels" . | nindent 4 }}
spec:
  {{- if .root.Values.stopped }}
  replicas: 0
  {{- else if not .values.autoscaling.enabled }}
  replicas: {{ .values.replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "relata.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "relata.labels" . | nindent 8 }}
      {{- with .root.Values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      automountServiceAccountToken: false
      # After the pause of preStop, requests get 30 s to finish, and tasks another 30 s to stop.
      terminationGracePeriodSeconds: 65
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        seccompProfile: {type: RuntimeDefault}
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range $name := . }}
        - name: {{ $name }}
        {{- end }}
      {{- end }}
      containers:
        -
          {{- include "relata.container" . | nindent 10 }}
      volumes:
        - name: data
          emptyDir:
            sizeLimit: {{ .root.Values.temporarySpace | quote }}
        - name: tmp
          emptyDir: {sizeLimit: 1Gi}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "relata.selector" . | nindent 14 }}
      {{- with .root.Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "relata.name" . }}
  labels:
    {{- include "relata.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "relata.selector" . | nindent 6 }}
{{- if and .values.autoscaling.enabled (not .root.Values.stopped) }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "relata.name" . }}
  labels:
    {{- include "relata.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "relata.name" . }}
  minReplicas: {{ .values.autoscaling.minReplicas }}
  maxReplicas: {{ .values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ .values.autoscaling.targetCPUUtilizationPercentage }}
{{- end }}
{{- end }}
