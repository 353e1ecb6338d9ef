"""Cases of filters: tags, SQL92 expressions, and the expressions that a broker stores for groups.

They must not know the target: they talk to it only through `context`.
"""
