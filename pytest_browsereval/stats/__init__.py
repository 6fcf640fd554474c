"""Pure statistics: numbers in, numbers out. They know no model and no file."""
