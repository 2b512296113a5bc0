"""The demo: measured terrain through every front-end, checked against NumPy and timed.

`terrain` loads the data, `steps` lists the kernels, `measure` runs, checks and times them, and
`picture` draws what they computed. A new front-end adds its entries to
:data:`kerneltk.demo.steps.STEPS`.
"""
