import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;

/** Sets, lists, describes and deletes one subscription through Kafka's own admin client. */
public class AdministerSubscriptions {
    public static void main(String[] args) throws Exception {
        ConfigResource resource =
            new ConfigResource(ConfigResource.Type.CLIENT_METRICS, args[1]);
        ConfigEntry entry = new ConfigEntry("metrics", "a.,b.");
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
            alter(admin, resource, entry, OpType.SET);
            System.out.println("listed " + isListed(admin, args[1], true));
            System.out.println("described " + admin.describeConfigs(List.of(resource))
                .all().get().get(resource).get("metrics").value());
            try {
                alter(admin, resource, new ConfigEntry("interval.ms", "1"), OpType.SET);
            } catch (ExecutionException error) {
                System.out.println("refused " + error.getCause().getMessage());
            }
            try {
                ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "t");
                admin.describeConfigs(List.of(topic)).all().get();
            } catch (ExecutionException error) {
                System.out.println("topic " + error.getCause().getClass().getSimpleName());
            }
            alter(admin, resource, entry, OpType.DELETE);
            System.out.println("listed " + isListed(admin, args[1], false));
        }
    }

    /** Brokers hear of a change a little after the controller has answered. */
    @SuppressWarnings("removal")
    private static boolean isListed(Admin admin, String name, boolean isExpected)
            throws Exception {
        boolean isListed = !isExpected;
        for (int attempt = 0; attempt < 1000 && isListed != isExpected; attempt++) {
            isListed = admin.listClientMetricsResources().all().get()
                .stream().anyMatch(one -> one.name().equals(name));
        }
        return isListed;
    }

    private static void alter(
            Admin admin, ConfigResource resource, ConfigEntry entry, OpType type)
            throws Exception {
        Collection<AlterConfigOp> changes = List.of(new AlterConfigOp(entry, type));
        admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
    }
}
