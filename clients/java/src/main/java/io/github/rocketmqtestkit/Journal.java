package io.github.rocketmqtestkit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** The requests of clients and their outcomes. */
public final class Journal {
    private final Control control;

    Journal(Control control) {
        this.control = control;
    }

    /** Returns lines, oldest first. */
    public JournalPage read(Lines wanted) {
        return new JournalPage(control.read(wanted.page("/v1/journal")));
    }

    /** Deletes all lines and returns their number. Later lines count from 0. */
    public long clear() {
        return new Fields(control.delete("/v1/journal")).number("deleted");
    }

    /**
     * Returns lines as a file in JSON Lines that rocketmq-audit and rocketmq-replay read, with the messages that topics
     * hold now.
     */
    public String export(Lines wanted) {
        return control.text(wanted.export(true));
    }

    /** Returns lines as {@link #export} does, without messages. */
    public String exportWithoutMessages(Lines wanted) {
        return control.text(wanted.export(false));
    }

    /**
     * Returns the lines that the journal has and gets. The stream waits for further lines, unless the selection has a
     * limit: close it, and ask for one element at a time. Lines count from 0 again after {@link #clear} and a reset.
     *
     * @throws RocketMQException if the journal drops lines before they are read; the stream throws it
     */
    public Stream<JournalEvent> follow(Lines wanted) {
        InputStream response = control.stream(wanted.page("/v1/journal/follow"));
        Followed events = new Followed(new BufferedReader(new InputStreamReader(response, StandardCharsets.UTF_8)));
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(events, Spliterator.ORDERED), false)
                .onClose(() -> close(response));
    }

    private static void close(InputStream response) {
        try {
            response.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reads server-sent events. */
    private static final class Followed implements Iterator<JournalEvent> {
        private final BufferedReader lines;
        private String event = "";
        private JournalEvent next;

        Followed(BufferedReader lines) {
            this.lines = lines;
        }

        @Override
        public boolean hasNext() {
            try {
                while (next == null) {
                    String line = lines.readLine();
                    if (line == null) {
                        return false;
                    }
                    read(line);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return true;
        }

        private void read(String line) {
            if (line.startsWith("event: ")) {
                event = line.substring("event: ".length());
            } else if (line.startsWith("data: ") && event.equals("dropped")) {
                throw new RocketMQException("the journal dropped lines before they were read; select fewer lines, or "
                        + "handle them faster: " + line);
            } else if (line.startsWith("data: ") && !event.equals("cleared")) {
                next = new JournalEvent(new Fields(Json.readObject(line.substring("data: ".length()))));
            }
        }

        @Override
        public JournalEvent next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            JournalEvent found = next;
            next = null;
            return found;
        }
    }
}
