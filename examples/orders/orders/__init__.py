"""A small order application on Apache RocketMQ: a shop takes orders, a warehouse ships them, billing charges them."""
