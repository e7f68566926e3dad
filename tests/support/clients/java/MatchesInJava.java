import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** Reads lines of a pattern and a text in Base64; says whether the whole text matches. */
public class MatchesInJava {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder answers = new StringBuilder();
        for (String line; (line = lines.readLine()) != null;) {
            String[] parts = line.split(" ", -1);
            answers.append(ask(decode(parts[0]), decode(parts[1]))).append('\n');
        }
        System.out.print(answers);
    }

    private static String ask(String pattern, String text) {
        try {
            return String.valueOf(Pattern.compile(pattern).matcher(text).matches());
        } catch (PatternSyntaxException error) {
            return "refused";
        }
    }

    private static String decode(String text) {
        return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
    }
}
