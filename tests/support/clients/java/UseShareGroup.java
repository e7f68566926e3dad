import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Reads a topic with a share group. Arguments: servers, run. */
public class UseShareGroup {
    static final int RECORDS = 200;

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1] + "-shared";
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("client.id", arguments[1] + "-share");
        try (Admin admin = Admin.create(properties)) {
            admin.createTopics(List.of(new NewTopic(topic, 3, (short) 1))).all().get();
            ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, topic);
            ConfigEntry entry = new ConfigEntry("share.auto.offset.reset", "earliest");
            admin.incrementalAlterConfigs(
                    Map.of(group, List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET))))
                .all().get();
        }
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < RECORDS; number++)
                producer.send(new ProducerRecord<>(topic, "value-" + number)).get();
        }
        properties.put("group.id", topic);
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(
                properties, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            int read = 0;
            long end = System.nanoTime() + 180_000_000_000L;
            while (read < RECORDS) {
                if (System.nanoTime() > end) throw new IllegalStateException(read + " records");
                read += consumer.poll(Duration.ofMillis(200)).count();
                consumer.commitSync();
            }
        }
        System.out.println("used");
    }
}
