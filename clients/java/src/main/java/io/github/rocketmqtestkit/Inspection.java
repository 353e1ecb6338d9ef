package io.github.rocketmqtestkit;

import java.util.List;
import java.util.function.Function;

/** Lists everything that an emulator holds. Its calls change nothing. */
public final class Inspection {
    private final Control control;

    Inspection(Control control) {
        this.control = control;
    }

    /** Returns all topics, also those of the brokers themselves. */
    public List<TopicView> topics() {
        return list("/v1/inspect/topics", "topics", TopicView::new);
    }

    /** Returns the queues of a topic with the progress of each group. */
    public List<QueueView> queues(String topic) {
        return list(Control.with("/v1/inspect/queues", "topic", topic), "queues", QueueView::new);
    }

    /** Returns the stored records of a topic's messages in every state. */
    public List<InspectedMessage> messages(String topic) {
        return messages(topic, "");
    }

    /**
     * Returns the stored records of a topic's messages in one state: {@code stored}, {@code delayed}, {@code timed},
     * {@code half}, {@code discarded}, {@code retry} or {@code dead}.
     */
    public List<InspectedMessage> messages(String topic, String state) {
        String path = Control.with("/v1/inspect/messages", "topic", topic, "state", state);
        return list(path, "messages", InspectedMessage::new);
    }

    /** Returns the same as {@link #messages(String, String)}, with the bytes of each record. */
    public List<InspectedMessage> records(String topic, String state) {
        String path = Control.with("/v1/inspect/messages", "topic", topic, "state", state, "record", true);
        return list(path, "messages", InspectedMessage::new);
    }

    /** Returns the messages in flight of all groups. */
    public List<ReceiptView> receipts() {
        return receipts("");
    }

    /** Returns the messages in flight of a group. */
    public List<ReceiptView> receipts(String group) {
        return list(Control.with("/v1/inspect/receipts", "group", group), "receipts", ReceiptView::new);
    }

    /** Returns the queues that orderly consumers have locked. */
    public List<LockView> locks() {
        return list("/v1/inspect/locks", "locks", LockView::new);
    }

    /** Returns the delayed and timed messages, the next first. */
    public List<TimerView> timers() {
        return list("/v1/inspect/timers", "timers", TimerView::new);
    }

    /** Returns the half messages whose transactions are not decided, with their checks. */
    public List<HalfView> halfMessages() {
        return list("/v1/inspect/half-messages", "half_messages", HalfView::new);
    }

    /** Returns the consumer groups with members, subscriptions and disagreements. */
    public List<GroupView> groups() {
        return list("/v1/inspect/groups", "groups", GroupView::new);
    }

    /** Returns one consumer group; {@link GroupView#exists} is false if there is none. */
    public GroupView group(String name) {
        return new GroupView(control.read(Control.with("/v1/inspect/group", "group", name)).object("group"));
    }

    /** Returns the queues of a topic with the members of a group that request them. */
    public List<AssignmentView> assignments(String group, String topic) {
        String path = Control.with("/v1/inspect/assignments", "group", group, "topic", topic);
        return list(path, "assignments", AssignmentView::new);
    }

    /** Returns the connections of clients. */
    public List<ConnectionView> connections() {
        return list("/v1/inspect/connections", "connections", ConnectionView::new);
    }

    /** Returns the long polls that wait at brokers. */
    public List<PollView> polls() {
        return list("/v1/inspect/polls", "polls", PollView::new);
    }

    /** Returns the rules of faults. */
    public List<RuleView> rules() {
        return list("/v1/inspect/rules", "rules", RuleView::new);
    }

    /** Returns the effective configuration of all nodes, with the origin of each value. */
    public List<KeyView> configuration() {
        return configuration("");
    }

    /** Returns the effective configuration of a broker, of {@code namesrv}, {@code proxy} or {@code emulation}. */
    public List<KeyView> configuration(String node) {
        return list(Control.with("/v1/inspect/configuration", "node", node), "configuration", KeyView::new);
    }

    private <T> List<T> list(String path, String field, Function<Fields, T> create) {
        return control.read(path).list(field, create);
    }
}
