package orders;

/** Carries parcels of the warehouse. */
public interface Carrier {
    /** Returns false if the carrier refuses an order, which the warehouse then offers again later. */
    boolean takes(String order);
}
