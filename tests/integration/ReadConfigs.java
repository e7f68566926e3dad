import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;

/**
 * Prints a config in force for each case. A case is the client type, the key and what is
 * set, as "producer:enable.idempotence:acks=1,retries=0".
 */
public class ReadConfigs {
    public static void main(String[] cases) {
        for (String one : cases) {
            String[] parts = one.split(":", 3);
            Properties properties = new Properties();
            properties.put("bootstrap.servers", "localhost:1");
            for (String set : parts[2].split(",")) {
                if (!set.isEmpty()) properties.put(set.split("=")[0], set.split("=", 2)[1]);
            }
            System.out.println(parts[0].equals("producer")
                ? producer(properties).getBoolean(parts[1])
                : consumer(properties).getBoolean(parts[1]));
        }
        System.out.println("used");
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
