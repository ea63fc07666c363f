"""Reports of learned graphs: one HTML file with an interactive graph, which works offline.

- `plain`: values, names and tables in the types of JSON
- `course`: the history of a run
- `details`: parameters of each variable and of each edge
- `rows`: the columns of the data
- `facts`: all facts about a learner, a model or a graph
- `engine`: Jinja2, which fills in the templates
- `summary`: the display of a fitted learner in a notebook
- `drawing`: choice and positions of the drawn nodes and edges
- `page`: the file

Other folders: `templates` holds the page, its style and its scripts, `vendor` the JavaScript libraries.
"""
