"""The whole of cardroom on one machine: Postgres, RabbitMQ, Envoy and every service, started and stopped together."""
