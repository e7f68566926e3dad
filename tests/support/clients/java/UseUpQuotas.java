import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes and reads more than its quotas allow. Prints what its clients saw of that.
 * Arguments: servers, topic, bytes a second, records, bytes a record.
 */
public class UseUpQuotas {
    public static void main(String[] arguments) throws Exception {
        Properties common = new Properties();
        common.put("bootstrap.servers", arguments[0]);
        String topic = arguments[1];
        double rate = Double.parseDouble(arguments[2]);
        int records = Integer.parseInt(arguments[3]);
        int size = Integer.parseInt(arguments[4]);
        try (Admin admin = Admin.create(common)) {
            admin.alterClientQuotas(List.of(
                limit("writer", "producer_byte_rate", rate),
                limit("reader", "consumer_byte_rate", rate))).all().get();
        }
        // Brokers take it over from the controllers' log.
        Thread.sleep(1_000);
        write(with(common, "client.id", "writer", "batch.size", "100000", "linger.ms", "20"),
            topic, records, new byte[size]);
        read(with(common, "client.id", "reader", "group.id", "readers",
            "auto.offset.reset", "earliest", "max.partition.fetch.bytes", "200000"), topic, records);
        System.out.println("used");
    }

    static ClientQuotaAlteration limit(String clientId, String key, double value) {
        return new ClientQuotaAlteration(
            new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, clientId)),
            List.of(new ClientQuotaAlteration.Op(key, value)));
    }

    static Properties with(Properties common, String... more) {
        Properties properties = new Properties();
        properties.putAll(common);
        for (int at = 0; at < more.length; at += 2) properties.put(more[at], more[at + 1]);
        return properties;
    }

    static void write(Properties properties, String topic, int records, byte[] value) {
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int number = 0; number < records; number++) {
                producer.send(new ProducerRecord<>(topic, value));
            }
            producer.flush();
            show(producer.metrics(), "produce-throttle-time-max");
        }
    }

    static void read(Properties properties, String topic, int records) {
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            for (int left = records; left > 0; ) {
                left -= consumer.poll(Duration.ofSeconds(1)).count();
            }
            show(consumer.metrics(), "fetch-throttle-time-max");
        }
    }

    static void show(Map<?, ? extends org.apache.kafka.common.Metric> metrics, String name) {
        for (org.apache.kafka.common.Metric metric : metrics.values()) {
            if (metric.metricName().name().equals(name)) {
                System.out.println(name + " " + metric.metricValue());
            }
        }
    }
}
