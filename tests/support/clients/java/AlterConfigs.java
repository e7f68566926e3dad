import java.io.BufferedReader;
import java.io.InputStreamReader;
import kafka.admin.ConfigCommand;

/**
 * Kafka's own kafka-configs, once a line of standard input, in one JVM: words of its
 * command line, separated by tabs. It ends the JVM where it fails.
 */
public class AlterConfigs {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null;) {
            ConfigCommand.main(line.split("\t"));
        }
        System.out.println("used");
    }
}
