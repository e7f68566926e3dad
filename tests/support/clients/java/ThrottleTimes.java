import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import kafka.server.ClientRequestQuotaManager;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/**
 * A broker's own throttle times, by a clock that is moved by hand. Reads `begin KIND SAMPLES
 * SECONDS LIMIT`, where KIND is `bytes` or `time`, `limit LIMIT` and `record VALUE MS`, and
 * answers for each `begin` one line: the throttle time of each record behind it.
 */
public class ThrottleTimes {
    private static final Clock CLOCK = new Clock();
    private static final Map<String, ClientQuotaManager> MANAGERS = new HashMap<>();
    private static final StringBuilder ANSWERS = new StringBuilder();
    private static int users = 0;

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        ClientQuotaManager manager = null;
        Session session = null;
        for (String line; (line = lines.readLine()) != null;) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "begin" -> {
                    manager = find(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]));
                    KafkaPrincipal user = new KafkaPrincipal(KafkaPrincipal.USER_TYPE, "u" + ++users);
                    session = new Session(user, InetAddress.getLoopbackAddress());
                    limit(manager, words[4]);
                    ANSWERS.append('\n');
                }
                case "limit" -> limit(manager, words[1]);
                default -> {
                    CLOCK.nowMs = Long.parseLong(words[2]);
                    double value = Double.parseDouble(words[1]);
                    ANSWERS.append(manager.recordAndGetThrottleTimeMs(session, "c", value, CLOCK.nowMs)).append(' ');
                }
            }
        }
        System.out.println(ANSWERS.append("\nused"));
        System.exit(0);
    }

    private static void limit(ClientQuotaManager manager, String limit) {
        manager.updateQuota(
            Optional.of(new ClientQuotaManager.UserEntity("u" + users)),
            Optional.empty(),
            Optional.of(new Quota(Double.parseDouble(limit), true)));
    }

    private static ClientQuotaManager find(String kind, int samples, int seconds) {
        return MANAGERS.computeIfAbsent(kind + samples + "-" + seconds, name -> {
            ClientQuotaManagerConfig config = new ClientQuotaManagerConfig(samples, seconds);
            Metrics metrics = new Metrics(CLOCK);
            return kind.equals("time")
                ? new ClientRequestQuotaManager(config, metrics, CLOCK, "", Optional.empty())
                : new ClientQuotaManager(config, metrics, QuotaType.PRODUCE, CLOCK, "");
        });
    }

    private static class Clock implements Time {
        private long nowMs = 1;

        @Override
        public long milliseconds() {
            return nowMs;
        }

        @Override
        public long nanoseconds() {
            return nowMs * 1_000_000;
        }

        @Override
        public long hiResClockMs() {
            return nowMs;
        }

        @Override
        public void sleep(long ms) {
            nowMs += ms;
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Timer timer(long timeoutMs) {
            return Time.SYSTEM.timer(timeoutMs);
        }
    }
}
