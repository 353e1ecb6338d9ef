package io.github.rocketmqtestkit;

import java.util.ArrayList;
import java.util.List;

/** The text about the messages of a failed test that not every group has acknowledged. */
final class Report {
    private static final String ACKNOWLEDGED = "ACKNOWLEDGED";
    private static final int HISTORIES_MAX = 10;

    private Report() {}

    /** Returns explanations and histories; an empty text if there is no such message. */
    static String of(RocketMQ mq) {
        List<String> lines = new ArrayList<>();
        int left = 0;
        for (TopicInfo topic : mq.topics()) {
            for (Message message : messages(mq, topic.name())) {
                List<String> unfinished = unfinished(mq, message);
                if (unfinished.isEmpty()) {
                    continue;
                }
                left++;
                if (left <= HISTORIES_MAX) {
                    lines.addAll(unfinished);
                    lines.add(mq.history(message.id()).toString());
                }
            }
        }
        if (left > HISTORIES_MAX) {
            lines.add("and further messages: " + (left - HISTORIES_MAX));
        }
        return String.join("\n", lines);
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
            if (!group.reason().equals(ACKNOWLEDGED)) {
                sentences.add(group.sentence());
            }
        }
        return sentences;
    }
}
