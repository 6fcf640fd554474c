"""Model providers' clients."""
