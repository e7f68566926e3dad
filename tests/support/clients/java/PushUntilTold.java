import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A Java producer and consumer that live until something or nothing more comes on standard input. */
public class PushUntilTold {
    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        ByteArraySerializer writer = new ByteArraySerializer();
        ByteArrayDeserializer reader = new ByteArrayDeserializer();
        Map<String, Object> produce =
                Map.of("bootstrap.servers", servers, "client.id", "java-producer");
        Map<String, Object> consume =
                Map.of("bootstrap.servers", servers, "client.id", "java-consumer");
        try (var producer = new KafkaProducer<>(produce, writer, writer);
                var consumer = new KafkaConsumer<>(consume, reader, reader)) {
            consumer.assign(List.of(new TopicPartition("nothing", 0)));
            consumer.seekToBeginning(List.of());
            Thread waiting = new Thread(PushUntilTold::awaitInput);
            waiting.start();
            while (waiting.isAlive()) {
                consumer.poll(Duration.ofMillis(100));
            }
        }
    }

    /** Returns at the end of input, too: whoever started this may be gone. */
    private static void awaitInput() {
        try {
            System.in.read();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
