"""Variables, their scopes, stores and templates."""
