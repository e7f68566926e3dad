import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.security.token.delegation.DelegationToken;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Producers that must log in again and again: one with a password, one with a delegation
 * token of another user. Arguments: servers, topic, owner, user, password.
 */
public class AuthenticateAgain {
    static final int TIMES = 3;
    static final String MODULES = "org.apache.kafka.common.security.";

    public static void main(String[] arguments) throws Exception {
        String password = arguments[4];
        Properties owner = common(arguments[0], "owner", "PLAIN",
            login("plain.PlainLoginModule", arguments[2], password, ""));
        DelegationToken token;
        try (Admin admin = Admin.create(owner)) {
            token = admin.createDelegationToken().delegationToken().get();
            // The broker learns of it a moment after the controller did.
            long end = System.nanoTime() + 120_000_000_000L;
            while (!admin.describeDelegationToken().delegationTokens().get().contains(token))
                if (System.nanoTime() > end) throw new IllegalStateException("no token");
        }
        List<KafkaProducer<String, String>> producers = new ArrayList<>();
        String scram = "scram.ScramLoginModule";
        producers.add(producer(common(arguments[0], "by-token", "SCRAM-SHA-256", login(
            scram, token.tokenInfo().tokenId(), token.hmacAsBase64String(), " tokenauth=true"))));
        producers.add(producer(common(arguments[0], "by-password", "SCRAM-SHA-256",
            login(scram, arguments[3], password, ""))));
        boolean isDone = false;
        while (!isDone) {
            isDone = true;
            for (KafkaProducer<String, String> one : producers) {
                one.send(new ProducerRecord<>(arguments[1], "value")).get();
                isDone &= count(one, "successful-reauthentication-total") >= TIMES;
            }
        }
        for (KafkaProducer<String, String> one : producers) {
            if (count(one, "failed-reauthentication-total") > 0
                    || count(one, "failed-authentication-total") > 0)
                throw new IllegalStateException("a login has failed");
            one.close();
        }
        System.out.println("used");
    }

    static Properties common(String servers, String name, String mechanism, String login) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("client.id", name);
        properties.put("security.protocol", "SASL_PLAINTEXT");
        properties.put("sasl.mechanism", mechanism);
        properties.put("sasl.jaas.config", login);
        return properties;
    }

    static String login(String module, String name, String password, String more) {
        return MODULES + module + " required username=\"" + name + "\" password=\"" + password
            + "\"" + more + ";";
    }

    static KafkaProducer<String, String> producer(Properties properties) {
        return new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
    }

    static double count(KafkaProducer<String, String> producer, String name) {
        double sum = 0;
        for (Map.Entry<MetricName, ? extends Metric> one : producer.metrics().entrySet())
            if (one.getKey().name().equals(name)
                    && one.getKey().group().equals("producer-metrics"))
                sum += (double) one.getValue().metricValue();
        return sum;
    }
}
