import java.io.BufferedReader;
import java.io.InputStreamReader;
import kafka.admin.ConfigCommand;
import org.apache.kafka.common.utils.Exit;

/**
 * Kafka's own kafka-configs, once a line of standard input, in one JVM: words of its
 * command line, separated by tabs. After what a call prints comes a line `exit CODE`.
 */
public class RunConfigs {
    private static class Ended extends RuntimeException {
        private final int code;

        Ended(int code) {
            this.code = code;
        }
    }

    public static void main(String[] args) throws Exception {
        Exit.setExitProcedure((code, message) -> {
            throw new Ended(code);
        });
        // Where the two come in turns, they stay in order.
        System.setErr(System.out);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null;) {
            int code = 0;
            try {
                ConfigCommand.main(line.split("\t", -1));
            } catch (Ended ended) {
                code = ended.code;
            }
            System.out.println("exit " + code);
            System.out.flush();
        }
    }
}
