package io.github.rocketmqtestkit;

import java.util.Base64;
import java.util.List;
import java.util.Map;

/** Keeps states of an emulator, to which it can return. */
public final class Snapshots {
    private final Control control;

    Snapshots(Control control) {
        this.control = control;
    }

    /** Keeps the present state, with all messages, offsets and the time. */
    public Snapshot create() {
        return new Snapshot(control.write("/v1/snapshots", null));
    }

    /** Returns the kept snapshots, oldest first. */
    public List<Snapshot> list() {
        return control.read("/v1/snapshots").list("snapshots", Snapshot::new);
    }

    /** Deletes a kept snapshot. */
    public void delete(String id) {
        control.delete("/v1/snapshots/" + Control.encoded(id));
    }

    /** Returns to a kept snapshot. Connections of clients are closed. */
    public void restore(String id) {
        control.post("/v1/restore", Map.of("snapshot", id));
    }

    /** Returns the present state as the content of a file. */
    public byte[] save() {
        return control.bytes("/v1/snapshot");
    }

    /** Returns to the state of a file that {@link #save} has returned, also of another emulator. */
    public void load(byte[] content) {
        control.post("/v1/restore", Map.of("content", Base64.getEncoder().encodeToString(content)));
    }
}
