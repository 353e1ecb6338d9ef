"""The messages of the gRPC protocol: own `.proto` files, generated classes and the script that generates them."""
