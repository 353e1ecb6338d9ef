package orders;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.rocketmq.client.annotation.RocketMQMessageListener;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.core.RocketMQListener;
import org.springframework.stereotype.Component;

/** Reads reminders. */
@Component
@RocketMQMessageListener(topic = "reminders", consumerGroup = "clerk", tag = "*")
public class Clerk implements RocketMQListener {
    private final List<String> read = new CopyOnWriteArrayList<>();

    @Override
    public ConsumeResult consume(MessageView message) {
        read.add(UTF_8.decode(message.getBody()).toString());
        return ConsumeResult.SUCCESS;
    }

    /** Returns the reminders so far. */
    public List<String> read() {
        return read;
    }
}
