package io.github.rocketmqtestkit;

import java.util.List;

/** The messages in the dead letter queue of a group. */
final class DeadLetters extends StoredMessages {
    DeadLetters(Control control, String group) {
        super(control, "%DLQ%" + group, "/v1/groups/" + Control.encoded(group) + "/dead-letters");
    }

    @Override
    public List<Message> list() {
        try {
            return super.list();
        } catch (RocketMQException e) {
            // A consumer registers its group some time after its start, and a condition may look earlier.
            if (e.isNotFound()) {
                return List.of();
            }
            throw e;
        }
    }
}
