package io.github.rocketmqtestkit;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The text about the messages of a failed test that not every group has acknowledged. */
final class Report {
    /** Verdicts of groups that have finished a message. Members of a broadcasting group report no acknowledgements. */
    private static final Set<String> DONE = Set.of("ACKNOWLEDGED", "BROADCAST");
    private static final int HISTORIES_MAX = 10;
    private static final String COPIES = "%";

    private Report() {}

    /**
     * Returns explanations and histories; an empty text if there is no such message. A message that brokers have copied
     * to retry topics and dead letter queues is there once: its history has the copies.
     */
    static String of(RocketMQ mq) {
        List<String> lines = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        int left = 0;
        for (String topic : topics(mq)) {
            for (Message message : messages(mq, topic)) {
                if (!seen.add(message.id())) {
                    continue;
                }
                List<String> unfinished = unfinished(mq, message);
                if (unfinished.isEmpty()) {
                    continue;
                }
                left++;
                if (left <= HISTORIES_MAX) {
                    lines.addAll(unfinished);
                    lines.add(mq.history(message.id(), null, message.topic()).toString());
                }
            }
        }
        if (left > HISTORIES_MAX) {
            lines.add("and further messages: " + (left - HISTORIES_MAX));
        }
        return String.join("\n", lines);
    }

    /** Returns the names of all topics, those with copies last: their messages may be in no other topic any more. */
    private static List<String> topics(RocketMQ mq) {
        List<String> names = new ArrayList<>();
        List<String> copies = new ArrayList<>();
        for (TopicInfo topic : mq.topics()) {
            (topic.name().startsWith(COPIES) ? copies : names).add(topic.name());
        }
        names.addAll(copies);
        return names;
    }

    private static List<Message> messages(RocketMQ mq, String topic) {
        try {
            return mq.topic(topic).list();
        } catch (RocketMQException e) {
            if (e.isNotFound()) {
                return List.of(); // deleted meanwhile
            }
            throw e;
        }
    }

    private static List<String> unfinished(RocketMQ mq, Message message) {
        Explanation explained = mq.explain(message.id(), null, message.topic());
        if (explained.groups().isEmpty()) {
            return List.of(explained.sentence());
        }
        List<String> sentences = new ArrayList<>();
        for (Explanation group : explained.groups()) {
            if (!DONE.contains(group.reason())) {
                sentences.add(group.sentence());
            }
        }
        return sentences;
    }
}
