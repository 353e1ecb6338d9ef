"""Room conformance/drivers/toolchains."""
