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
        "return [value for value in x]",
        "UnsupportedError",
        "The elements of an array are not known while the function is traced.\n"
        "  program.py:2:     return [value for value in x]\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: write one expression of whole arrays, or unpack 'x[0]', 'x[1]', ...",
    ),
    (
        "a, b = x",
        "UnsupportedError",
        "The elements of an array are not known while the function is traced.\n"
        "  program.py:2:     a, b = x\n"
        "                    ^^^^\n"
        "  Hint: write one expression of whole arrays, or unpack 'x[0]', 'x[1]', ...",
    ),
    (
        "return sum(x)",
        "UnsupportedError",
        "The elements of an array are not known while the function is traced.\n"
        "  program.py:2:     return sum(x)\n"
        "                           ^^^^^^\n"
        "  Hint: write one expression of whole arrays, or unpack 'x[0]', 'x[1]', ...",
    ),
    (
        "return x[x > 0]",
        "UnsupportedError",
        "Indexing by an array is not fused.\n"
        "  program.py:2:     return x[x > 0]\n"
        "                           ^^^^^^^^\n"
        "  Hint: write 'np.where(mask, x, y)' for masks; gather elements outside of the f"
        "unction.",
    ),
    (
        "return x[i]",
        "UnsupportedError",
        "Indexing by an array is not fused.\n"
        "  program.py:2:     return x[i]\n"
        "                           ^^^^\n"
        "  Hint: write 'np.where(mask, x, y)' for masks; gather elements outside of the f"
        "unction.",
    ),
    (
        "return x[[0, 1]]",
        "UnsupportedError",
        "Indexing by an array is not fused.\n"
        "  program.py:2:     return x[[0, 1]]\n"
        "                           ^^^^^^^^^\n"
        "  Hint: write 'np.where(mask, x, y)' for masks; gather elements outside of the f"
        "unction.",
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
        "return x.reshape(3, 2)",
        "UnsupportedError",
        "'reshape' of an array is not fused.\n"
        "  program.py:2:     return x.reshape(3, 2)\n"
        "                           ^^^^^^^^^\n"
        "  Hint: reshape outside of the function, or index with 'None' for a new axis.",
    ),
    (
        "return x.ravel()",
        "UnsupportedError",
        "'ravel' of an array is not fused.\n"
        "  program.py:2:     return x.ravel()\n"
        "                           ^^^^^^^\n"
        "  Hint: reshape outside of the function.",
    ),
    (
        "return x.flatten()",
        "UnsupportedError",
        "'flatten' of an array is not fused.\n"
        "  program.py:2:     return x.flatten()\n"
        "                           ^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return np.concatenate([x, x])",
        "UnsupportedError",
        "'concatenate' is not fused.\n"
        "  program.py:2:     return np.concatenate([x, x])\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: write each part with 'out[...] = ...', or join outside of the function.",
    ),
    (
        "return np.stack([x, x])",
        "UnsupportedError",
        "'stack' is not fused.\n"
        "  program.py:2:     return np.stack([x, x])\n"
        "                           ^^^^^^^^^^^^^^^^\n"
        "  Hint: write each part with 'out[...] = ...', or join outside of the function.",
    ),
    (
        "return np.vstack([x, x])",
        "UnsupportedError",
        "'vstack' is not fused.\n"
        "  program.py:2:     return np.vstack([x, x])\n"
        "                           ^^^^^^^^^^^^^^^^^\n"
        "  Hint: write each part with 'out[...] = ...', or join outside of the function.",
    ),
    (
        "return np.cumsum(x)",
        "UnsupportedError",
        "'cumsum' is not fused.\n"
        "  program.py:2:     return np.cumsum(x)\n"
        "                           ^^^^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return x.cumsum()",
        "UnsupportedError",
        "'cumsum' of an array is not fused.\n"
        "  program.py:2:     return x.cumsum()\n"
        "                           ^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return np.sort(x)",
        "UnsupportedError",
        "'sort' is not fused.\n"
        "  program.py:2:     return np.sort(x)\n"
        "                           ^^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return x.sort()",
        "UnsupportedError",
        "'sort' of an array is not fused.\n"
        "  program.py:2:     return x.sort()\n"
        "                           ^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return np.unique(x)",
        "UnsupportedError",
        "'unique' is not fused.\n"
        "  program.py:2:     return np.unique(x)\n"
        "                           ^^^^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return np.median(x)",
        "UnsupportedError",
        "'median' is not fused.\n"
        "  program.py:2:     return np.median(x)\n"
        "                           ^^^^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return x @ x.T",
        "UnsupportedError",
        "Matrix products are not fused.\n"
        "  program.py:2:     return x @ x.T\n"
        "                           ^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return np.dot(x, x)",
        "UnsupportedError",
        "'dot' is not fused.\n"
        "  program.py:2:     return np.dot(x, x)\n"
        "                           ^^^^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return np.matmul(x, x)",
        "UnsupportedError",
        "'matmul' is not fused.\n"
        "  program.py:2:     return np.matmul(x, x)\n"
        "                           ^^^^^^^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        'return np.einsum("ij->i", x)',
        "UnsupportedError",
        "'einsum' is not fused.\n"
        '  program.py:2:     return np.einsum("ij->i", x)\n'
        "                           ^^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return np.linalg.norm(x)",
        "UnsupportedError",
        "'norm' is not fused.\n"
        "  program.py:2:     return np.linalg.norm(x)\n"
        "                           ^^^^^^^^^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return np.fft.fft(x)",
        "UnsupportedError",
        "'fft' is not fused.\n"
        "  program.py:2:     return np.fft.fft(x)\n"
        "                           ^^^^^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
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
        "  Hint: compute it outside of the function, and pass the result.",
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
        "x[x > 0] = 0",
        "UnsupportedError",
        "Indexing by an array is not fused.\n"
        "  program.py:2:     x[x > 0] = 0\n"
        "                    ^^^^^^^^\n"
        "  Hint: write 'np.where(mask, x, y)' for masks; gather elements outside of the f"
        "unction.",
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
        "return np.add.accumulate(x)",
        "UnsupportedError",
        "'np.add.accumulate' is not fused.\n"
        "  program.py:2:     return np.add.accumulate(x)\n"
        "                           ^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        "return np.add.outer(x, x)",
        "UnsupportedError",
        "'np.add.outer' is not fused.\n"
        "  program.py:2:     return np.add.outer(x, x)\n"
        "                           ^^^^^^^^^^^^^^^^^^",
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
        "These arguments of 'arange' are not fused.\n"
        "  program.py:2:     return np.arange(3, like=x)\n"
        "                           ^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: give numbers alone.",
    ),
    (
        "return x.view(np.int32)",
        "UnsupportedError",
        "'view' of an array is not fused.\n"
        "  program.py:2:     return x.view(np.int32)\n"
        "                           ^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return x.byteswap()",
        "UnsupportedError",
        "'byteswap' of an array is not fused.\n"
        "  program.py:2:     return x.byteswap()\n"
        "                           ^^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return x.fill(0)",
        "UnsupportedError",
        "'fill' of an array is not fused.\n"
        "  program.py:2:     return x.fill(0)\n"
        "                           ^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
    ),
    (
        "return x.T.mT @ x",
        "UnsupportedError",
        "Matrix products are not fused.\n"
        "  program.py:2:     return x.T.mT @ x\n"
        "                           ^^^^^^^^^^\n"
        "  Hint: compute it outside of the function, and pass the result.",
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
]
