package io.github.rocketmqtestkit;

import java.util.Map;

/** An emulator does not start or does not respond, or its control port has refused a request. */
public class RocketMQException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int status;
    private final String kind;
    private final String field;
    private final String nearest;

    RocketMQException(String message) {
        this(message, null);
    }

    RocketMQException(String message, Throwable cause) {
        super(message, cause);
        status = 0;
        kind = "";
        field = "";
        nearest = "";
    }

    /** A refusal of the control port (application/problem+json). */
    RocketMQException(int status, Map<String, Object> problem) {
        super(new Fields(problem).text("detail"));
        Fields fields = new Fields(problem);
        this.status = status;
        kind = fields.text("type");
        field = fields.text("field");
        nearest = fields.text("nearest");
    }

    /** Returns the HTTP status of a refusal, such as 404; 0 for other errors. */
    public int status() {
        return status;
    }

    /** Returns the kind of a refusal, such as urn:rocketmq-testkit:problem:not-found; else an empty text. */
    public String kind() {
        return kind;
    }

    /** Returns the field or parameter that is wrong; an empty text if it is not one. */
    public String field() {
        return field;
    }

    /** Returns the nearest name that exists if a name is wrong; else an empty text. */
    public String nearest() {
        return nearest;
    }

    /** Returns true for a topic, group, client, broker or rule that does not exist. */
    public boolean isNotFound() {
        return status == 404;
    }
}
