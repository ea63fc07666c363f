"""One small file per tool for learners of Gaussian graphical models; all speak the same two names.

METHODS             {task: {method: call}}; ``call(problem, lams)`` is timed, and answers(task, raw)
converts its result to one (matrix, covariance or None) a penalty, dense: outside the clock

Tasks: ``glasso`` (a precision each; covariance is the tool's own), ``clime`` (the raw columns, of ``problem.solved``),
``neighborhood`` (regression coefficients, one column a variable). ``problem`` is a gaussian_data.Problem.
"""
