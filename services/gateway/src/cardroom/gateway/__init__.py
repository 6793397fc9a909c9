"""Who you are: guest sign-in, tokens, signing keys; Envoy is the edge."""
