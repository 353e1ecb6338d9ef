package testkit.driver;

/** The driver's own refusal of a command: its kind and its text as PROTOCOL.md names them. */
public final class Refusal extends Exception {
    private static final long serialVersionUID = 1L;

    public final String kind;

    public Refusal(String kind, String text) {
        super(text);
        this.kind = kind;
    }
}
