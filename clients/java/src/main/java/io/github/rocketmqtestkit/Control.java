package io.github.rocketmqtestkit;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;

/**
 * Requests to the control port of an emulator. It has every verb of the
 * control API, also those for which the other classes have no method.
 */
public final class Control {
    private static final HttpClient CLIENT = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(30)).build();
    private static final String ASSERTION_FAILED = "urn:rocketmq-testkit:problem:assertion-failed";

    private final String base;
    private final String token;

    Control(String base, String token) {
        this.base = base.endsWith("/") ? base.substring(0, base.length() - 1) : base;
        this.token = token;
    }

    String base() {
        return base;
    }

    String token() {
        return token;
    }

    /**
     * Sends GET for a path such as {@code /v1/brokers} and returns the object of the response.
     *
     * @throws RocketMQException if it is refused
     */
    public Map<String, Object> get(String path) {
        return send("GET", path, null);
    }

    /**
     * Sends POST with a body of maps, lists, texts, numbers and booleans, and returns the object of the response.
     *
     * @throws RocketMQException if it is refused
     */
    public Map<String, Object> post(String path, Map<String, ?> body) {
        return send("POST", path, body);
    }

    /**
     * Sends PATCH with a body, as of POST, and returns the object of the response.
     *
     * @throws RocketMQException if it is refused
     */
    public Map<String, Object> patch(String path, Map<String, ?> body) {
        return send("PATCH", path, body);
    }

    /**
     * Sends DELETE and returns the object of the response.
     *
     * @throws RocketMQException if it is refused
     */
    public Map<String, Object> delete(String path) {
        return send("DELETE", path, null);
    }

    Fields read(String path) {
        return new Fields(get(path));
    }

    Fields write(String path, Map<String, ?> body) {
        return new Fields(post(path, body));
    }

    /** Returns a name in the form of one segment of a path, or of one value of a query. */
    static String encoded(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private Map<String, Object> send(String method, String path, Map<String, ?> body) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path));
        if (body == null) {
            request.method(method, HttpRequest.BodyPublishers.noBody());
        } else {
            request.method(method, HttpRequest.BodyPublishers.ofString(Json.write(body)));
            request.header("content-type", "application/json");
        }
        if (!token.isEmpty()) {
            request.header("authorization", "Bearer " + token);
        }
        HttpResponse<String> response;
        try {
            response = CLIENT.send(request.build(), BodyHandlers.ofString(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new RocketMQException(base + ": the control port does not respond; does the emulator run? " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RocketMQException(method + " " + path + ": the thread was interrupted", e);
        }
        return result(method + " " + path, response);
    }

    private static Map<String, Object> result(String request, HttpResponse<String> response) {
        String text = response.body();
        if (response.statusCode() < 300) {
            return text.isBlank() ? Map.of() : Json.readObject(text);
        }
        Map<String, Object> problem;
        try {
            problem = Json.readObject(text);
        } catch (IllegalArgumentException e) {
            problem = Map.of("detail", request + ": HTTP " + response.statusCode() + ": " + text);
        }
        if (ASSERTION_FAILED.equals(problem.get("type"))) {
            throw new AssertionError(problem.get("detail"));
        }
        throw new RocketMQException(response.statusCode(), problem);
    }
}
