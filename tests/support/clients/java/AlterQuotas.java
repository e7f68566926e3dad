import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterClientQuotasOptions;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;

/**
 * What a cluster says of quotas. Lines: `try KEY VALUE ENTITY…` and `set KEY VALUE
 * ENTITY…` answer `taken` or the text of the refusal in Base64 (`try` changes nothing;
 * the value `-` removes); `count loose|strict VALUE COMPONENT…` answers how many entities
 * with that value there are. An entity is `TYPE=` with a name in Base64, or `TYPE*` for the default; a
 * component may be `TYPE?` as well, for any.
 */
public class AlterQuotas {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder answers = new StringBuilder();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
            for (String line; (line = lines.readLine()) != null;) {
                String[] words = line.split(" ");
                String answer = words[0].equals("count") ? count(admin, words) : alter(admin, words);
                answers.append("answer ").append(answer).append('\n');
            }
        }
        System.out.print(answers);
    }

    private static String alter(Admin admin, String[] words) throws Exception {
        Map<String, String> entries = new HashMap<>();
        for (int place = 3; place < words.length; place++) {
            String[] part = part(words[place]);
            entries.put(part[0], part[2]);
        }
        Double value = words[2].equals("-") ? null : Double.valueOf(words[2]);
        ClientQuotaAlteration alteration = new ClientQuotaAlteration(
            new ClientQuotaEntity(entries), List.of(new ClientQuotaAlteration.Op(words[1], value)));
        try {
            AlterClientQuotasOptions options = new AlterClientQuotasOptions().validateOnly(words[0].equals("try"));
            admin.alterClientQuotas(List.of(alteration), options).all().get();
            return "taken";
        } catch (ExecutionException error) {
            return "=" + Base64.getEncoder().encodeToString(error.getCause().getMessage().getBytes(StandardCharsets.UTF_8));
        }
    }

    private static String count(Admin admin, String[] words) throws Exception {
        List<ClientQuotaFilterComponent> components = new ArrayList<>();
        for (int place = 3; place < words.length; place++) {
            String[] part = part(words[place]);
            components.add(switch (part[1]) {
                case "*" -> ClientQuotaFilterComponent.ofDefaultEntity(part[0]);
                case "?" -> ClientQuotaFilterComponent.ofEntityType(part[0]);
                default -> ClientQuotaFilterComponent.ofEntity(part[0], part[2]);
            });
        }
        ClientQuotaFilter filter = words[1].equals("strict")
            ? ClientQuotaFilter.containsOnly(components) : ClientQuotaFilter.contains(components);
        return String.valueOf(admin.describeClientQuotas(filter).entities().get().values().stream()
            .filter(quotas -> quotas.containsValue(Double.valueOf(words[2]))).count());
    }

    private static String[] part(String word) {
        int end = word.replaceFirst("[=*?].*$", "").length();
        String name = word.charAt(end) != '=' ? null
            : new String(Base64.getDecoder().decode(word.substring(end + 1)), StandardCharsets.UTF_8);
        return new String[] {word.substring(0, end), word.substring(end, end + 1), name};
    }
}
