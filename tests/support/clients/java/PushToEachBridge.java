import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A producer and a consumer of each group protocol for each bridge, in one Java.
 *
 * <p>Arguments: "idle" or "waiting", and for each bridge what client ids begin with and
 * its address. The clients live until a line comes. Then all are closed at once: as they
 * are, or once each waits for the answer to a request.
 */
public class PushToEachBridge {
    private static final List<String> PROTOCOLS = List.of("classic", "consumer");
    /** Before a bridge answers that Kafka has not taken a push. */
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final List<Producer<byte[], byte[]>> PRODUCERS = new ArrayList<>();
    private static final List<Consumer<byte[], byte[]>> CONSUMERS = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        for (int at = 1; at < arguments.length; at += 2) {
            makeClients(arguments[at], arguments[at + 1]);
        }
        Thread waiting = new Thread(PushToEachBridge::awaitInput);
        waiting.start();
        while (waiting.isAlive()) {
            pollInTurn();
        }
        long patienceEnds = System.nanoTime() + PATIENCE.toNanos();
        while (arguments[0].equals("waiting")
                && !areAllWaiting()
                && System.nanoTime() < patienceEnds) {
            pollInTurn();
        }
        closeAll();
    }

    private static void makeClients(String name, String servers) {
        ByteArraySerializer writer = new ByteArraySerializer();
        ByteArrayDeserializer reader = new ByteArrayDeserializer();
        PRODUCERS.add(new KafkaProducer<>(
                Map.of("bootstrap.servers", servers, "client.id", name + "-producer"),
                writer, writer));
        for (String protocol : PROTOCOLS) {
            CONSUMERS.add(new KafkaConsumer<>(
                    Map.of(
                            "bootstrap.servers", servers,
                            "client.id", name + "-" + protocol,
                            "group.protocol", protocol),
                    reader, reader));
            CONSUMERS.get(CONSUMERS.size() - 1)
                    .assign(List.of(new TopicPartition("nothing", 0)));
            CONSUMERS.get(CONSUMERS.size() - 1).seekToBeginning(List.of());
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

    /** Once for each of them, so that none waits long for its turn. */
    private static void pollInTurn() {
        Duration turn = Duration.ofMillis(100 / CONSUMERS.size());
        CONSUMERS.forEach(consumer -> consumer.poll(turn));
    }

    private static boolean areAllWaiting() {
        return PRODUCERS.stream().allMatch(one -> isWaiting(one.metrics()))
                && CONSUMERS.stream().allMatch(one -> isWaiting(one.metrics()));
    }

    private static boolean isWaiting(Map<MetricName, ? extends Metric> metrics) {
        return total(metrics, "request-total") > total(metrics, "response-total");
    }

    private static double total(Map<MetricName, ? extends Metric> metrics, String name) {
        return metrics.entrySet().stream()
                .filter(one -> one.getKey().name().equals(name)
                        && !one.getKey().group().contains("node"))
                .mapToDouble(one -> (Double) one.getValue().metricValue())
                .sum();
    }

    private static void closeAll() throws InterruptedException {
        List<Thread> closing = new ArrayList<>();
        CONSUMERS.forEach(one -> closing.add(new Thread(one::close)));
        PRODUCERS.forEach(one -> closing.add(new Thread(one::close)));
        closing.forEach(Thread::start);
        for (Thread one : closing) {
            while (Arrays.asList(Thread.State.RUNNABLE, Thread.State.BLOCKED)
                    .contains(one.getState())) {
                Thread.sleep(1);
            }
        }
        System.out.println("closing");
        for (Thread one : closing) {
            one.join();
        }
    }
}
