import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A Java producer and consumer that live until standard input ends. */
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
            while (System.in.available() == 0) {
                consumer.poll(Duration.ofMillis(100));
            }
        }
    }
}
