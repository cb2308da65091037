"""Install boathook in agents."""
