"""Generated protobuf and gRPC code of every cardroom API."""
