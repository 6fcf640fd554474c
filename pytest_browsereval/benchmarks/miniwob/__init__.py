"""MiniWoB++: small pages that score their own episodes."""
