{{- define "gangline.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "gangline.fullname" -}}
{{- $name := include "gangline.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gangline.selectorLabels" -}}
app.kubernetes.io/name: {{ include "gangline.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gangline.labels" -}}
{{ include "gangline.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "gangline.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "gangline.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name must be set when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The user that the API server sees in the scheduler's requests. */ -}}
{{- define "gangline.user" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "gangline.serviceAccountName" . }}
{{- end -}}

{{- /* What a placeholder is, in expressions for the API server: it has the label. */ -}}
{{- define "gangline.isLabelled" -}}
object.metadata.?labels[?'gangline.dev/placeholder'].orValue('') == 'true'
{{- end -}}

{{- /* It can do no harm. */ -}}
{{- define "gangline.isHarmless" -}}
object.spec.?schedulerName.orValue('') in {{ .Values.config.schedulerNames | toJson }}
&& object.spec.?automountServiceAccountToken.orValue(true) == false
&& object.spec.?serviceAccountName.orValue('') in ['', 'default']
&& object.spec.?nodeName.orValue('') == ''
&& !object.spec.?hostNetwork.orValue(false)
&& !object.spec.?hostPID.orValue(false)
&& !object.spec.?hostIPC.orValue(false)
&& !object.spec.?securityContext.?windowsOptions.?hostProcess.orValue(false)
&& (object.spec.containers + object.spec.?initContainers.orValue([])).all(container,
!container.?securityContext.?privileged.orValue(false)
&& container.?securityContext.?capabilities.?add.orValue([]).size() == 0
&& !container.?securityContext.?windowsOptions.?hostProcess.orValue(false))
{{- end -}}

{{- /* It has the one container that Gangline makes. A probe or a hook is a request that a kubelet sends. */ -}}
{{- define "gangline.isOurs" -}}
object.spec.containers.filter(container, container.name == 'placeholder'
&& container.?image.orValue('') == {{ .Values.config.placeholderImage | toJson }}
&& !has(container.command) && !has(container.args) && !has(container.ports) && !has(container.lifecycle)
&& !has(container.livenessProbe) && !has(container.readinessProbe) && !has(container.startupProbe)).size() == 1
&& object.spec.?ephemeralContainers.orValue([]).size() == 0
{{- if .Values.policies.allowInjected }}
&& object.spec.?volumes.orValue([]).all(volume, has(volume.emptyDir) || has(volume.configMap) || has(volume.downwardAPI)
|| (has(volume.projected) && volume.projected.?sources.orValue([]).all(source,
has(source.configMap) || has(source.downwardAPI))))
&& (object.spec.containers + object.spec.?initContainers.orValue([])).all(container,
container.?envFrom.orValue([]).all(from, !has(from.secretRef))
&& container.?env.orValue([]).all(env, !has(env.valueFrom) || !has(env.valueFrom.secretKeyRef)))
{{- else }}
&& object.spec.containers.size() == 1 && object.spec.?initContainers.orValue([]).size() == 0
&& object.spec.?volumes.orValue([]).size() == 0
&& object.spec.containers.all(container, !has(container.env) && !has(container.envFrom))
{{- end }}
{{- end -}}

{{- define "gangline.image" -}}
{{- $name := .Values.image.repository -}}
{{- with .Values.image.registry -}}{{- $name = printf "%s/%s" . $name -}}{{- end -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $name .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* Names of what runs after the release is gone; a Job's name is a label of its pods, which has 63 characters. */ -}}
{{- define "gangline.uninstallName" -}}
{{- printf "%s-uninstall" (include "gangline.fullname" . | trunc 53 | trimSuffix "-") -}}
{{- end -}}

{{- /* Its pods are not the scheduler's: no Service, budget or policy of that selects them. */ -}}
{{- define "gangline.uninstallSelectorLabels" -}}
app.kubernetes.io/name: {{ printf "%s-uninstall" (include "gangline.name" . | trunc 53 | trimSuffix "-") }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- /* Of all objects that helm makes when the release is gone, but for the Job: gone with it. */ -}}
{{- define "gangline.uninstallHook" -}}
helm.sh/hook: post-delete
helm.sh/hook-weight: "-1"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
{{- end -}}

{{- /* Where the API server is, in a NetworkPolicy; its address is in every pod's environment, so that no name is asked for. */ -}}
{{- define "gangline.egressToApiServer" -}}
- ports:
    {{- range .Values.networkPolicy.apiServer.ports }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with .Values.networkPolicy.apiServer.cidrs }}
  to:
    {{- range . }}
    - ipBlock: {cidr: {{ . | quote }}}
    {{- end }}
  {{- end }}
{{- end -}}
