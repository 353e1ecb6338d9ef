package testkit.driver.grpc;

import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.rocketmq.client.apis.message.MessageId;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.ProducerBuilder;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;
import org.apache.rocketmq.client.java.impl.producer.SendReceiptImpl;
import testkit.driver.Answers;
import testkit.driver.Command;
import testkit.driver.Load;

/** The verbs of producers. */
final class Producers {
    private final Main main;

    Producers(Main main) {
        this.main = main;
    }

    void register() {
        main.loop.verb("producer", this::producer);
        main.loop.verb("send", command ->
            receipt(on(command).send(Messages.make(main.provider, command))));
        main.loop.verb("send_async", command ->
            receipt(on(command).sendAsync(Messages.make(main.provider, command)).get()));
        main.loop.verb("send_many", this::sendMany);
        main.loop.verb("send_tx", this::sendTx);
        if (Newer.method(Producer.class, "recallMessage", String.class, String.class) != null) {
            main.loop.verb("recall", this::recall);
        }
    }

    private Producer on(Command command) throws Exception {
        return main.loop.on(command, Producer.class);
    }

    private Map<String, Object> producer(Command command) throws Exception {
        main.loop.free(command);
        ProducerBuilder builder =
            main.provider.newProducerBuilder().setClientConfiguration(main.configuration(command));
        if (!command.texts("topics").isEmpty()) {
            builder.setTopics(command.texts("topics").toArray(new String[0]));
        }
        if (command.has("check")) {
            Answers answers = new Answers(main.loop, command);
            builder.setTransactionChecker(message ->
                TransactionResolution.valueOf(answers.checked(Messages.show(message, null), null)));
        }
        main.loop.keep(command, builder.build());
        return Map.of();
    }

    private Map<String, Object> sendMany(Command command) throws Exception {
        Producer producer = on(command);
        return Load.run(command, (body, key) -> producer.send(
            Messages.make(main.provider, command, body, key == null ? new String[0] : new String[] {key})));
    }

    private Map<String, Object> sendTx(Command command) throws Exception {
        TransactionResolution outcome = TransactionResolution.valueOf(command.text("outcome"));
        Producer producer = on(command);
        Transaction transaction = producer.beginTransaction();
        Map<String, Object> reply = receipt(producer.send(Messages.make(main.provider, command), transaction));
        if (outcome == TransactionResolution.COMMIT) {
            transaction.commit();
        } else if (outcome == TransactionResolution.ROLLBACK) {
            transaction.rollback();
        }
        return reply;
    }

    // What lacks it lacks RecallReceipt, too.
    private Map<String, Object> recall(Command command) throws Exception {
        Object receipt = Newer.method(Producer.class, "recallMessage", String.class, String.class)
            .invoke(on(command), command.text("topic"), command.text("handle"));
        Object id = Newer.method(Class.forName("org.apache.rocketmq.client.apis.producer.RecallReceipt"), "getMessageId")
            .invoke(receipt);
        return Map.of("id", ((MessageId) id).toString());
    }

    private static Map<String, Object> receipt(SendReceipt receipt) throws Exception {
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("id", receipt.getMessageId().toString());
        if (receipt instanceof SendReceiptImpl) {
            reply.put("offset", ((SendReceiptImpl) receipt).getOffset());
            reply.put("transaction", ((SendReceiptImpl) receipt).getTransactionId());
        }
        Method getter = Newer.method(SendReceipt.class, "getRecallHandle");
        Object handle = getter == null ? null : getter.invoke(receipt);
        // Empty for every message but a delayed one.
        reply.put("recall", "".equals(handle) ? null : handle);
        return reply;
    }
}
