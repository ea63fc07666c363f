"""Tree-augmented naive Bayes, the first column being the class; the functions are those of `solvers`."""
