package io.github.rocketmqtestkit;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Requests to the control port of an emulator. It has every verb of the
 * control API, also those for which the other classes have no method.
 */
public final class Control {
    private static final HttpClient CLIENT = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(30)).build();
    /** The longest time until a running emulator returns its addresses. */
    private static final Duration READY_MAX = Duration.ofSeconds(30);
    /** The version of Java since which a pending request can be canceled. */
    private static final int CANCELS_SINCE = 16;
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
        return send("GET", path, null, null);
    }

    /**
     * Sends POST with a body of maps, lists, texts, numbers and booleans, and returns the object of the response.
     *
     * @throws RocketMQException if it is refused
     */
    public Map<String, Object> post(String path, Map<String, ?> body) {
        return send("POST", path, body, null);
    }

    /**
     * Sends PATCH with a body, as of POST, and returns the object of the response.
     *
     * @throws RocketMQException if it is refused
     */
    public Map<String, Object> patch(String path, Map<String, ?> body) {
        return send("PATCH", path, body, null);
    }

    /**
     * Sends DELETE and returns the object of the response.
     *
     * @throws RocketMQException if it is refused
     */
    public Map<String, Object> delete(String path) {
        return send("DELETE", path, null, null);
    }

    /** Sends GET and returns the response as text. */
    String text(String path) {
        return new String(bytes(path), StandardCharsets.UTF_8);
    }

    /** Sends GET and returns the bytes of the response. */
    byte[] bytes(String path) {
        try (InputStream content = stream(path)) {
            return content.readAllBytes();
        } catch (IOException e) {
            throw unreachable(e);
        }
    }

    /** Sends GET and returns the response, which need not end. The caller closes it. */
    InputStream stream(String path) {
        HttpRequest request = request("GET", path, null, null);
        return opened("GET " + path, exchange("GET " + path, request, BodyHandlers.ofInputStream()));
    }

    /** Returns the addresses of a running emulator. */
    Fields ready() {
        return ready(READY_MAX);
    }

    Fields ready(Duration limit) {
        return new Fields(send("GET", "/readyz", null, limit));
    }

    /**
     * Sends a request and returns the response, which need not end. The caller closes it. If the thread is interrupted,
     * or the response does not begin within a time, the request ends.
     */
    LastingResponse lasting(String method, String path, Map<String, ?> body, Duration limit) {
        CompletableFuture<HttpResponse<InputStream>> pending =
                CLIENT.sendAsync(request(method, path, body, null), BodyHandlers.ofInputStream());
        try {
            return new LastingResponse(opened(method + " " + path, pending.get(limit.toMillis(), TimeUnit.MILLISECONDS)));
        } catch (ExecutionException e) {
            throw unreachable(e.getCause());
        } catch (TimeoutException e) {
            abandon(pending);
            throw new RocketMQException(base + ": the control port has not responded to " + method + " " + path + " within "
                    + limit.toMillis() + " ms; check that the emulator responds, and start it again if it does not", e);
        } catch (InterruptedException e) {
            abandon(pending);
            throw interrupted(method + " " + path, e);
        }
    }

    /** Ends a request. Java 11 cannot cancel it, so that the response is closed when it arrives. */
    private static void abandon(CompletableFuture<HttpResponse<InputStream>> pending) {
        pending.whenComplete((late, failure) -> {
            if (late != null) {
                closeQuietly(late.body());
            }
        });
        if (Runtime.version().feature() >= CANCELS_SINCE) {
            pending.cancel(true);
        }
    }

    private static void closeQuietly(InputStream response) {
        try {
            response.close();
        } catch (IOException e) {
            // The connection is gone already.
        }
    }

    /** Returns the body of a response. Throws an exception for a refusal. */
    private InputStream opened(String request, HttpResponse<InputStream> response) {
        if (response.statusCode() < 300) {
            return response.body();
        }
        try (InputStream refusal = response.body()) {
            throw refused(request, response.statusCode(), new String(refusal.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw unreachable(e);
        }
    }

    /** Returns a path with those parameters of a query that have a value. Names and values alternate. */
    static String with(String path, Object... pairs) {
        StringBuilder found = new StringBuilder(path);
        for (int at = 0; at < pairs.length; at += 2) {
            if (pairs[at + 1] != null && !pairs[at + 1].equals("")) {
                found.append(found.indexOf("?") < 0 ? '?' : '&').append(pairs[at]).append('=')
                        .append(encoded(pairs[at + 1].toString()));
            }
        }
        return found.toString();
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

    /** {@code limit}: the longest time until the response; null for no limit. */
    private Map<String, Object> send(String method, String path, Map<String, ?> body, Duration limit) {
        HttpRequest request = request(method, path, body, limit);
        HttpResponse<String> response =
                exchange(method + " " + path, request, BodyHandlers.ofString(StandardCharsets.UTF_8));
        String text = response.body();
        if (response.statusCode() < 300) {
            return text.isBlank() ? Map.of() : Json.readObject(text);
        }
        throw refused(method + " " + path, response.statusCode(), text);
    }

    private <T> HttpResponse<T> exchange(String name, HttpRequest request, HttpResponse.BodyHandler<T> handler) {
        try {
            return CLIENT.send(request, handler);
        } catch (IOException e) {
            throw unreachable(e);
        } catch (InterruptedException e) {
            throw interrupted(name, e);
        }
    }

    private HttpRequest request(String method, String path, Map<String, ?> body, Duration limit) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path));
        if (limit != null) {
            request.timeout(limit);
        }
        if (body == null) {
            request.method(method, HttpRequest.BodyPublishers.noBody());
        } else {
            request.method(method, HttpRequest.BodyPublishers.ofString(Json.write(body)));
            request.header("content-type", "application/json");
        }
        if (!token.isEmpty()) {
            request.header("authorization", "Bearer " + token);
        }
        return request.build();
    }

    private static RocketMQException interrupted(String request, InterruptedException cause) {
        Thread.currentThread().interrupt();
        return new RocketMQException(request + ": the thread was interrupted", cause);
    }

    private RocketMQException unreachable(Throwable cause) {
        String text = base + ": the control port does not respond; does the emulator run? " + cause;
        return new RocketMQException(text, cause);
    }

    /** Returns the exception about a refusal. Throws the AssertionError of an assertion that does not hold. */
    private static RocketMQException refused(String request, int status, String text) {
        Map<String, Object> problem;
        try {
            problem = Json.readObject(text);
        } catch (IllegalArgumentException e) {
            problem = Map.of("detail", request + ": HTTP " + status + ": " + text);
        }
        if (ASSERTION_FAILED.equals(problem.get("type"))) {
            throw new AssertionError(problem.get("detail"));
        }
        return new RocketMQException(status, problem);
    }
}
