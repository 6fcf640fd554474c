"""Browser-agent evals as pytest items. Public names are added here as their modules land."""
