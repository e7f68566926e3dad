import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Uses clients whose configs are not the defaults. Arguments: servers, topic, run. */
public class ShowConfigs {
    static String[] all;

    public static void main(String[] arguments) throws Exception {
        all = arguments;
        produce("plain", "acks", "1", "enable.idempotence", "false", "compression.type", "zstd",
            "request.timeout.ms", "21000", "batch.size", "40000");
        produce("tx", "transactional.id", "tx-" + arguments[2], "transaction.timeout.ms", "31000",
            "compression.type", "gzip", "linger.ms", "5");
        consume("classic", "session.timeout.ms", "11000", "max.poll.interval.ms", "41000",
            "group.instance.id", "one-" + arguments[2], "isolation.level", "read_committed",
            "partition.assignment.strategy",
            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
        consume("consumer", "group.remote.assignor", "range", "max.poll.interval.ms", "42000",
            "max.partition.fetch.bytes", "70000");
        System.out.println("used");
    }

    static Properties common(String name, String... more) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", all[0]);
        properties.put("client.id", all[2] + "-" + name);
        for (int at = 0; at < more.length; at += 2) properties.put(more[at], more[at + 1]);
        return properties;
    }

    static void produce(String name, String... more) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(
                common(name, more), new StringSerializer(), new StringSerializer())) {
            boolean isTransactional = name.equals("tx");
            if (isTransactional) {
                producer.initTransactions();
                producer.beginTransaction();
            }
            producer.send(new ProducerRecord<>(all[1], "x".repeat(3_000))).get();
            if (isTransactional) producer.commitTransaction();
        }
    }

    static void consume(String protocol, String... more) {
        Properties properties = common(protocol, more);
        properties.put("group.id", all[2] + "-group-" + protocol);
        properties.put("group.protocol", protocol);
        properties.put("auto.offset.reset", "earliest");
        properties.put("fetch.min.bytes", "3");
        properties.put("fetch.max.wait.ms", "222");
        properties.put("fetch.max.bytes", "5000000");
        properties.put("client.rack", "rack-7");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                properties, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(all[1]));
            while (consumer.poll(Duration.ofMillis(200)).isEmpty()) continue;
            consumer.poll(Duration.ofMillis(300));
        }
    }
}
