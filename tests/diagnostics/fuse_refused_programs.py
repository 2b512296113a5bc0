"""Bodies that `kerneltk.fuse` refuses, the class of the error, and the whole message."""

from __future__ import annotations

REFUSED: list[tuple[str, str, str]] = [
    (
        "return x if x > 0 else -x",
        "UnsupportedError",
        "The truth of an array is not known while the function is traced.\n"
        "  program.py:2:     return x if x > 0 else -x\n"
        "                                ^^^^^\n"
        "  Hint: write 'np.where(condition, x, y)' for 'if', and '&', '|', '~' for 'and',"
        " 'or', 'not'.",
    ),
    (
        "return x if (x > 0).all() else -x",
        "UnsupportedError",
        "The truth of an array is not known while the function is traced.\n"
        "  program.py:2:     return x if (x > 0).all() else -x\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: write 'np.where(condition, x, y)' for 'if', and '&', '|', '~' for 'and',"
        " 'or', 'not'.",
    ),
    (
        "return x.any() and x",
        "UnsupportedError",
        "The truth of an array is not known while the function is traced.\n"
        "  program.py:2:     return x.any() and x\n"
        "                           ^^^^^^^^^^^^^\n"
        "  Hint: write 'np.where(condition, x, y)' for 'if', and '&', '|', '~' for 'and',"
        " 'or', 'not'.",
    ),
    (
        "return not x",
        "UnsupportedError",
        "The truth of an array is not known while the function is traced.\n"
        "  program.py:2:     return not x\n"
        "                           ^^^^^\n"
        "  Hint: write 'np.where(condition, x, y)' for 'if', and '&', '|', '~' for 'and',"
        " 'or', 'not'.",
    ),
    (
        "return 0 < x < 1",
        "UnsupportedError",
        "The truth of an array is not known while the function is traced.\n"
        "  program.py:2:     return 0 < x < 1\n"
        "                           ^^^^^^^^^\n"
        "  Hint: write 'np.where(condition, x, y)' for 'if', and '&', '|', '~' for 'and',"
        " 'or', 'not'.",
    ),
    (
        "return max(x, 0)",
        "UnsupportedError",
        "The truth of an array is not known while the function is traced.\n"
        "  program.py:2:     return max(x, 0)\n"
        "                           ^^^^^^^^^\n"
        "  Hint: write 'np.where(condition, x, y)' for 'if', and '&', '|', '~' for 'and',"
        " 'or', 'not'.",
    ),
    (
        "return min(x, k)",
        "UnsupportedError",
        "The truth of an array is not known while the function is traced.\n"
        "  program.py:2:     return min(x, k)\n"
        "                           ^^^^^^^^^\n"
        "  Hint: write 'np.where(condition, x, y)' for 'if', and '&', '|', '~' for 'and',"
        " 'or', 'not'.",
    ),
    (
        "return float(x.sum())",
        "UnsupportedError",
        "An array has no value that 'float' could return while the function is traced.\n"
        "  program.py:2:     return float(x.sum())\n"
        "                           ^^^^^^^^^^^^^^\n"
        "  Hint: leave it an array: 'x.astype(dtype)' converts one.",
    ),
    (
        "return int(x.max())",
        "UnsupportedError",
        "An array has no value that 'int' could return while the function is traced.\n"
        "  program.py:2:     return int(x.max())\n"
        "                           ^^^^^^^^^^^^\n"
        "  Hint: leave it an array: 'x.astype(dtype)' converts one.",
    ),
    (
        "return complex(z[0, 0])",
        "UnsupportedError",
        "An array has no value that 'complex' could return while the function is traced.\n"
        "  program.py:2:     return complex(z[0, 0])\n"
        "                           ^^^^^^^^^^^^^^^^\n"
        "  Hint: leave it an array: 'x.astype(dtype)' converts one.",
    ),
    (
        "return x.item()",
        "UnsupportedError",
        "An array has no value that 'item' could return while the function is traced.\n"
        "  program.py:2:     return x.item()\n"
        "                           ^^^^^^^^\n"
        "  Hint: leave it an array: 'x.astype(dtype)' converts one.",
    ),
    (
        "return x[0, 0].item()",
        "UnsupportedError",
        "An array has no value that 'item' could return while the function is traced.\n"
        "  program.py:2:     return x[0, 0].item()\n"
        "                           ^^^^^^^^^^^^^^\n"
        "  Hint: leave it an array: 'x.astype(dtype)' converts one.",
    ),
    (
        "return x.tolist()",
        "UnsupportedError",
        "An array has no value that 'tolist' could return while the function is traced.\n"
        "  program.py:2:     return x.tolist()\n"
        "                           ^^^^^^^^^^\n"
        "  Hint: leave it an array: 'x.astype(dtype)' converts one.",
    ),
    (
        "return x[x > 0]",
        "UnsupportedError",
        "How many elements a mask chooses depends on values.\n"
        "  program.py:2:     return x[x > 0]\n"
        "                           ^^^^^^^^\n"
        "  Hint: count them by 'np.count_nonzero(mask)'; reduce them with 'where=mask"
        "'; or choose by 'np.where(mask, x, y)'.",
    ),
    (
        "return x[..., ...]",
        "InvalidIndexError",
        "An index can only have one ellipsis.\n"
        "  program.py:2:     return x[..., ...]\n"
        "                           ^^^^^^^^^^^",
    ),
    (
        "return x[0, 0, 0]",
        "InvalidIndexError",
        "Too many indices: the array has 2 dimensions.\n"
        "  program.py:2:     return x[0, 0, 0]\n"
        "                           ^^^^^^^^^^",
    ),
    (
        "return x[5]",
        "InvalidIndexError",
        "Index 5 is out of bounds for axis 0 with size 2.\n"
        "  program.py:2:     return x[5]\n"
        "                           ^^^^",
    ),
    (
        "return np.divmod(x, 2, out=(x[...], x[:]))",
        "UnsupportedError",
        "Two results of a function are written to the same elements.\n"
        "  program.py:2:     return np.divmod(x, 2, out=(x[...], x[:]))\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: give an array for each result.",
    ),
    (
        'return x["name"]',
        "InvalidIndexError",
        "An index cannot be of type 'str'.\n"
        '  program.py:2:     return x["name"]\n'
        "                           ^^^^^^^^^",
    ),
    (
        "return x.sort()",
        "UnsupportedError",
        "'sort' of an array is not fused.\n"
        "  program.py:2:     return x.sort()\n"
        "                           ^^^^^^\n"
        "  Hint: write 'x = np.sort(x)'.",
    ),
    (
        "return np.unique(x)",
        "UnsupportedError",
        "'unique' is not fused.\n"
        "  program.py:2:     return np.unique(x)\n"
        "                           ^^^^^^^^^^^^\n"
        "  Hint: reduce with 'where=mask', or choose by 'np.where(mask, x, y)'.",
    ),
    (
        "return np.median(x)",
        "UnsupportedError",
        "'median' is not fused.\n"
        "  program.py:2:     return np.median(x)\n"
        "                           ^^^^^^^^^^^^\n"
        "  Hint: make the function two: fuse what comes before and behind, and call '"
        "median' between them.",
    ),
    (
        "return np.dot(x, x)",
        "ArgumentValueError",
        "The axes that 'matmul' sums over have 3 and 2 elements.\n"
        "  program.py:2:     return np.dot(x, x)\n"
        "                           ^^^^^^^^^^^^",
    ),
    (
        "return np.matmul(x, x)",
        "ArgumentValueError",
        "The axes that 'matmul' sums over have 3 and 2 elements.\n"
        "  program.py:2:     return np.matmul(x, x)\n"
        "                           ^^^^^^^^^^^^^^^",
    ),
    (
        "return np.fft.fft(x)",
        "UnsupportedError",
        "'fft' is not fused.\n"
        "  program.py:2:     return np.fft.fft(x)\n"
        "                           ^^^^^^^^^^^^^\n"
        "  Hint: make the function two: fuse what comes before and behind, and call '"
        "fft' between them.",
    ),
    (
        "return np.where(x > 0)",
        "UnsupportedError",
        "'np.where' with one argument is not fused: its result's size depends on values.\n"
        "  program.py:2:     return np.where(x > 0)\n"
        "                           ^^^^^^^^^^^^^^^\n"
        "  Hint: write 'np.where(condition, x, y)'.",
    ),
    (
        "return np.nonzero(x)",
        "UnsupportedError",
        "'nonzero' is not fused.\n"
        "  program.py:2:     return np.nonzero(x)\n"
        "                           ^^^^^^^^^^^^^\n"
        "  Hint: reduce with 'where=mask', or choose by 'np.where(mask, x, y)'.",
    ),
    (
        "return np.asfortranarray(x)",
        "UnsupportedError",
        "A traced value cannot become a NumPy array: it has no elements before the functi"
        "on has ended.\n"
        "  program.py:2:     return np.asfortranarray(x)\n"
        "                           ^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: use NumPy's functions on it, or compute this outside of the function.",
    ),
    (
        "return np.array([x, x])",
        "UnsupportedError",
        "A traced value cannot become a NumPy array: it has no elements before the functi"
        "on has ended.\n"
        "  program.py:2:     return np.array([x, x])\n"
        "                           ^^^^^^^^^^^^^^^^\n"
        "  Hint: use NumPy's functions on it, or compute this outside of the function.",
    ),
    (
        "return np.float32(x)",
        "UnsupportedError",
        "A traced value cannot become a NumPy array: it has no elements before the functi"
        "on has ended.\n"
        "  program.py:2:     return np.float32(x)\n"
        "                           ^^^^^^^^^^^^^\n"
        "  Hint: use NumPy's functions on it, or compute this outside of the function.",
    ),
    (
        "return math.sqrt(k) * x",
        "UnsupportedError",
        "A number that is an argument has no value while the function is traced.\n"
        "  program.py:2:     return math.sqrt(k) * x\n"
        "                           ^^^^^^^^^^^^\n"
        "  Hint: use NumPy's function of that name, such as 'np.sqrt' for 'math.sqrt'.",
    ),
    (
        "return math.exp(x)",
        "UnsupportedError",
        "An array has no value that 'float' could return while the function is traced.\n"
        "  program.py:2:     return math.exp(x)\n"
        "                           ^^^^^^^^^^^\n"
        "  Hint: leave it an array: 'x.astype(dtype)' converts one.",
    ),
    (
        "return x + [1, 2, 3]",
        "UnsupportedError",
        "A list of numbers is no operand of a fused function.\n"
        "  program.py:2:     return x + [1, 2, 3]\n"
        "                           ^^^^^^^^^^^^^\n"
        "  Hint: make an array of it outside of the function.",
    ),
    (
        "return x + np.ones(4)",
        "ArgumentValueError",
        "Operands could not be broadcast together with shapes (2, 3) (4,).\n"
        "  program.py:2:     return x + np.ones(4)\n"
        "                           ^^^^^^^^^^^^^^",
    ),
    (
        "return x + i.T",
        "ArgumentValueError",
        "Operands could not be broadcast together with shapes (2, 3) (3, 2).\n"
        "  program.py:2:     return x + i.T\n"
        "                           ^^^^^^^",
    ),
    (
        "return np.broadcast_to(x, (3, 3))",
        "ArgumentValueError",
        "Operands could not be broadcast together with shapes (2, 3) (3, 3).\n"
        "  program.py:2:     return np.broadcast_to(x, (3, 3))\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        "return x.sum(axis=2)",
        "AxisError",
        "Axis 2 is out of bounds for an array of 2 dimensions.\n"
        "  program.py:2:     return x.sum(axis=2)\n"
        "                           ^^^^^^^^^^^^^",
    ),
    (
        "return x.sum(axis=(0, 0))",
        "ArgumentValueError",
        "An axis is given twice.\n"
        "  program.py:2:     return x.sum(axis=(0, 0))\n"
        "                           ^^^^^^^^^^^^^^^^^^",
    ),
    (
        "return np.argmax(x, axis=(0, 1))",
        "ArgumentTypeError",
        "'axis' of 'argmax' must be an integer.\n"
        "  program.py:2:     return np.argmax(x, axis=(0, 1))\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        'return x.sum(order="C")',
        "UnsupportedError",
        "'sum' got an unexpected keyword argument 'order'.\n"
        '  program.py:2:     return x.sum(order="C")\n'
        "                           ^^^^^^^^^^^^^^^^\n"
        "  Hint: leave it out.",
    ),
    (
        "return x.transpose(0, 0)",
        "ArgumentValueError",
        "The axes don't match the array.\n"
        "  program.py:2:     return x.transpose(0, 0)\n"
        "                           ^^^^^^^^^^^^^^^^^",
    ),
    (
        "return np.squeeze(x, 0)",
        "ArgumentValueError",
        "An axis that is squeezed must have one element.\n"
        "  program.py:2:     return np.squeeze(x, 0)\n"
        "                           ^^^^^^^^^^^^^^^^",
    ),
    (
        "return i ** -1",
        "ArgumentValueError",
        "Integers to negative integer powers are not allowed.\n"
        "  program.py:2:     return i ** -1\n"
        "                           ^^^^^^^\n"
        "  Hint: convert the base: 'x.astype(float)'.",
    ),
    (
        "return x & 1",
        "ArgumentTypeError",
        "'bitwise_and' cannot be computed for 'float32' and 'int'.\n"
        "  program.py:2:     return x & 1\n"
        "                           ^^^^^\n"
        "  Hint: convert one of them: 'x.astype(dtype)'.",
    ),
    (
        "return i << 0.5",
        "ArgumentTypeError",
        "'left_shift' cannot be computed for 'int64' and 'float'.\n"
        "  program.py:2:     return i << 0.5\n"
        "                           ^^^^^^^^\n"
        "  Hint: convert one of them: 'x.astype(dtype)'.",
    ),
    (
        "return ~x",
        "ArgumentTypeError",
        "'invert' cannot be computed for 'float32'.\n"
        "  program.py:2:     return ~x\n"
        "                           ^^",
    ),
    (
        "return np.negative(x > 0)",
        "ArgumentTypeError",
        "'negative' cannot be computed for 'bool'.\n"
        "  program.py:2:     return np.negative(x > 0)\n"
        "                           ^^^^^^^^^^^^^^^^^^",
    ),
    (
        "return (x > 0) - (x < 1)",
        "ArgumentTypeError",
        "'subtract' cannot be computed for 'bool' and 'bool'.\n"
        "  program.py:2:     return (x > 0) - (x < 1)\n"
        "                           ^^^^^^^^^^^^^^^^^\n"
        "  Hint: convert one of them: 'x.astype(dtype)'.",
    ),
    (
        "return np.round(z, 2)",
        "UnsupportedError",
        "Complex numbers are not rounded in a fused function.\n"
        "  program.py:2:     return np.round(z, 2)\n"
        "                           ^^^^^^^^^^^^^^",
    ),
    (
        "return np.round(i, -1)",
        "UnsupportedError",
        "Integers are not rounded to tens in a fused function.\n"
        "  program.py:2:     return np.round(i, -1)\n"
        "                           ^^^^^^^^^^^^^^^",
    ),
    (
        "x += z",
        "ArgumentTypeError",
        "A result of dtype 'complex64' cannot be written to an array of dtype 'float32' b"
        "y the rule 'same_kind'.\n"
        "  program.py:2:     x += z\n"
        "                    ^^^^^^\n"
        "  Hint: convert it: 'x[...] = y.astype(x.dtype)'.",
    ),
    (
        "i += 0.5",
        "ArgumentTypeError",
        "A result of dtype 'float64' cannot be written to an array of dtype 'int64' by th"
        "e rule 'same_kind'.\n"
        "  program.py:2:     i += 0.5\n"
        "                    ^^^^^^^^\n"
        "  Hint: convert it: 'x[...] = y.astype(x.dtype)'.",
    ),
    (
        "i *= x",
        "ArgumentTypeError",
        "A result of dtype 'float64' cannot be written to an array of dtype 'int64' by th"
        "e rule 'same_kind'.\n"
        "  program.py:2:     i *= x\n"
        "                    ^^^^^^\n"
        "  Hint: convert it: 'x[...] = y.astype(x.dtype)'.",
    ),
    (
        "x[0] = i[:, :2]",
        "ArgumentValueError",
        "A value of shape (2, 2) cannot be written to one of shape (3,).\n"
        "  program.py:2:     x[0] = i[:, :2]\n"
        "                    ^^^^",
    ),
    (
        "OUTSIDE[...] = x",
        "UnsupportedError",
        "An array from outside of the fused function is written to.\n"
        "  program.py:2:     OUTSIDE[...] = x\n"
        "                    ^^^^^^^^^^^^\n"
        "  Hint: pass it as an argument.",
    ),
    (
        "LOG.append(x)",
        "UnsupportedError",
        "'append' changes an object from outside in a fused function.\n"
        "  program.py:2:     LOG.append(x)\n"
        "                    ^^^^^^^^^^^^^\n"
        "  Hint: return the new value, and assign it outside of the function.",
    ),
    (
        "global N; N = n",
        "UnsupportedError",
        "The global 'N' is assigned in a fused function.\n"
        "  program.py:2:     global N; N = n\n"
        "                              ^\n"
        "  Hint: return the new value, and assign it outside of the function.",
    ),
    (
        "program.calls = n",
        "UnsupportedError",
        "The attribute 'calls' of an object from outside is assigned in a fused function.\n"
        "  program.py:2:     program.calls = n\n"
        "                    ^^^^^^^^^^^^^\n"
        "  Hint: return the new value, and assign it outside of the function.",
    ),
    (
        "LOG[k:] = [x]",
        "UnsupportedError",
        "An item of an object from outside is assigned in a fused function.\n"
        "  program.py:2:     LOG[k:] = [x]\n"
        "                    ^^^^^^^\n"
        "  Hint: return the new value, and assign it outside of the function.",
    ),
    (
        "np.add(x, x, out=OUTSIDE)",
        "UnsupportedError",
        "An array from outside of the fused function is written to.\n"
        "  program.py:2:     np.add(x, x, out=OUTSIDE)\n"
        "                    ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: pass it as an argument.",
    ),
    (
        "return x + np.random.random()",
        "UnsupportedError",
        "Random numbers would be drawn once, while the function is traced.\n"
        "  program.py:2:     return x + np.random.random()\n"
        "                               ^^^^^^^^^^^^^^^^^^\n"
        "  Hint: draw them outside of the function, and pass them.",
    ),
    (
        "np.seterr(divide='raise')",
        "UnsupportedError",
        "A fused function notes no floating-point errors: 'divide='raise'' has no effect in it.\n"
        "  program.py:2:     np.seterr(divide='raise')\n"
        "                    ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: check the results outside of the function, such as by 'np.isfinite'.",
    ),
    (
        "return x == None",
        "UnsupportedError",
        "An array is compared with an object of type 'NoneType'.\n"
        "  program.py:2:     return x == None\n"
        "                           ^^^^^^^^^\n"
        "  Hint: write 'x is None' to ask whether there is an array.",
    ),
    (
        "z.real[...] = 1",
        "UnsupportedError",
        "Writing to the real or imaginary parts of an array is not fused.\n"
        "  program.py:2:     z.real[...] = 1\n"
        "                    ^^^^^^^^^^^\n"
        "  Hint: write whole numbers: 'x[...] = real + 1j * imaginary'.",
    ),
    (
        "np.broadcast_to(x, (4, 2, 3))[...] = 1",
        "ArgumentValueError",
        "An array that was broadcast is read-only.\n"
        "  program.py:2:     np.broadcast_to(x, (4, 2, 3))[...] = 1\n"
        "                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        "np.add(x, 1, out=i)",
        "ArgumentTypeError",
        "A result of dtype 'float32' cannot be written to an array of dtype 'int64' by th"
        "e rule 'same_kind'.\n"
        "  program.py:2:     np.add(x, 1, out=i)\n"
        "                    ^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: convert it: 'x[...] = y.astype(x.dtype)'.",
    ),
    (
        "return np.add(x, 1, where=x > 0)",
        "UnsupportedError",
        "'where=' needs 'out='.\n"
        "  program.py:2:     return np.add(x, 1, where=x > 0)\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: write 'np.where(condition, x, y)'.",
    ),
    (
        "return np.maximum.reduceat(x, [0, 1])",
        "UnsupportedError",
        "'np.maximum.reduceat' is not fused.\n"
        "  program.py:2:     return np.maximum.reduceat(x, [0, 1])\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        "return np.subtract.reduce(x)",
        "UnsupportedError",
        "'np.subtract.reduce' is not fused.\n"
        "  program.py:2:     return np.subtract.reduce(x)\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        "return x.max(where=x > 0)",
        "ArgumentValueError",
        "'where=' of 'max' needs 'initial='.\n"
        "  program.py:2:     return x.max(where=x > 0)\n"
        "                           ^^^^^^^^^^^^^^^^^^",
    ),
    (
        "return x[:0].max()",
        "ArgumentValueError",
        "The 'max' of no elements is not defined.\n"
        "  program.py:2:     return x[:0].max()\n"
        "                           ^^^^^^^^^^^",
    ),
    (
        "return x[:, :0].argmin(axis=1)",
        "ArgumentValueError",
        "The 'argmin' of no elements is not defined.\n"
        "  program.py:2:     return x[:, :0].argmin(axis=1)\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        'return i.astype(np.float32, casting="no")',
        "ArgumentTypeError",
        "Cannot cast from 'int64' to 'float32' by the rule 'no'.\n"
        '  program.py:2:     return i.astype(np.float32, casting="no")\n'
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        "return np.arange(x)",
        "ArgumentTypeError",
        "'arange' takes one to three numbers.\n"
        "  program.py:2:     return np.arange(x)\n"
        "                           ^^^^^^^^^^^^",
    ),
    (
        "return np.zeros(x)",
        "ArgumentTypeError",
        "A shape must be a tuple of integers.\n"
        "  program.py:2:     return np.zeros(x)\n"
        "                           ^^^^^^^^^^^",
    ),
    (
        "return np.arange(3, like=x)",
        "UnsupportedError",
        "'arange' got an unexpected keyword argument 'like'.\n"
        "  program.py:2:     return np.arange(3, like=x)\n"
        "                           ^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: leave it out.",
    ),
    (
        "return x.view(np.int32)",
        "UnsupportedError",
        "'view' of an array is not fused.\n"
        "  program.py:2:     return x.view(np.int32)\n"
        "                           ^^^^^^\n"
        "  Hint: make the function two: fuse what comes before and behind, and call '"
        "view' between them.",
    ),
    (
        "return x.byteswap()",
        "UnsupportedError",
        "'byteswap' of an array is not fused.\n"
        "  program.py:2:     return x.byteswap()\n"
        "                           ^^^^^^^^^^\n"
        "  Hint: make the function two: fuse what comes before and behind, and call '"
        "byteswap' between them.",
    ),
    (
        "return x.T.mT @ x",
        "ArgumentValueError",
        "The axes that 'matmul' sums over have 3 and 2 elements.\n"
        "  program.py:2:     return x.T.mT @ x\n"
        "                           ^^^^^^^^^^",
    ),
    (
        "return np.sum([x, x])",
        "UnsupportedError",
        "A traced value cannot become a NumPy array: it has no elements before the functi"
        "on has ended.\n"
        "  program.py:2:     return np.sum([x, x])\n"
        "                           ^^^^^^^^^^^^^^\n"
        "  Hint: use NumPy's functions on it, or compute this outside of the function.",
    ),
    (
        'return np.clip(x, 0, 1, order="C")',
        "UnsupportedError",
        "'clip' got an unexpected keyword argument 'order'.\n"
        '  program.py:2:     return np.clip(x, 0, 1, order="C")\n'
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: leave it out.",
    ),
    (
        "return np.full(3, x)",
        "UnsupportedError",
        "An array cannot fill another in a fused function.\n"
        "  program.py:2:     return np.full(3, x)\n"
        "                           ^^^^^^^^^^^^^\n"
        "  Hint: write 'np.broadcast_to(x, shape)'.",
    ),
    (
        "y = x.reshape(3, 2); y += 1; return x",
        "UnsupportedError",
        "An array that was reshaped is written to, while the original is used, too.\n"
        "  program.py:2:     y = x.reshape(3, 2); y += 1; return x\n"
        "                                         ^^^^^^\n"
        "  Hint: write to the original; or write 'y = x.reshape(shape).copy()'.",
    ),
    (
        "y = x.reshape(3, 2); x += 1; return y",
        "UnsupportedError",
        "An array is used that was reshaped before the original was written to.\n"
        "  program.py:2:     y = x.reshape(3, 2); x += 1; return y\n"
        "                        ^^^^^^^^^^^^^^^\n"
        "  Hint: reshape it behind the write; or write 'x.reshape(shape).copy()'.",
    ),
    (
        "return x.reshape(4, 2)",
        "ArgumentValueError",
        "An array of shape (2, 3) cannot be reshaped to (4, 2).\n"
        "  program.py:2:     return x.reshape(4, 2)\n"
        "                           ^^^^^^^^^^^^^^^",
    ),
    (
        "x[x > 0] = x[x > 1]",
        "UnsupportedError",
        "Elements meet that two masks choose, which may not be equal.\n"
        "  program.py:2:     x[x > 0] = x[x > 1]\n"
        "                    ^^^^^^^^\n"
        "  Hint: name the mask, and choose by it: 'm = x > 0; x[m] = f(x[m])'.",
    ),
    (
        "x[x > 0] = np.ones(3)",
        "UnsupportedError",
        "How many elements a mask chooses depends on values: an array of them is not "
        "assigned.\n"
        "  program.py:2:     x[x > 0] = np.ones(3)\n"
        "                    ^^^^^^^^\n"
        "  Hint: choose by one mask on both sides: 'x[mask] = y[mask]'.",
    ),
    (
        "x[i] = 0",
        "UnsupportedError",
        "Writing to elements by an array of indices is not fused.\n"
        "  program.py:2:     x[i] = 0\n"
        "                    ^^^^\n"
        "  Hint: write by a mask: 'x[mask] = value'; or write the loop in a kernel: '"
        "jit.kernel'.",
    ),
    (
        "return x[x > 0] + np.ones(3)",
        "UnsupportedError",
        "Elements that a mask chooses meet an array of others.\n"
        "  program.py:2:     return x[x > 0] + np.ones(3)\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: choose of both by one mask: 'x[mask] + y[mask]'.",
    ),
    (
        "return np.max(x[x > 0])",
        "UnsupportedError",
        "'max' of elements that a mask chooses is not fused: their number depends on "
        "values.\n"
        "  program.py:2:     return np.max(x[x > 0])\n"
        "                           ^^^^^^^^^^^^^^^^\n"
        "  Hint: reduce with 'where=mask', or choose by 'np.where(mask, x, y)'.",
    ),
    (
        "return len(x[x > 0])",
        "UnsupportedError",
        "How many elements a mask chooses depends on values.\n"
        "  program.py:2:     return len(x[x > 0])\n"
        "                           ^^^^^^^^^^^^^\n"
        "  Hint: count them by 'np.count_nonzero(mask)'; reduce them with 'where=mask"
        "'; or choose by 'np.where(mask, x, y)'.",
    ),
    (
        "return x[i, i]",
        "UnsupportedError",
        "Indexing by several arrays, or by an array beside others than whole slices, "
        "is not fused.\n"
        "  program.py:2:     return x[i, i]\n"
        "                           ^^^^^^^\n"
        "  Hint: index in two steps, with one array of indices: 'x[1:][:, indices]'.",
    ),
    (
        "return np.linalg.norm(x, 'nuc')",
        "UnsupportedError",
        "The norm of order 'nuc' along 2 axes is not fused.\n"
        "  program.py:2:     return np.linalg.norm(x, 'nuc')\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: write 'ord=None' for the root of the sum of squares; or call 'np.lin"
        "alg.norm' between two fused functions.",
    ),
    (
        "return np.pad(x, 1, mode='linear_ramp')",
        "UnsupportedError",
        "'pad' with mode='linear_ramp' is not fused.\n"
        "  program.py:2:     return np.pad(x, 1, mode='linear_ramp')\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: write 'out = np.empty(shape)', and each part of it: 'out[...] = ...'"
        ".",
    ),
    (
        "return np.pad(x, 9, mode='wrap')",
        "UnsupportedError",
        "'pad' with mode='wrap' by more than the axis has is not fused.\n"
        "  program.py:2:     return np.pad(x, 9, mode='wrap')\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: pad twice, each time by less.",
    ),
    (
        "return np.concatenate([x, x[0]])",
        "ArgumentValueError",
        "Arrays of different numbers of dimensions cannot be joined.\n"
        "  program.py:2:     return np.concatenate([x, x[0]])\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        "return np.repeat(x, i[0])",
        "UnsupportedError",
        "'repeat' by an array is not fused: its result's size depends on values.\n"
        "  program.py:2:     return np.repeat(x, i[0])\n"
        "                           ^^^^^^^^^^^^^^^^^^\n"
        "  Hint: give one number of repeats.",
    ),
    (
        "return np.logical_and.accumulate(x)",
        "UnsupportedError",
        "'np.logical_and.accumulate' is not fused.\n"
        "  program.py:2:     return np.logical_and.accumulate(x)\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: write a loop in a kernel: 'kerneltk.vectorize(signature=\"(n)->(n)\")'"
        ".",
    ),
    (
        "return x @ 2.5",
        "ArgumentValueError",
        "'matmul' takes no numbers.\n"
        "  program.py:2:     return x @ 2.5\n"
        "                           ^^^^^^^\n"
        "  Hint: write 'a * b'.",
    ),
    (
        "return np.linalg.inv(x)",
        "ArgumentValueError",
        "'linalg.inv' takes square matrices.\n"
        "  program.py:2:     return np.linalg.inv(x)\n"
        "                           ^^^^^^^^^^^^^^^^",
    ),
    (
        "return x[[True, False]]",
        "UnsupportedError",
        "How many elements a mask chooses depends on values.\n"
        "  program.py:2:     return x[[True, False]]\n"
        "                           ^^^^^^^^^^^^^^^^\n"
        "  Hint: count them by 'np.count_nonzero(mask)'; reduce them with 'where=mask"
        "'; or choose by 'np.where(mask, x, y)'.",
    ),
    (
        "return x[[1.0, 0.0]]",
        "ArgumentTypeError",
        "Indices are integers or bools, not 'float64'.\n"
        "  program.py:2:     return x[[1.0, 0.0]]\n"
        "                           ^^^^^^^^^^^^^",
    ),
    (
        "return np.einsum('...i->...', x)",
        "UnsupportedError",
        "'einsum' is fused with a string of letters alone.\n"
        "  program.py:2:     return np.einsum('...i->...', x)\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: write a letter for each axis: 'einsum(\"bij,bjk->bik\", a, b)'.",
    ),
    (
        "return np.average(x, weights=x[0])",
        "ArgumentTypeError",
        "'average' takes weights of the array's shape, or of one axis.\n"
        "  program.py:2:     return np.average(x, weights=x[0])\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        "return {x.sum(): 1}",
        "UnsupportedError",
        "The function returns a dict with an array among its keys.\n"
        "  Hint: return keys and values, and make the dict outside of the function.",
    ),
]
