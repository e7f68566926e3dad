import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;

/** Reads lines of a ConfigDef.Type and a text in Base64; says what parseType makes of it. */
public class ParsesInJava {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder answers = new StringBuilder();
        for (String line; (line = lines.readLine()) != null;) {
            String[] parts = line.split(" ", -1);
            byte[] text = Base64.getDecoder().decode(parts[1]);
            answers.append(ask(parts[0], new String(text, StandardCharsets.UTF_8)));
            answers.append('\n');
        }
        System.out.print(answers);
    }

    private static String ask(String type, String text) {
        try {
            return show(ConfigDef.parseType("key", text, ConfigDef.Type.valueOf(type)));
        } catch (ConfigException error) {
            return "invalid_value";
        }
    }

    private static String show(Object value) {
        if (value instanceof Double) {
            return Long.toHexString(Double.doubleToLongBits((Double) value));
        }
        if (value instanceof List) {
            return ((List<?>) value).stream().map(ParsesInJava::show)
                .collect(Collectors.joining(",", "[", "]"));
        }
        if (value instanceof String) {
            byte[] bytes = ((String) value).getBytes(StandardCharsets.UTF_8);
            return Base64.getEncoder().encodeToString(bytes);
        }
        return String.valueOf(value);
    }
}
