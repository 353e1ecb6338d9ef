package orders;

/** Carries parcels of the warehouse. */
public interface Carrier {
    /** Returns false if the carrier refuses an order. The warehouse then offers the order again later. */
    boolean takes(String order);
}
