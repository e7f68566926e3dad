import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.Base64;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.xerial.snappy.SnappyError;

/** Reads lines of a compression type and a push in Base64; says what Kafka reads of it. */
public class DecompressInJava {
    private static final byte MAGIC = 2;

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder answers = new StringBuilder();
        for (String line; (line = lines.readLine()) != null;) {
            String[] parts = line.split(" ", -1);
            byte[] body = Base64.getDecoder().decode(parts[1]);
            answers.append(ask(Integer.parseInt(parts[0]), body)).append('\n');
        }
        System.out.print(answers);
    }

    private static String ask(int type, byte[] body) {
        Compression compression = Compression.of(CompressionType.forId(type)).build();
        ByteBuffer buffer = ByteBuffer.wrap(body);
        try (InputStream in = compression.wrapForInput(buffer, MAGIC, BufferSupplier.NO_CACHING)) {
            return "read " + Base64.getEncoder().encodeToString(in.readAllBytes());
        } catch (Exception | SnappyError error) {
            return "refused " + error;
        }
    }
}
