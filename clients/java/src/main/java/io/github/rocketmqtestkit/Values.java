package io.github.rocketmqtestkit;

/** A value of the control port. Objects with equal fields are equal. */
abstract class Values {
    final Fields fields;

    Values(Fields fields) {
        this.fields = fields;
    }

    @Override
    public boolean equals(Object other) {
        return other != null && other.getClass() == getClass() && fields.equals(((Values) other).fields);
    }

    @Override
    public int hashCode() {
        return fields.hashCode();
    }

    /** Returns the name of the type and the fields as the control port has them. */
    @Override
    public String toString() {
        return getClass().getSimpleName() + fields;
    }
}
