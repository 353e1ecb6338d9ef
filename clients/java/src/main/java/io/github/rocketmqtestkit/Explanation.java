package io.github.rocketmqtestkit;

import java.util.List;
import java.util.stream.Collectors;

/** A verdict about a message or a group: what became of it, and why. */
public final class Explanation {
    private final Fields fields;

    Explanation(Fields fields) {
        this.fields = fields;
    }

    /** Returns the reason, such as ACKNOWLEDGED or FILTERED_BY_TAG. */
    public String reason() {
        return fields.text("reason");
    }

    /** Returns the verdict as one sentence. */
    public String sentence() {
        return fields.text("sentence");
    }

    /** Returns the sentences about what would change the verdict. */
    public List<String> changes() {
        return fields.objects("changes").stream().map(each -> each.text("sentence")).collect(Collectors.toList());
    }

    /** Returns a verdict for each group, if no group was named. */
    public List<Explanation> groups() {
        return fields.objects("groups").stream().map(Explanation::new).collect(Collectors.toList());
    }

    /** Returns the sentence. */
    @Override
    public String toString() {
        return sentence();
    }
}
