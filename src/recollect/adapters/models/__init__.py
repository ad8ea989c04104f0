"""Embedders, rerankers, readers, and hosted APIs."""
