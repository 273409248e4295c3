// The OpenTelemetry Collector for the tests: the service, the OTLP receiver over HTTP, and an exporter that prints each
// batch of traces as one line of OTLP's JSON.
package main

import (
	"context"
	"errors"
	"log"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry"
)

type nothing struct{}

func empty() component.Config { return &nothing{} }

// printTraces writes to standard output; the tests read it there.
func printTraces(_ context.Context, traces ptrace.Traces) error {
	line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}

func newPrinter(ctx context.Context, settings exporter.Settings, config component.Config) (exporter.Traces, error) {
	return exporterhelper.NewTraces(ctx, settings, config, printTraces)
}

func factories() (otelcol.Factories, error) {
	printer := exporter.NewFactory(
		component.MustNewType("lines"), empty, exporter.WithTraces(newPrinter, component.StabilityLevelStable))
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	exporters, wrong := otelcol.MakeFactoryMap[exporter.Factory](printer)
	return otelcol.Factories{
		Receivers: receivers,
		Exporters: exporters,
		Telemetry: telemetry.NewFactory(empty), // it reports nothing of itself
	}, errors.Join(err, wrong)
}

func main() {
	sources := confmap.ResolverSettings{
		ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		DefaultScheme:     "file",
	}
	settings := otelcol.CollectorSettings{
		BuildInfo:              component.BuildInfo{Command: "collector", Description: "for tests", Version: "0.165.0"},
		Factories:              factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: sources},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
