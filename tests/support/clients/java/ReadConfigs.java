import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.AbstractConfig;

/**
 * Prints a config in force for each case. A case is the client type, the key and what is
 * set, as "producer:enable.idempotence:acks=1,retries=0". Each client is the first of its
 * kind in its process.
 */
public class ReadConfigs {
    public static void main(String[] cases) throws Exception {
        for (String one : cases) {
            String[] parts = one.split(":", 3);
            Properties properties = new Properties();
            properties.put("bootstrap.servers", "localhost:1");
            for (String set : parts[2].split(",")) {
                if (!set.isEmpty()) properties.put(set.split("=")[0], set.split("=", 2)[1]);
            }
            countAnew(ProducerConfig.class, "PRODUCER_CLIENT_ID_SEQUENCE");
            countAnew(ConsumerConfig.class, "CONSUMER_CLIENT_ID_SEQUENCE");
            AbstractConfig read = switch (parts[0]) {
                case "producer" -> producer(properties);
                case "consumer" -> consumer(properties);
                case "share-consumer" -> shareConsumer(properties);
                default -> new AdminClientConfig(properties);
            };
            System.out.println(read.values().get(parts[1]));
        }
        System.out.println("used");
    }

    static void countAnew(Class<?> configs, String name) throws Exception {
        var counter = configs.getDeclaredField(name);
        counter.setAccessible(true);
        ((AtomicInteger) counter.get(null)).set(1);
    }

    static AbstractConfig shareConsumer(Properties properties) throws Exception {
        properties.put("key.deserializer", org.apache.kafka.common.serialization.StringDeserializer.class);
        properties.put("value.deserializer", org.apache.kafka.common.serialization.StringDeserializer.class);
        var made = Class.forName("org.apache.kafka.clients.consumer.ShareConsumerConfig")
            .getDeclaredConstructor(Properties.class);
        made.setAccessible(true);
        return (AbstractConfig) made.newInstance(properties);
    }

    static ProducerConfig producer(Properties properties) {
        properties.put("key.serializer", org.apache.kafka.common.serialization.StringSerializer.class);
        properties.put("value.serializer", org.apache.kafka.common.serialization.StringSerializer.class);
        return new ProducerConfig(properties);
    }

    static ConsumerConfig consumer(Properties properties) {
        properties.put("key.deserializer", org.apache.kafka.common.serialization.StringDeserializer.class);
        properties.put("value.deserializer", org.apache.kafka.common.serialization.StringDeserializer.class);
        return new ConsumerConfig(properties);
    }
}
