import java.io.FileReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A Java producer for each properties file, until standard input ends. */
public class PushAs {
    public static void main(String[] files) throws Exception {
        ByteArraySerializer writer = new ByteArraySerializer();
        List<KafkaProducer<byte[], byte[]>> producers = new ArrayList<>();
        for (String file : files) {
            Properties properties = new Properties();
            try (FileReader reader = new FileReader(file)) {
                properties.load(reader);
            }
            producers.add(new KafkaProducer<>(properties, writer, writer));
        }
        System.in.read();
        for (KafkaProducer<byte[], byte[]> producer : producers) {
            producer.close(java.time.Duration.ofSeconds(1));
        }
    }
}
