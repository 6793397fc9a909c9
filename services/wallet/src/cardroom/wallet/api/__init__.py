"""The gRPC handlers: translate, authorise, check the form, call the ledger."""
