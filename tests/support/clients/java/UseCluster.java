import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Uses a cluster as applications and admins do. Arguments: servers, run, ports, ms. */
public class UseCluster {
    static final int RECORDS = 200;
    static String servers;
    static String run;

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        run = arguments[1];
        long pushMs = Long.parseLong(arguments[3]);
        try (Admin admin = Admin.create(common("admin"))) {
            for (Node node : admin.describeCluster().nodes().get())
                check(arguments[2].contains(" " + node.port() + " "), "port " + node);
            administer(admin);
            produceWithEachCodec(admin);
            transact(admin);
            for (String protocol : List.of("classic", "consumer")) consumeInGroups(admin, protocol);
        }
        pushTelemetry(pushMs);
        System.out.println("used");
    }

    static Properties common(String name) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("client.id", run + "-" + name);
        return properties;
    }

    static KafkaProducer<String, String> producer(String name, String... more) {
        Properties properties = common(name);
        for (int at = 0; at < more.length; at += 2) properties.put(more[at], more[at + 1]);
        return new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String name, String... more) {
        Properties properties = common(name);
        properties.put("auto.offset.reset", "earliest");
        properties.put("group.id", run + "-" + name);
        for (int at = 0; at < more.length; at += 2) properties.put(more[at], more[at + 1]);
        return new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }

    static void check(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }

    static String createTopic(Admin admin, String name) throws Exception {
        String topic = run + "-" + name;
        NewTopic created = new NewTopic(topic, Optional.of(3), Optional.empty());
        admin.createTopics(List.of(created)).all().get();
        return topic;
    }

    static void administer(Admin admin) throws Exception {
        String topic = createTopic(admin, "administered");
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ConfigEntry entry = new ConfigEntry("retention.ms", "123456");
        admin.incrementalAlterConfigs(
                Map.of(resource, List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET))))
            .all().get();
        waitForRetention(admin, resource, "123456");
        ClientQuotaEntity entity = new ClientQuotaEntity(Map.of("client-id", run));
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(
            entity, List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1e9)))))
            .all().get();
        TopicPartition partition = new TopicPartition(topic, 0);
        check(admin.listOffsets(Map.of(partition, OffsetSpec.latest())).all().get()
            .get(partition).offset() == 0, "an offset");
        check(admin.describeMetadataQuorum().quorumInfo().get().leaderId() > 0, "a leader");
        admin.listConsumerGroups().all().get();
        admin.deleteTopics(List.of(topic)).all().get();
    }

    /** Any broker may answer, and learns of the change a moment after its controller did. */
    static void waitForRetention(Admin admin, ConfigResource resource, String wanted)
            throws Exception {
        long end = System.nanoTime() + 180_000_000_000L;
        String seen;
        do {
            try {
                seen = admin.describeConfigs(List.of(resource)).all().get().get(resource)
                    .get("retention.ms").value();
            } catch (ExecutionException error) {
                if (!(error.getCause() instanceof UnknownTopicOrPartitionException)) throw error;
                seen = "of no topic yet";
            }
            check(System.nanoTime() < end, "retention.ms " + seen);
        } while (!seen.equals(wanted));
    }

    static void write(KafkaProducer<String, String> producer, String topic, String prefix)
            throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int number = 0; number < RECORDS; number++)
            sent.add(producer.send(new ProducerRecord<>(topic, prefix + number)));
        for (Future<RecordMetadata> one : sent) one.get();
    }

    static int read(KafkaConsumer<String, String> consumer, int wanted) {
        int read = 0;
        long end = System.nanoTime() + 180_000_000_000L;
        while (read < wanted) {
            check(System.nanoTime() < end, read + " of " + wanted + " records");
            for (ConsumerRecord<String, String> one : consumer.poll(Duration.ofMillis(200))) read++;
        }
        return read;
    }

    static void produceWithEachCodec(Admin admin) throws Exception {
        String topic = createTopic(admin, "codecs");
        List<String> codecs = List.of("none", "gzip", "snappy", "lz4", "zstd");
        for (String codec : codecs)
            try (KafkaProducer<String, String> producer = producer("p-" + codec,
                    "compression.type", codec, "enable.idempotence", "true")) {
                write(producer, topic, codec);
            }
        try (KafkaProducer<String, String> producer = producer("p-acks-0", "acks", "0",
                "enable.idempotence", "false")) {
            write(producer, topic, "acks-0");
            check(producer.partitionsFor(topic).size() == 3, "partitions");
        }
        try (KafkaConsumer<String, String> consumer = consumer("codecs")) {
            consumer.subscribe(List.of(topic));
            read(consumer, RECORDS * codecs.size());
        }
    }

    static void transact(Admin admin) throws Exception {
        String topic = createTopic(admin, "transactions");
        try (KafkaProducer<String, String> producer = producer("tx", "transactional.id", run);
                KafkaConsumer<String, String> consumer =
                    consumer("tx-reader", "isolation.level", "read_committed")) {
            producer.initTransactions();
            for (boolean isKept : new boolean[] {true, false, true}) {
                producer.beginTransaction();
                write(producer, topic, isKept ? "kept" : "dropped");
                producer.sendOffsetsToTransaction(
                    Collections.emptyMap(), consumer.groupMetadata());
                if (isKept) producer.commitTransaction();
                else producer.abortTransaction();
            }
            consumer.subscribe(List.of(topic));
            check(read(consumer, 2 * RECORDS) == 2 * RECORDS, "committed records");
        }
    }

    static void consumeInGroups(Admin admin, String protocol) throws Exception {
        String topic = createTopic(admin, "groups-" + protocol);
        try (KafkaProducer<String, String> producer = producer("p-" + protocol)) {
            write(producer, topic, "one");
            for (int life = 0; life < 2; life++) {
                try (KafkaConsumer<String, String> consumer = consumer("c-" + protocol,
                        "group.protocol", protocol, "enable.auto.commit", "false",
                        "group.instance.id", "member")) {
                    consumer.subscribe(List.of(topic));
                    read(consumer, RECORDS);
                    consumer.commitSync();
                }
                write(producer, topic, "two");
            }
        }
    }

    /** Producer and consumer live on until their telemetry has been asked for and sent. */
    static void pushTelemetry(long pushMs) throws Exception {
        try (KafkaProducer<String, String> producer = producer("seen-p");
                KafkaConsumer<String, String> consumer = consumer("seen-c")) {
            consumer.subscribe(List.of(run + "-codecs"));
            long end = System.nanoTime() + pushMs * 1_000_000L;
            while (System.nanoTime() < end) {
                producer.send(new ProducerRecord<>(run + "-codecs", "x")).get();
                consumer.poll(Duration.ofMillis(50));
                // Most often there is nothing more, so that this waits.
                consumer.poll(Duration.ofMillis(50));
            }
        }
    }
}
