"""Statements of random programs that arrange elements, multiply matrices, or choose by a mask."""

from __future__ import annotations

# What {v} and {w} are: arrays; {k}: a small number; {a}: an axis of {v}.
EXACT = (
    "{v}.reshape(-1)", "np.ravel({v})", "{v}.flatten()", "{v}.reshape(-1, 1)",
    "np.reshape({v}, (1, {v}.shape[0], -1))", "{v}.reshape({v}.shape[0], -1)",
    "np.concatenate([{v}, {w}], axis={a})", "np.concatenate(({v}, {v}), axis={a})",
    "np.stack([{v}, {w}], axis={a})", "np.hstack([{v}, {w}])", "np.vstack([{v}, {w}])",
    "np.roll({v}, {k}, axis={a})", "np.roll({v}, {k})", "np.pad({v}, {k})",
    "np.pad({v}, (1, {k}), mode='edge')", "np.pad({v}, 1, mode='constant', constant_values={k})",
    "np.repeat({v}, {k}, axis={a})", "np.tile({v}, {k})", "np.diff({v}, axis={a})",
    "np.triu({v}, {k})", "np.tril({v}, -{k})", "np.take({v}, [0, -1, 0], axis={a})", "{v}[[0, -1]]",
    "np.cumsum({v}, axis={a})", "np.cumsum({v})", "np.maximum.accumulate({v}, axis={a})",
    "np.minimum.accumulate({v}, axis={a})", "np.add.accumulate({v})",
    "np.add.outer({v}, {w})", "np.outer({v}, {k})", "np.sort({v}, axis={a})",
    "{v} * np.eye({v}.shape[-1])", "{v} + np.tri({v}.shape[-1])", "sum(row for row in {v})",
    "np.mgrid[0:{v}.shape[0], 0:{k}][0] * {k}", "np.ogrid[0:{v}.shape[0], 0:{k}][1] + {k}",
    "np.meshgrid({v}, {w})[0]", "np.indices({v}.shape)[-1]", "np.linspace(0, 4, 5) + {v}.shape[0]",
    "{v}[{v} > {k}].sum()", "{v}[{v} > 0].any()", "np.count_nonzero({v}[{v} > {k}])",
    "np.trace({v})", "np.diagonal({v})", "np.diag({v})",
)  # fmt: skip
ROUNDED = (
    "{v} @ {w}", "{v} @ {v}.T", "np.dot({v}, {w})", "np.inner({v}, {w})", "{v}.T @ {v}",
    "np.matmul({v}, {w})", "np.einsum('ij,kj->ik', {v}, {w})", "np.tensordot({v}, {w}, 1)",
    "np.linalg.norm({v})", "np.linalg.norm({v}, axis={a})", "np.linalg.norm({v}, 1, axis={a})",
    "np.average({v}, axis={a})", "np.cov({v})", "{v}[{v} > {k}].mean()", "np.outer({v}, {w})",
    "np.cumprod({v}, axis={a})", "np.vdot({v}, {v})", "np.kron({v}, {v})",
)  # fmt: skip
WRITES = (
    "{x}[{x} > {k}] = {k}", "{x}[{x} > {k}] += 1", "{x}[{x} < {k}] = {x}[{x} < {k}] * 2",
    "{x}[{v} > 0] = -1", "{x}[{v} > 0] = {x}[{v} > 0] + {k}", "{x}[{x} != 0] -= {k}",
)  # fmt: skip
VIEWS = ("reshape", "np.ravel", "diagonal")
