"""BrowseComp: short answers to questions that are hard to find, judged by a model."""
