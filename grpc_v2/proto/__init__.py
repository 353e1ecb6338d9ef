"""The messages of the gRPC protocol: `.proto` files, the generated classes, and the script that generates them."""
