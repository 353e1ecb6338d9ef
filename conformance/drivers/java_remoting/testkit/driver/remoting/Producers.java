package testkit.driver.remoting;

import java.io.Closeable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.MessageQueueSelector;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import testkit.driver.Answers;
import testkit.driver.Command;
import testkit.driver.Load;
import testkit.driver.Refusal;

/** The verbs of producers. */
final class Producers {
    /** A queue by its number, as the selector's argument. */
    private static final MessageQueueSelector BY_NUMBER = (queues, message, number) -> queues.stream()
        .filter(queue -> queue.getQueueId() == (Integer) number).findFirst()
        .orElseThrow(() -> new IllegalArgumentException("the topic has no queue " + number));

    /** Whether the SDK lets one choose how bodies are compressed. */
    static final boolean COMPRESSES = Arrays.stream(DefaultMQProducer.class.getMethods())
        .anyMatch(method -> method.getName().equals("setCompressType"));

    private final Main main;

    Producers(Main main) {
        this.main = main;
    }

    void register() {
        main.loop.verb("producer", this::producer);
        main.loop.verb("send", this::send);
        main.loop.verb("send_async", this::sendAsync);
        main.loop.verb("oneway", this::oneway);
        main.loop.verb("send_batch", this::sendBatch);
        main.loop.verb("send_many", this::sendMany);
        main.loop.verb("send_tx", this::sendTx);
        if (Old.method(DefaultMQProducer.class, "recallMessage", String.class, String.class) != null) {
            main.loop.verb("recall", this::recall);
        }
        main.loop.verb("request", this::request);
    }

    private DefaultMQProducer on(Command command) throws Exception {
        return main.loop.on(command, Running.class).producer;
    }

    private Map<String, Object> producer(Command command) throws Exception {
        main.loop.free(command);
        String name = command.text("as");
        String group = command.text("group", "driver-producer-" + name);
        DefaultMQProducer producer;
        if (command.has("trace")) {
            if (command.has("check")) {
                throw new Refusal("Unsupported", "this driver traces no transactions");
            }
            producer = new DefaultMQProducer(group, main.signer, true, command.text("trace"));
        } else if (command.has("check")) {
            TransactionMQProducer transactional = new TransactionMQProducer(group, main.signer);
            transactional.setTransactionListener(new Decided(new Answers(main.loop, command)));
            producer = transactional;
        } else {
            producer = new DefaultMQProducer(group, main.signer);
        }
        if (command.has("compress")) {
            compress(producer, command.text("compress"));
        }
        producer.setSendLatencyFaultEnable(command.flag("latency_fault"));
        main.prepare(producer, command).start();
        main.loop.keep(command, new Running(producer));
        return Map.of();
    }

    /** Lets a producer compress every body. */
    private static void compress(DefaultMQProducer producer, String algorithm) throws Exception {
        if (!COMPRESSES) {
            throw new Refusal("Unsupported", "this SDK has one way to compress");
        }
        Old.setEnum(producer, "setCompressType", algorithm);
        producer.setCompressMsgBodyOverHowmuch(1);
    }

    private Map<String, Object> send(Command command) throws Exception {
        Message message = Messages.make(command);
        if (command.has("queue")) {
            return result(on(command).send(message, BY_NUMBER, (int) command.number("queue")));
        }
        if (command.has("group")) {
            return result(on(command).send(message, new SelectMessageQueueByHash(), command.text("group")));
        }
        return result(on(command).send(message));
    }

    private Map<String, Object> sendAsync(Command command) throws Exception {
        CompletableFuture<SendResult> done = new CompletableFuture<>();
        SendCallback callback = new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                done.complete(result);
            }

            @Override
            public void onException(Throwable error) {
                done.completeExceptionally(error);
            }
        };
        Message message = Messages.make(command);
        if (command.has("queue")) {
            on(command).send(message, BY_NUMBER, (int) command.number("queue"), callback);
        } else if (command.has("group")) {
            on(command).send(message, new SelectMessageQueueByHash(), command.text("group"), callback);
        } else {
            on(command).send(message, callback);
        }
        return result(done.get());
    }

    private Map<String, Object> oneway(Command command) throws Exception {
        Message message = Messages.make(command);
        if (command.has("queue")) {
            on(command).sendOneway(message, BY_NUMBER, (int) command.number("queue"));
        } else if (command.has("group")) {
            on(command).sendOneway(message, new SelectMessageQueueByHash(), command.text("group"));
        } else {
            on(command).sendOneway(message);
        }
        return Map.of();
    }

    private Map<String, Object> sendBatch(Command command) throws Exception {
        List<Message> messages = new ArrayList<>();
        for (Command one : command.commands("messages")) {
            messages.add(Messages.make(one));
        }
        SendResult sent = on(command).send(messages);
        Map<String, Object> reply = result(sent);
        reply.put("ids", List.of(sent.getMsgId().split(",")));
        return reply;
    }

    private Map<String, Object> sendMany(Command command) throws Exception {
        DefaultMQProducer producer = on(command);
        return Load.run(command, (body, key) -> {
            Message message = Messages.make(command, body);
            if (key != null) {
                message.setKeys(key);
            }
            producer.send(message);
        });
    }

    private Map<String, Object> sendTx(Command command) throws Exception {
        DefaultMQProducer producer = on(command);
        if (!(producer instanceof TransactionMQProducer)) {
            throw new Refusal("UnknownObject", command.text("on") + " was made without check: no transactions");
        }
        LocalTransactionState outcome = state(command.text("outcome"));
        return result(((TransactionMQProducer) producer).sendMessageInTransaction(Messages.make(command), outcome));
    }

    private Map<String, Object> recall(Command command) throws Exception {
        Object id = Old.call(Old.method(DefaultMQProducer.class, "recallMessage", String.class, String.class),
            on(command), command.text("topic"), command.text("handle"));
        return Map.of("id", String.valueOf(id));
    }

    private Map<String, Object> request(Command command) throws Exception {
        CompletableFuture<Message> done = new CompletableFuture<>();
        // 5.3.3's request that waits by itself fails as soon as the send is answered. The one with a callback works,
        // but is called with null then, and again with the reply.
        on(command).request(Messages.make(command), new RequestCallback() {
            @Override
            public void onSuccess(Message reply) {
                if (reply != null) {
                    done.complete(reply);
                }
            }

            @Override
            public void onException(Throwable error) {
                done.completeExceptionally(error);
            }
        }, command.number("timeout_ms", 3000L));
        return Map.of("message", Messages.show(done.get()));
    }

    private static Map<String, Object> result(SendResult result) throws Exception {
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("status", result.getSendStatus().name());
        reply.put("id", result.getMsgId());
        reply.put("offset", result.getQueueOffset());
        reply.put("queue", result.getMessageQueue() == null ? null : result.getMessageQueue().getQueueId());
        reply.put("transaction", result.getTransactionId());
        reply.put("offset_id", result.getOffsetMsgId());
        reply.put("recall", Old.method(SendResult.class, "getRecallHandle") == null
            ? null : Old.call(Old.method(SendResult.class, "getRecallHandle"), result));
        return reply;
    }

    private static LocalTransactionState state(String answer) throws Refusal {
        switch (answer) {
            case "COMMIT":
                return LocalTransactionState.COMMIT_MESSAGE;
            case "ROLLBACK":
                return LocalTransactionState.ROLLBACK_MESSAGE;
            case "UNKNOWN":
                return LocalTransactionState.UNKNOW;
            default:
                throw new Refusal("BadCommand", "not an outcome of a transaction: " + answer);
        }
    }

    /** A started producer. */
    static final class Running implements Closeable {
        final DefaultMQProducer producer;

        Running(DefaultMQProducer producer) {
            this.producer = producer;
        }

        @Override
        public void close() {
            producer.shutdown();
        }
    }

    /** Ends a transaction as the send said, and answers a check as the producer said. */
    private static final class Decided implements TransactionListener {
        private final Answers answers;

        Decided(Answers answers) {
            this.answers = answers;
        }

        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object outcome) {
            return (LocalTransactionState) outcome;
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            try {
                return state(answers.checked(Messages.show(message), message.getTransactionId()));
            } catch (Refusal e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
