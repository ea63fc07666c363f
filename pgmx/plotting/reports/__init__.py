"""Reports of what was learned: one HTML file with an interactive graph, which needs no network.

- `plain`: numbers, names and tables as JSON holds them
- `course`: the run's history
- `details`: parameters of each variable and of each edge
- `rows`: the columns of the data
- `facts`: all that a learner, a model or a graph tells
- `engine`: Jinja2, which fills in the templates
- `summary`: what a notebook shows of a fitted learner
- `drawing`: which part of a graph is drawn, and where
- `page`: the file

Folders beside them: `templates` holds the page, its style and its script, `vendor` the JavaScript libraries.
"""
