"""Records what a person does in a window as a row of a dataset."""
