import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Parley as a fake peer and as a judge, with the standard library alone. */
public class ParleyTest {
    static final String PARLEY = System.getenv().getOrDefault("PARLEY", "parley");
    static final HttpClient HTTP = HttpClient.newHttpClient();

    /** Your client would connect to the peer: here it is an HTTP client that reads the first events of the stream. */
    static void fakePeer() throws Exception {
        Process parley = new ProcessBuilder(PARLEY, "simulate", "--protocol", "agent-select", "--as", "server")
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(parley.getInputStream()))) {
            String api = lines.readLine() + "/api/v1/sessions/1";
            String server = lines.readLine();
            HttpResponse<Stream<String>> stream = HTTP.send(HttpRequest.newBuilder(URI.create(server + "/events")).build(),
                    HttpResponse.BodyHandlers.ofLines());
            try (Stream<String> body = stream.body()) {
                List<String> events = body.filter(l -> l.startsWith("data:")).limit(2).toList();
                check(events.get(0).contains("\"connected\""), "first came " + events.get(0));
                check(events.get(1).contains("\"agent_list\""), "then came " + events.get(1));
            }
            // what the peer has sent and received, as a test would look at it
            String wait = "{\"type\":\"agent_list\",\"dir\":\"sent\",\"within\":\"5s\"}";
            HttpResponse<String> sent = HTTP.send(HttpRequest.newBuilder(URI.create(api + "/wait"))
                    .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(wait)).build(),
                    HttpResponse.BodyHandlers.ofString());
            check(sent.statusCode() == 200, "no agent_list was sent: " + sent.body());
        } finally {
            parley.destroy();
            parley.waitFor();
        }
    }

    /** Parley judges a server. Exit 0: it conforms in what was selected; 1: it does not; anything else: it was not judged. */
    static void judge() throws Exception {
        Path out = Files.createTempDirectory("parley-");
        Path profile = Path.of("..", "..", "profiles", "python.yaml"); // your profile, or a URL
        Process run = new ProcessBuilder(PARLEY, "run", "--target", profile.toString(), "--driver", "sse", "--tags",
                "@AS-042 or @AS-080", "--allow-incomplete", "--format", "console,junit", "--out", out.toString())
                .redirectErrorStream(true).start();
        String told = new String(run.getInputStream().readAllBytes());
        check(run.waitFor() == 0, told);
        check(Files.readString(out.resolve("junit.xml")).contains("<testcase"), "junit.xml has no test cases");
        try (Stream<Path> all = Files.walk(out)) {
            for (Path p : all.sorted((a, b) -> b.compareTo(a)).toList()) {
                Files.delete(p);
            }
        }
    }

    static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    public static void main(String[] args) throws Exception {
        fakePeer();
        judge();
        System.out.println("2 tests passed");
    }
}
