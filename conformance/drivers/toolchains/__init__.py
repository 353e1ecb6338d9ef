"""Recipes of drivers, and the build tools that several of them use: Go, Java and Python.

They must not know a single driver.
"""
