package io.github.rocketmqtestkit;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
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
    /**
     * The time without a response after which another request checks that the emulator responds at all, and the limit of
     * that request. A request may take longer: a jump waits for clients.
     */
    private static final Duration SILENCE_MAX = Duration.ofSeconds(30);
    private static final String CHECK = "/healthz";
    /** The version of Java since which a pending request can be canceled. */
    private static final int CANCELS_SINCE = 16;
    private static final String ASSERTION_FAILED = "urn:rocketmq-testkit:problem:assertion-failed";

    private final String base;
    private final String token;
    private final Duration silence;

    Control(String base, String token) {
        this(base, token, SILENCE_MAX);
    }

    /** {@code silence}: the time without a response after which the request for {@link #CHECK} is sent. */
    Control(String base, String token, Duration silence) {
        this.silence = silence;
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
        HttpResponse<byte[]> response = exchange("GET " + path, request("GET", path, null, null), BodyHandlers.ofByteArray());
        if (response.statusCode() < 300) {
            return response.body();
        }
        throw refused("GET " + path, response.statusCode(), new String(response.body(), StandardCharsets.UTF_8));
    }

    /** Sends GET and returns the response, which need not end. The caller closes it. */
    InputStream stream(String path) {
        String name = "GET " + path;
        HttpRequest request = request("GET", path, null, null);
        return new WatchedStream(this, name, opened(name, exchange(name, request, BodyHandlers.ofInputStream())), silence);
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
            throw late(method + " " + path, limit, e);
        } catch (InterruptedException e) {
            abandon(pending);
            throw interrupted(method + " " + path, e);
        }
    }

    /** Ends a request. Java 11 cannot cancel it, so that the response is closed when it arrives. */
    private static void abandon(CompletableFuture<? extends HttpResponse<?>> pending) {
        pending.whenComplete((late, failure) -> {
            if (late != null && late.body() instanceof Closeable) {
                closeQuietly((Closeable) late.body());
            }
        });
        if (Runtime.version().feature() >= CANCELS_SINCE) {
            pending.cancel(true);
        }
    }

    static void closeQuietly(Closeable response) {
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

    /** Sends a request and waits for the response as long as the emulator responds to other requests. */
    private <T> HttpResponse<T> exchange(String name, HttpRequest request, HttpResponse.BodyHandler<T> handler) {
        long begin = System.nanoTime();
        CompletableFuture<HttpResponse<T>> pending = CLIENT.sendAsync(request, handler);
        try {
            while (!pending.isDone()) {
                try {
                    pending.get(silence.toMillis(), TimeUnit.MILLISECONDS);
                } catch (TimeoutException e) {
                    if (!responds() && !pending.isDone()) {
                        throw silent(name, Duration.ofNanos(System.nanoTime() - begin));
                    }
                }
            }
            return pending.get();
        } catch (ExecutionException e) {
            throw failed(name, request, e.getCause());
        } catch (InterruptedException e) {
            throw interrupted(name, e);
        } finally {
            if (!pending.isDone()) {
                abandon(pending);
            }
        }
    }

    /** Returns true if the emulator responds in time to a request that takes no time. */
    boolean responds() throws InterruptedException {
        try {
            CLIENT.send(request("GET", CHECK, null, silence), BodyHandlers.discarding());
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns the exception about an emulator that responds neither to a request nor to that for {@link #CHECK}. */
    RocketMQException silent(String request, Duration waited) {
        return new RocketMQException(base + ": the control port has responded neither to " + request + " for "
                + seconds(waited) + " nor to GET " + CHECK + " for " + seconds(silence) + "; check that the emulator's process "
                + "is not paused, and start it again if it does not respond");
    }

    private RocketMQException late(String request, Duration limit, Exception cause) {
        return new RocketMQException(base + ": the control port has not responded to " + request + " within " + seconds(limit)
                + "; check that the emulator's process is not paused, and start it again if it does not respond", cause);
    }

    private static String seconds(Duration length) {
        return BigDecimal.valueOf(length.toMillis(), 3).stripTrailingZeros().toPlainString() + " s";
    }

    private RocketMQException failed(String name, HttpRequest request, Throwable cause) {
        boolean isLate = cause instanceof HttpTimeoutException && !(cause instanceof HttpConnectTimeoutException);
        return isLate && request.timeout().isPresent()
                ? late(name, request.timeout().get(), (HttpTimeoutException) cause) : unreachable(cause);
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
        Throwable first = cause;
        while (first.getCause() != null) {
            first = first.getCause();
        }
        String why = first.toString().equals(cause.toString()) ? "" + cause : cause + ", caused by " + first;
        return new RocketMQException(base + ": the control port does not respond (" + why + "); does the emulator run?", cause);
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
