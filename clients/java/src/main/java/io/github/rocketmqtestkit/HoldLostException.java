package io.github.rocketmqtestkit;

/**
 * The connection that held an emulator for a test was lost before the test ended, because the emulator stopped or the
 * connection was cut. Another test may have reset the emulator meanwhile.
 */
public final class HoldLostException extends RocketMQException {
    private static final long serialVersionUID = 1;

    HoldLostException(String url, String test) {
        super(url + ": the hold of " + test + " was lost before its end, because the emulator stopped or the connection was "
                + "cut; another test may have reset the emulator meanwhile; check that the emulator runs until all tests "
                + "have ended, and run the test again");
    }
}
