// Collector is an OpenTelemetry Collector with what the long proof of forwarding needs:
// it receives OTLP, and exports OTLP/HTTP or metrics that Prometheus scrapes.
package main

import (
	"log"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/prometheusexporter"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func main() {
	receivers := otlpreceiver.NewFactory()
	otlp, scraped := otlphttpexporter.NewFactory(), prometheusexporter.NewFactory()
	factories := otelcol.Factories{
		Receivers: map[component.Type]receiver.Factory{receivers.Type(): receivers},
		Exporters: map[component.Type]exporter.Factory{otlp.Type(): otlp, scraped.Type(): scraped},
		Telemetry: otelconftelemetry.NewFactory(),
	}
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Version: "0.165.0"},
		Factories: func() (otelcol.Factories, error) { return factories, nil },
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{
				DefaultScheme:     "file",
				ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
			},
		},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
