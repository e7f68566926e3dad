import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;

/**
 * A broker's own receiver of telemetry: a line for each push, with the client's id, the
 * principal and the bytes of the metrics, in the file that keep.telemetry.path names.
 */
public class KeepTelemetry implements MetricsReporter, ClientTelemetry {
    private Path path;

    @Override
    public void configure(Map<String, ?> configs) {
        path = Path.of(configs.get("keep.telemetry.path").toString());
    }

    @Override
    public ClientTelemetryReceiver clientReceiver() {
        return (context, payload) -> keep(String.join(" ", context.clientId(),
            context.principal().toString(), "" + payload.data().remaining()));
    }

    private synchronized void keep(String line) {
        try {
            Files.writeString(
                path, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    @Override
    public void init(List<KafkaMetric> metrics) { }

    @Override
    public void metricChange(KafkaMetric metric) { }

    @Override
    public void metricRemoval(KafkaMetric metric) { }

    @Override
    public void close() { }
}
