package io.github.rocketmqtestkit;

import org.junit.jupiter.api.extension.ExtensionContext;

/** Adds the history of messages to the failure of a test, which IDEs and build tools print. */
public final class FailureReport {
    private FailureReport() {}

    /** Adds {@link RocketMQ#report} to a failure, and publishes it as an entry of the JUnit report. */
    public static void publish(RocketMQ mq, ExtensionContext context, Throwable failure) {
        String report;
        try {
            report = mq.report();
        } catch (RocketMQException e) {
            report = "no report: " + e.getMessage();
        }
        if (!report.isEmpty()) {
            failure.addSuppressed(new UnfinishedMessages(report));
            context.publishReportEntry("rocketmq", report);
        }
    }

    /** The report as a part of the failure. It has no stack trace. */
    static final class UnfinishedMessages extends Throwable {
        private static final long serialVersionUID = 1;

        UnfinishedMessages(String report) {
            super("messages that are not acknowledged:\n" + report, null, false, false);
        }

        @Override
        public String toString() {
            return getMessage();
        }
    }
}
