"""The engine that evaluates reactive graphs."""
