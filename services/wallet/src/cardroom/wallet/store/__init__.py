"""All SQL of the wallet: loading what a batch needs, writing what it decided, history, settlements, the audit."""
