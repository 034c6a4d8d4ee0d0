"""Routes of the workbench by subject: the JSON interface, and the pages that show the same objects to people.

Each change has one handler, under ``/api``. Pages send their forms there as JSON; ``static/workbench.js`` does so.
"""
