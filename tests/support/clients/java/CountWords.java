import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Produced;

/** Counts words by Kafka Streams, in two lives, exactly once. Arguments: servers, run. */
public class CountWords {
    static final int LINES = 100;
    static final String LINE = "to be or not to be";
    static final Map<String, Long> ONCE = Map.of("to", 2L, "be", 2L, "or", 1L, "not", 1L);
    static String servers;
    static String run;

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        run = arguments[1];
        try (Admin admin = Admin.create(common())) {
            for (String name : List.of("lines", "counts"))
                admin.createTopics(List.of(
                    new NewTopic(run + "-" + name, Optional.of(3), Optional.empty()))).all().get();
        }
        try (KafkaConsumer<String, Long> counts = countsReader()) {
            for (int life = 1; life <= 2; life++) {
                // The second life reads its state back from the changelog.
                try (KafkaStreams streams = wordCount()) {
                    streams.start();
                    writeLines();
                    waitForCounts(counts, (long) life * LINES);
                }
            }
        }
        System.out.println("used");
    }

    static Properties common() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        return properties;
    }

    static KafkaStreams wordCount() {
        Properties properties = common();
        properties.put("application.id", run);
        properties.put("processing.guarantee", "exactly_once_v2");
        properties.put("commit.interval.ms", "100");
        properties.put("default.key.serde", Serdes.StringSerde.class.getName());
        properties.put("default.value.serde", Serdes.StringSerde.class.getName());
        properties.put("dsl.store.suppliers.class",
            "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers");
        properties.put("state.dir", System.getProperty("state.dir"));
        properties.put("session.timeout.ms", "10000");
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(run + "-lines")
            .flatMapValues(line -> List.of(line.split(" ")))
            .groupBy((key, word) -> word)
            .count()
            .toStream()
            .to(run + "-counts", Produced.with(Serdes.String(), Serdes.Long()));
        return new KafkaStreams(builder.build(), properties);
    }

    static void writeLines() throws Exception {
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(common(), new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < LINES; number++)
                producer.send(new ProducerRecord<>(run + "-lines", "line-" + number, LINE));
        }
    }

    static KafkaConsumer<String, Long> countsReader() {
        Properties properties = common();
        properties.put("group.id", run + "-reader");
        properties.put("auto.offset.reset", "earliest");
        properties.put("isolation.level", "read_committed");
        KafkaConsumer<String, Long> consumer =
            new KafkaConsumer<>(properties, new StringDeserializer(), new LongDeserializer());
        consumer.subscribe(List.of(run + "-counts"));
        return consumer;
    }

    /** Counts only grow; one above what was written was counted twice. */
    static void waitForCounts(KafkaConsumer<String, Long> consumer, long lines) {
        Map<String, Long> wanted = new HashMap<>();
        ONCE.forEach((word, times) -> wanted.put(word, times * lines));
        Map<String, Long> seen = new HashMap<>();
        long end = System.nanoTime() + 90_000_000_000L;
        while (!seen.equals(wanted)) {
            if (System.nanoTime() > end) throw new IllegalStateException(seen + " of " + wanted);
            for (ConsumerRecord<String, Long> one : consumer.poll(Duration.ofMillis(200))) {
                seen.put(one.key(), one.value());
                if (one.value() > wanted.get(one.key())) throw new IllegalStateException("" + seen);
            }
        }
    }
}
