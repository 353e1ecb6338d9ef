"""The messages of the gRPC protocol: `.proto` files, the generated classes, and the script that generates them.

It must not know how they are sent, or the meaning of a field.
"""
