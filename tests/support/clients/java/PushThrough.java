import java.io.FileReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/**
 * Clients of each kind use a topic until standard input ends. Arguments: files of
 * properties; in each, test.kind and test.topic.
 */
public class PushThrough {
    static final CountDownLatch END = new CountDownLatch(1);

    public static void main(String[] files) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (String file : files) {
            Properties properties = new Properties();
            try (FileReader reader = new FileReader(file)) {
                properties.load(reader);
            }
            Thread thread = new Thread(() -> use(properties));
            thread.start();
            threads.add(thread);
        }
        System.in.read();
        END.countDown();
        for (Thread thread : threads) thread.join();
        System.out.println("used");
    }

    static void use(Properties properties) {
        String topic = properties.remove("test.topic").toString();
        String kind = properties.remove("test.kind").toString();
        try {
            switch (kind) {
                case "producer": produce(properties, topic); break;
                case "streams": stream(properties, topic); break;
                case "admin": administer(properties); break;
                case "share": share(properties, topic); break;
                default: consume(properties, topic); break;
            }
        } catch (Exception error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    static boolean isOver() throws InterruptedException {
        return END.await(50, TimeUnit.MILLISECONDS);
    }

    static void produce(Properties properties, String topic) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(
                properties, new StringSerializer(), new StringSerializer())) {
            while (!isOver()) producer.send(new ProducerRecord<>(topic, "key", "value")).get();
        }
    }

    static void consume(Properties properties, String topic) throws Exception {
        try (Consumer<String, String> consumer = new KafkaConsumer<>(
                properties, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (!isOver()) consumer.poll(Duration.ofMillis(50));
        }
    }

    /** By name, since the older release has none. */
    static void share(Properties properties, String topic) throws Exception {
        Class<?> kind = Class.forName("org.apache.kafka.clients.consumer.KafkaShareConsumer");
        Object consumer = kind
            .getConstructor(Properties.class, Deserializer.class, Deserializer.class)
            .newInstance(properties, new StringDeserializer(), new StringDeserializer());
        kind.getMethod("subscribe", java.util.Collection.class).invoke(consumer, List.of(topic));
        while (!isOver()) kind.getMethod("poll", Duration.class).invoke(consumer, Duration.ofMillis(50));
        kind.getMethod("close").invoke(consumer);
    }

    static void administer(Properties properties) throws Exception {
        try (Admin admin = Admin.create(properties)) {
            while (!isOver()) admin.describeCluster().nodes().get();
        }
    }

    static void stream(Properties properties, String topic) throws Exception {
        properties.put("default.key.serde", Serdes.StringSerde.class.getName());
        properties.put("default.value.serde", Serdes.StringSerde.class.getName());
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(topic).groupByKey().count();
        try (KafkaStreams streams = new KafkaStreams(builder.build(), properties)) {
            streams.start();
            END.await();
        }
    }
}
