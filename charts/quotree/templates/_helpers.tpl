{{- /* registry/repository:tag or registry/repository@digest */ -}}
{{- define "quotree.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}
{{- /* A mapping with the keys that it lacks, from the mappings behind it, at any depth. `merge` would take false for lacking. */ -}}
{{- define "quotree.completed" -}}
{{- $whole := deepCopy (first .) }}
{{- range $more := rest . }}
{{- range $key, $value := $more }}
{{- if not (hasKey $whole $key) }}
{{- $_ := set $whole $key $value }}
{{- else if and (kindIs "map" $value) (kindIs "map" (get $whole $key)) }}
{{- $_ := set $whole $key (fromYaml (include "quotree.completed" (list (get $whole $key) $value))) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $whole }}
{{- end }}
