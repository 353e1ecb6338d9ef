"""Compiled modules of `rocketmq_testkit`, each in the folder and under the name of its source.

`rocketmq_testkit.emulator.compiled_modules` finds them by these names. Do not import them by the name of this package.
"""
