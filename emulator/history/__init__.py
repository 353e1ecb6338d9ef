"""History: bounded records of deliveries and of other past events that no table of a broker keeps."""
