package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProcessTest {
    @Test
    void closedEmulatorHasEnded() {
        RocketMQ mq = RocketMQ.start("orders", "payments:FIFO:4");
        mq.topic("orders").assertBodies();
        mq.close();
        RocketMQException gone = assertThrows(RocketMQException.class, () -> mq.clock().now());
        assertTrue(gone.getMessage().contains("does the emulator run?"), gone.getMessage());
    }

    @Test
    void optionsReachTheCommand() {
        RocketMQ.Options options = new RocketMQ.Options().topics("orders").arguments("--brokers", "2");
        try (RocketMQ mq = RocketMQ.start(options)) {
            assertEquals(2, new Fields(mq.control().get("/v1/brokers")).objects("brokers").size());
        }
    }

    @Test
    void commandThatRefusesToStartIsQuoted() {
        RocketMQException refused = assertThrows(RocketMQException.class, () -> RocketMQ.start("orders:FIFOO"));
        String text = refused.getMessage();
        assertTrue(text.contains("FIFOO: has not become ready (it ended with code 2): rocketmq-emulator: --topic="), text);
    }

    @Test
    void commandIsFoundByPathThenVariableThenPathFolders(@TempDir Path folder) throws IOException {
        Path command = Files.createFile(folder.resolve("rocketmq-emulator"));
        assertTrue(command.toFile().setExecutable(true));
        assertEquals(List.of("/bin/sh"), Command.find("/bin/sh", command.toString(), ""));
        assertEquals(List.of(command.toString()), Command.find("", command.toString(), ""));
        assertEquals(List.of(command.toString()), Command.find("", "", "/nowhere:" + folder));
        RocketMQException missing = assertThrows(RocketMQException.class, () -> Command.find("", null, "/nowhere"));
        assertTrue(missing.getMessage().startsWith("rocketmq-emulator: there is no such command;"));
        RocketMQException wrong = assertThrows(
                RocketMQException.class, () -> Command.find("", "/nowhere/emulator", ""));
        assertEquals("ROCKETMQ_EMULATOR=/nowhere/emulator: is not a program; name the file rocketmq-emulator",
                wrong.getMessage());
    }

    @Test
    void packageOfPythonIsTheLastChoice(@TempDir Path folder) throws IOException {
        Path python = folder.resolve("python3");
        Files.writeString(python, "#!/bin/sh\nexit 0\n");
        assertTrue(python.toFile().setExecutable(true));
        assertEquals(List.of(python.toString(), "-m", "rocketmq_testkit.fixtures.command"),
                Command.find("", "", folder.toString()));
    }

    @Test
    void addressesAreThoseThatTheClientReaches() {
        Fields ready = new Fields(Json.readObject("{\"namesrv\": \"127.0.0.1:9876\", \"broker\": \"127.0.0.1:10911\", "
                + "\"endpoint\": \"127.0.0.1:8081\", \"advertised\": {\"endpoint\": \"mq.example:32768\"}}"));
        Addresses far = Addresses.seenFrom(URI.create("http://mq:8090"), ready);
        assertEquals(List.of("mq:9876", "mq:10911", "mq.example:32768"),
                List.of(far.nameServer, far.broker, far.endpoint));
        assertEquals("127.0.0.1:9876", Addresses.seenFrom(URI.create("http://localhost:1"), ready).nameServer);
        Fields of = new Fields(Map.of("namesrv", "10.0.0.7:9876"));
        assertEquals("10.0.0.7:9876", Addresses.seenFrom(URI.create("http://mq:8090"), of).nameServer);
    }
}
