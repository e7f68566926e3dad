import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Sanitizer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaEntity.ConfigEntity;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/**
 * A broker's own quotas: reads `new`, `set USER CLIENT VALUE`, `remove USER CLIENT` and
 * `ask USER CLIENT`, and answers each `ask` with limit, user tag and client id tag.
 * A name is `=` and its Base64; `-` is none, `*` the default.
 */
public class ResolveQuotas {
    private static Metrics metrics;
    private static ClientQuotaManager manager;

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder answers = new StringBuilder();
        for (String line; (line = lines.readLine()) != null;) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "new" -> start();
                case "set" -> update(words, Optional.of(new Quota(Double.parseDouble(words[3]), true)));
                case "remove" -> update(words, Optional.empty());
                default -> answers.append(ask(decode(words[1]), decode(words[2]))).append('\n');
            }
        }
        stop();
        System.out.print(answers);
    }

    private static void start() throws Exception {
        stop();
        metrics = new Metrics();
        manager = new ClientQuotaManager(new ClientQuotaManagerConfig(), metrics, QuotaType.PRODUCE, Time.SYSTEM, "");
    }

    private static void stop() throws Exception {
        if (manager != null) {
            manager.shutdown();
            metrics.close();
        }
    }

    private static void update(String[] words, Optional<Quota> quota) {
        Optional<ConfigEntity> user = switch (words[1]) {
            case "-" -> Optional.empty();
            case "*" -> Optional.of(ClientQuotaManager.DEFAULT_USER_ENTITY);
            default -> Optional.of(new ClientQuotaManager.UserEntity(Sanitizer.sanitize(decode(words[1]))));
        };
        Optional<ConfigEntity> client = switch (words[2]) {
            case "-" -> Optional.empty();
            case "*" -> Optional.of(ClientQuotaManager.DEFAULT_USER_CLIENT_ID);
            default -> Optional.of(new ClientQuotaManager.ClientIdEntity(decode(words[2])));
        };
        manager.updateQuota(user, client, quota);
    }

    private static String ask(String user, String client) throws Exception {
        KafkaPrincipal principal = new KafkaPrincipal(KafkaPrincipal.USER_TYPE, user);
        Session session = new Session(principal, InetAddress.getLoopbackAddress());
        Map<String, String> tags = manager.getOrCreateQuotaSensors(session, client).metricTags();
        double limit = manager.quota(principal, client).bound();
        String userTag = tags.get("user");
        return limit + " " + encode(userTag) + " " + encode(tags.get("client-id"));
    }

    private static String decode(String word) {
        return new String(Base64.getDecoder().decode(word.substring(1)), StandardCharsets.UTF_8);
    }

    private static String encode(String text) {
        return "=" + Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
