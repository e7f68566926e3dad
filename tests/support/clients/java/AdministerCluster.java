import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Administers a cluster, and moves leaders while others write and read. Arguments: servers,
 * run, and a topic of others whose leaders are moved too.
 */
public class AdministerCluster {
    static final int MOVES = 4;
    static final int PARTITIONS = 3;
    static String servers;
    static String run;

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        run = arguments[1];
        try (Admin admin = Admin.create(common("admin"))) {
            administerAcls(admin);
            administerQuotas(admin);
            administerBrokers(admin);
            String topic = createTopic(admin, "moved");
            moveLeadersUnderLoad(admin, topic, arguments[2]);
            administerGroup(admin, topic);
            admin.deleteTopics(List.of(topic)).all().get();
        }
        System.out.println("used");
    }

    static Properties common(String name) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("client.id", run + "-" + name);
        return properties;
    }

    static void check(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }

    /**
     * Any broker may answer, and learns of a change a moment after its controller did; a
     * replica that lags is waited for by writers, for 30 s and more where a machine is busy.
     */
    static void await(String what, Callable<Boolean> holds) throws Exception {
        long end = System.nanoTime() + 120_000_000_000L;
        while (!holds.call()) check(System.nanoTime() < end, what);
    }

    static String createTopic(Admin admin, String name) throws Exception {
        NewTopic topic = new NewTopic(run + "-" + name, PARTITIONS, (short) 2);
        admin.createTopics(List.of(topic.configs(Map.of("min.insync.replicas", "1")))).all().get();
        return topic.name();
    }

    static void administerAcls(Admin admin) throws Exception {
        AclBinding binding = new AclBinding(
            new ResourcePattern(ResourceType.TOPIC, run, PatternType.LITERAL),
            new AccessControlEntry(
                "User:" + run, "*", AclOperation.READ, AclPermissionType.ALLOW));
        AclBindingFilter filter = binding.toFilter();
        admin.createAcls(List.of(binding)).all().get();
        await("an ACL", () -> admin.describeAcls(filter).values().get().contains(binding));
        check(admin.deleteAcls(List.of(filter)).all().get().contains(binding), "a deleted ACL");
        await("no ACL", () -> admin.describeAcls(filter).values().get().isEmpty());
    }

    static void administerQuotas(Admin admin) throws Exception {
        ClientQuotaEntity entity = new ClientQuotaEntity(Map.of("client-id", run));
        ClientQuotaFilter filter = ClientQuotaFilter.contains(
            List.of(ClientQuotaFilterComponent.ofEntity("client-id", run)));
        for (Double rate : new Double[] {12_345_678.0, null}) {
            ClientQuotaAlteration.Op op = new ClientQuotaAlteration.Op("consumer_byte_rate", rate);
            admin.alterClientQuotas(
                List.of(new ClientQuotaAlteration(entity, List.of(op)))).all().get();
            Map<String, Double> wanted =
                rate == null ? Map.of() : Map.of("consumer_byte_rate", rate);
            await("a quota", () -> admin.describeClientQuotas(filter).entities().get()
                .getOrDefault(entity, Map.of()).equals(wanted));
        }
    }

    /** Each broker is asked for its own settings, so each port must be the right one's. */
    static void administerBrokers(Admin admin) throws Exception {
        for (Node node : admin.describeCluster().nodes().get()) {
            ConfigResource broker =
                new ConfigResource(ConfigResource.Type.BROKER, node.idString());
            ConfigEntry entry = new ConfigEntry("log.cleaner.backoff.ms", "1" + node.id());
            for (AlterConfigOp.OpType type :
                    List.of(AlterConfigOp.OpType.SET, AlterConfigOp.OpType.DELETE)) {
                admin.incrementalAlterConfigs(
                    Map.of(broker, List.of(new AlterConfigOp(entry, type)))).all().get();
                boolean isSet = type == AlterConfigOp.OpType.SET;
                await("a setting of " + node, () -> isSet == admin
                    .describeConfigs(List.of(broker)).all().get().get(broker)
                    .get(entry.name()).value().equals(entry.value()));
            }
            check(admin.describeConfigs(List.of(broker)).all().get().get(broker)
                .get("node.id").value().equals(node.idString()), "node.id of " + node);
        }
    }

    static void moveLeadersUnderLoad(Admin admin, String topic, String other) throws Exception {
        Writer writer = new Writer(topic);
        Reader reader = new Reader(topic);
        for (int move = 0; move < MOVES; move++) {
            for (String name : List.of(topic, other)) moveLeaders(admin, name);
            long before = writer.written;
            await("records after a move", () -> !writer.isAlive() || writer.written > before + 100);
        }
        writer.stopAndCheck();
        reader.wanted = writer.written;
        reader.join(120_000);
        check(!reader.isAlive() && reader.failure == null, "reader: " + reader.failure);
        check(reader.seen.size() == writer.written, reader.seen.size() + " of " + writer.written);
    }

    /** Gives each partition the next brokers of the cluster, and the first of them the lead. */
    static void moveLeaders(Admin admin, String topic) throws Exception {
        List<Integer> brokers = new ArrayList<>();
        for (Node node : admin.describeCluster().nodes().get()) brokers.add(node.id());
        Collections.sort(brokers);
        Map<TopicPartition, Optional<NewPartitionReassignment>> moves = new HashMap<>();
        Map<TopicPartition, Integer> leaders = new HashMap<>();
        for (TopicPartitionInfo one : describe(admin, topic)) {
            int at = brokers.indexOf(one.leader().id()) + 1;
            List<Integer> replicas = List.of(
                brokers.get(at % brokers.size()), brokers.get((at + 1) % brokers.size()));
            TopicPartition partition = new TopicPartition(topic, one.partition());
            moves.put(partition, Optional.of(new NewPartitionReassignment(replicas)));
            leaders.put(partition, replicas.get(0));
        }
        admin.alterPartitionReassignments(moves).all().get();
        await("reassignments", () -> admin.listPartitionReassignments(moves.keySet())
            .reassignments().get().isEmpty());
        await("leaders of " + topic, () -> {
            admin.electLeaders(ElectionType.PREFERRED, moves.keySet()).partitions().get();
            boolean isMoved = true;
            for (TopicPartitionInfo one : describe(admin, topic))
                isMoved &= one.leader().id()
                    == leaders.get(new TopicPartition(topic, one.partition()));
            return isMoved;
        });
    }

    /** The partitions, once whoever answers has heard of the topic and of all its leaders. */
    static List<TopicPartitionInfo> describe(Admin admin, String topic) throws Exception {
        List<TopicPartitionInfo> partitions = new ArrayList<>();
        await("leaders of " + topic, () -> {
            partitions.clear();
            try {
                partitions.addAll(admin.describeTopics(List.of(topic)).allTopicNames().get()
                    .get(topic).partitions());
            } catch (ExecutionException ended) {
                if (!(ended.getCause() instanceof UnknownTopicOrPartitionException)) throw ended;
            }
            return !partitions.isEmpty()
                && partitions.stream().allMatch(one -> one.leader() != null);
        });
        return partitions;
    }

    static void administerGroup(Admin admin, String topic) throws Exception {
        String group = run + "-moved";
        TopicPartition partition = new TopicPartition(topic, 1);
        check(admin.listConsumerGroups().all().get().stream()
            .anyMatch(one -> one.groupId().equals(group)), "a listed group");
        await("an empty group", () -> admin.describeConsumerGroups(List.of(group)).all().get()
            .get(group).members().isEmpty());
        check(offsetOf(admin, group, partition) > 0, "a committed offset");
        admin.alterConsumerGroupOffsets(group, Map.of(partition, new OffsetAndMetadata(1)))
            .all().get();
        check(offsetOf(admin, group, partition) == 1, "an altered offset");
        admin.deleteConsumerGroupOffsets(group, Set.of(partition)).all().get();
        check(offsetOf(admin, group, partition) == -1, "a deleted offset");
        admin.deleteConsumerGroups(List.of(group)).all().get();
        check(admin.listConsumerGroups().all().get().stream()
            .noneMatch(one -> one.groupId().equals(group)), "no group");
    }

    static long offsetOf(Admin admin, String group, TopicPartition partition) throws Exception {
        OffsetAndMetadata offset = admin.listConsumerGroupOffsets(group)
            .partitionsToOffsetAndMetadata().get().get(partition);
        return offset == null ? -1 : offset.offset();
    }

    /** Writes until told, and keeps account of what failed. */
    static class Writer extends Thread {
        private final String topic;
        private volatile boolean isOver;
        volatile long written;
        private Exception failure;

        Writer(String topic) {
            this.topic = topic;
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(
                    common("writer"), new StringSerializer(), new StringSerializer())) {
                while (!isOver) {
                    List<Future<?>> sent = new ArrayList<>();
                    for (int part = 0; part < PARTITIONS; part++)
                        sent.add(producer.send(new ProducerRecord<>(
                            topic, part, null, "" + (written + part))));
                    for (Future<?> one : sent) one.get();
                    written += sent.size();
                }
            } catch (Exception error) {
                failure = error;
            }
        }

        void stopAndCheck() throws Exception {
            isOver = true;
            join(120_000);
            check(!isAlive() && failure == null, "writer: " + failure);
        }
    }

    /** Reads until it has as many different records as were written, and commits. */
    static class Reader extends Thread {
        private final String topic;
        final Set<String> seen = new HashSet<>();
        volatile long wanted = Long.MAX_VALUE;
        Exception failure;

        Reader(String topic) {
            this.topic = topic;
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            Properties properties = common("reader");
            properties.put("group.id", topic);
            properties.put("auto.offset.reset", "earliest");
            try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                    properties, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of(topic));
                while (seen.size() < wanted)
                    consumer.poll(Duration.ofMillis(100)).forEach(one -> seen.add(one.value()));
                consumer.commitSync();
            } catch (Exception error) {
                failure = error;
            }
        }
    }
}
