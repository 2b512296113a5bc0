"""Calls that `kerneltk.vectorize` refuses, the class of the error, and the whole message."""

from __future__ import annotations

SOURCE = """\
def add(x, y):
    return x + y


def item(table, index):
    return table[index]


def nothing(x):
    y = x + 1


def centred(x):
    return x - x.mean()


def dot(x, y):
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total


def both(x, result):
    result[0] = x[0]
    return x[0]


def spoiled(x, result):
    x[0] = 1
    result[0] = 2


def fill(result):
    result[0] = 1


def by_helper(x, result):
    fill(result)


def pair(x):
    return x[0], 2 * x[0]


def two(x):
    return x, 2 * x


def whole(x):
    return x


def text(x):
    return "a"


def many(*values):
    return values[0]


def endless(x):
    return endless(x - 1)


def listed(x):
    return [x, x]


def arrays(x):
    return np.array([x, 2 * x])


def turned(x):
    return x * 1j


def placed(x):
    i, j = jit.index(2)
    return x[0] + i + j


def idle(x, result):
    pass


def sometimes(x, result):
    if x[0] > 0:
        result[0] = 1


def first(x, table):
    for j in range(len(table)):
        if table[j] == x:
            found = j
    return found
"""

REFUSED: list[tuple[str, str, str]] = [
    (
        'vectorize(idle, signature="(n)->()")(X)',
        "ArgumentTypeError",
        "'idle' never writes to its output 'result'.\n"
        "  program.py:83: def idle(x, result):\n"
        "                             ^^^^^^",
    ),
    (
        'vectorize(sometimes, signature="(n)->()")(X)',
        "ArgumentTypeError",
        "'sometimes' may end without a value for its output 'result'.\n"
        "  program.py:88:     if x[0] > 0:\n"
        "                        ^^^^^^^^ this condition does not hold\n"
        "  Hint: write to it on every way, or pass an array as 'out'.",
    ),
    (
        "vectorize(first, excluded={1})(X, X[0])",
        "TypingError",
        "'found' may have no value here.\n"
        "  program.py:96:     return found\n"
        "                            ^^^^^\n"
        "  program.py:93:     for j in range(len(table)):\n"
        "                              ^^^^^^^^^^^^^^^^^ this loop does not run\n"
        "  Hint: give it a value before, or on every way that leads here.",
    ),
    (
        'vectorize(spoiled, signature="(n)->(n)")(X, X, out=X)',
        "ArgumentTypeError",
        "'spoiled' is given its outputs twice.\n  Hint: pass them behind the inputs, or as 'out'.",
    ),
    (
        'vectorize(add)(np.array(["a"]), 1)',
        "ArgumentTypeError",
        "Parameter 'x' of kernel 'add' cannot take the array: the dtype '<U1' has no C "
        "type that kernels can use.\n"
        "  program.py:1: def add(x, y):\n"
        "                        ^",
    ),
    (
        "vectorize(add)(np.array([1, None]), 1)",
        "ArgumentTypeError",
        "Parameter 'x' of kernel 'add' cannot take the array: the dtype 'object' has no C "
        "type that kernels can use.\n"
        "  program.py:1: def add(x, y):\n"
        "                        ^",
    ),
    (
        'vectorize(add)(X, "a")',
        "ArgumentTypeError",
        "Parameter 'y' of kernel 'add' cannot take an object of type 'str'.\n"
        "  program.py:1: def add(x, y):\n"
        "                           ^\n"
        "  Hint: pass its characters as an array: 'np.frombuffer(text, np.uint8)'.",
    ),
    (
        "vectorize(add)(X)",
        "ArgumentTypeError",
        "'add' is called without an argument for 'y'.",
    ),
    (
        "vectorize(add)(X, 1, 2)",
        "ArgumentTypeError",
        "'add': too many positional arguments.",
    ),
    (
        "vectorize(add)(X, z=1)",
        "ArgumentTypeError",
        "'add': got an unexpected keyword argument 'z'.",
    ),
    (
        "vectorize(add)(X, np.ones(4))",
        "ArgumentValueError",
        "Shapes (2, 3) and (4,) cannot be broadcast together.\n"
        "  program.py:1: def add(x, y):\n"
        "                           ^ this argument has shape (4,)",
    ),
    (
        "vectorize(add)(2**70, 1)",
        "ScalarOverflowError",
        "The value 1180591620717411303424 is out of range for dtype 'int64'.\n"
        "  program.py:1: def add(x, y):\n"
        "                        ^",
    ),
    (
        "vectorize(add)(np.ma.array(X), 1)",
        "ArgumentTypeError",
        "The argument for 'x' cannot be taken: a masked array has no place for its mask in "
        "a kernel.\n"
        "  program.py:1: def add(x, y):\n"
        "                        ^\n"
        "  Hint: pass 'x.filled(value)', or data and mask as two arguments.",
    ),
    (
        "vectorize(add)(X, X, out=[1])",
        "ArgumentTypeError",
        "'out' of kernel 'add' must be an array or a tuple of arrays, and has an object of "
        "type 'list'.",
    ),
    (
        'vectorize(add)(X, X, out=np.empty((2, 3), "i4"))',
        "ArgumentTypeError",
        "Result 1 of kernel 'add' has dtype 'float64', and the array that was given for it "
        "has 'int32'.\n"
        "  Hint: convert the value in the kernel.",
    ),
    (
        "vectorize(item)(X, 1)",
        "TypingError",
        "A number of type 'float64' has no items.\n"
        "  program.py:6:     return table[index]\n"
        "                           ^^^^^^^^^^^^\n"
        "  Hint: 'table' is one element; 'excluded={0, 'table'}' passes it whole, as a "
        "positional argument and as a keyword.",
    ),
    (
        'vectorize(item, excluded={"table"})(X, np.array([1]))',
        "TypingError",
        "A number of type 'float64' has no items.\n"
        "  program.py:6:     return table[index]\n"
        "                           ^^^^^^^^^^^^\n"
        "  Hint: 'table' is one element; 'excluded={0, 'table'}' passes it whole, as a "
        "positional argument and as a keyword.",
    ),
    (
        "vectorize(nothing)(X)",
        "UnsupportedError",
        "'nothing' returns nothing.\n"
        "  program.py:9: def nothing(x):\n"
        "                ^^^^^^^^^^^^^^^\n"
        "  Hint: return a number, or several; '@jit.kernel' takes functions that only "
        "write.",
    ),
    (
        "vectorize(centred)(X)",
        "UnsupportedError",
        "The method 'mean' of a number cannot be used in a kernel.\n"
        "  program.py:14:     return x - x.mean()\n"
        "                                ^^^^^^\n"
        "  Hint: numbers of type 'float64' have T, astype, clip, conj, conjugate, dtype, imag, "
        "is_integer, item, itemsize, nbytes, ndim, real, round, shape, size here.",
    ),
    (
        "vectorize(text)(X)",
        "TypingError",
        "The string 'a' has no value in a kernel.\n"
        '  program.py:55:     return "a"\n'
        "                            ^^^\n"
        "  Hint: strings can be printed, and name fields and dtypes.",
    ),
    (
        "vectorize(many)(X)",
        "UnsupportedError",
        "A kernel cannot take '*values'.\n"
        "  program.py:58: def many(*values):\n"
        "                           ^^^^^^\n"
        "  Hint: name the parameters; a tuple can be one argument.",
    ),
    (
        "vectorize(endless)(X)",
        "TypingError",
        "The type of what 'endless' returns is not known: it depends on this call of itself on "
        "every way.\n"
        "  program.py:63:     return endless(x - 1)\n"
        "                            ^^^^^^^^^^^^^^\n"
        "  program.py:63:     return endless(x - 1)\n"
        "                            ^^^^^^^^^^^^^^ called here\n"
        "  Hint: return a value on a way without it, or annotate it: 'def endless(...) -> "
        "np.float32:'.",
    ),
    (
        "vectorize(listed)(X)",
        "UnsupportedError",
        "A list cannot be used in a kernel.\n"
        "  program.py:67:     return [x, x]\n"
        "                            ^^^^^^\n"
        "  Hint: use a tuple if it does not change, or 'jit.local_memory(dtype, shape)'.",
    ),
    (
        "vectorize(arrays)(X)",
        "UnsupportedError",
        "A list cannot be used in a kernel.\n"
        "  program.py:71:     return np.array([x, 2 * x])\n"
        "                                     ^^^^^^^^^^\n"
        "  Hint: use a tuple if it does not change, or 'jit.local_memory(dtype, shape)'.",
    ),
    (
        'vectorize(["float64(float64)"])',
        "ArgumentTypeError",
        "'vectorize' takes no types of arguments: it is compiled for those of each call.\n"
        "  Hint: write '@kerneltk.vectorize'; 'otypes' names the results' dtypes.",
    ),
    (
        "vectorize(abs)",
        "ArgumentTypeError",
        "'vectorize' decorates Python functions, not 'abs', which is not written in "
        "Python.\n"
        "  Hint: call it from a Python function.",
    ),
    (
        "vectorize(np.sin)",
        "ArgumentTypeError",
        "'vectorize' decorates Python functions, not an object of class 'ufunc'.\n"
        "  Hint: decorate a function.",
    ),
    (
        "vectorize(add, doc=3)",
        "ArgumentTypeError",
        "'doc' must be a str, not 3.",
    ),
    (
        "vectorize(add, otypes=3)",
        "ArgumentTypeError",
        "'otypes' must be a str of type codes or a list of dtypes, not 3.",
    ),
    (
        'vectorize(add, otypes=["foo"])',
        "ArgumentTypeError",
        "'otypes' names 'foo', which is no dtype.\n"
        "  Hint: a str has one letter a result, as 'dd'; a list has dtypes, as [float].",
    ),
    (
        'vectorize(add, otypes="O")',
        "ArgumentTypeError",
        "'otypes' names 'object', and results are numbers.",
    ),
    (
        'vectorize(add, otypes="")',
        "ArgumentValueError",
        "'otypes' names no dtype.",
    ),
    (
        'vectorize(two, otypes="d")(X)',
        "ArgumentValueError",
        "'two' returns 2 values, and 'otypes' names 1.",
    ),
    (
        'vectorize(turned, otypes="d")(X)',
        "ArgumentTypeError",
        "Result 1 of 'turned' is complex, and 'otypes' names 'float64' for it.\n"
        "  Hint: return its '.real', or name a complex dtype.",
    ),
    (
        'vectorize(add, otypes="d")(X, X, out=np.empty((2, 3), "f4"))',
        "ArgumentTypeError",
        "The array that is given for result 1 of 'add' has dtype 'float32', and 'otypes' "
        "names 'float64'.\n"
        "  Hint: leave one of the two out.",
    ),
    (
        "vectorize(add, excluded=1.5)",
        "ArgumentTypeError",
        "'excluded' must be a set of positions and names, not 1.5.",
    ),
    (
        "vectorize(add, excluded={1.5})",
        "ArgumentTypeError",
        "'excluded' has positions and names of parameters, and 1.5 is neither.",
    ),
    (
        'vectorize(add, excluded={"z"})(X, X)',
        "ArgumentValueError",
        "'excluded' names parameter 'z', which 'add' does not have.",
    ),
    (
        "vectorize(add, excluded={5})(X, X)",
        "ArgumentValueError",
        "'excluded' names position 5, which 'add' does not have.",
    ),
    (
        "vectorize(add, excluded={1})(X, {1: 2})",
        "ArgumentTypeError",
        "The argument for 'y' of 'add' is neither an array nor a number, and cannot be "
        "hashed.\n"
        "  Hint: pass an array, a number, a str, or a tuple or list of these.",
    ),
    (
        'vectorize(add, excluded={1})(X, "a")',
        "TypingError",
        "The string 'a' has no value in a kernel.\n"
        "  program.py:2:     return x + y\n"
        "                               ^\n"
        "  Hint: strings can be printed, and name fields and dtypes.",
    ),
    (
        "vectorize(add, excluded={1})(X, X)",
        "TypingError",
        "A value of type '2-d array of float64' was given, and a number is needed.\n"
        "  program.py:2:     return x + y\n"
        "                               ^\n"
        "  Hint: index it, for example 'x[i]'.",
    ),
    (
        "vectorize(dot, signature=3)",
        "ArgumentTypeError",
        "'signature' must be a str, not an object of type 'int'.\n"
        "  Hint: a signature is written as '(m,n),(n)->(m)' or '(n)->(),()'.",
    ),
    (
        'vectorize(dot, signature="(n),(n)")',
        "SignatureError",
        "This is no signature of a vectorized function.\n"
        "  signature: (n),(n)\n"
        "             ^^^^^^^ it has one '->'\n"
        "  Hint: a signature is written as '(m,n),(n)->(m)' or '(n)->(),()'.",
    ),
    (
        'vectorize(dot, signature="(n),n->()")',
        "SignatureError",
        "This is no signature of a vectorized function.\n"
        "  signature: (n),n->()\n"
        "                 ^ cores are in parentheses\n"
        "  Hint: a signature is written as '(m,n),(n)->(m)' or '(n)->(),()'.",
    ),
    (
        'vectorize(dot, signature="(n) (n)->()")',
        "SignatureError",
        "This is no signature of a vectorized function.\n"
        "  signature: (n) (n)->()\n"
        "                 ^^^ a comma was expected\n"
        "  Hint: a signature is written as '(m,n),(n)->(m)' or '(n)->(),()'.",
    ),
    (
        'vectorize(dot, signature="(n,),(n)->()")',
        "SignatureError",
        "This is no signature of a vectorized function.\n"
        "  signature: (n,),(n)->()\n"
        "                ^ a name or a number was expected\n"
        "  Hint: a signature is written as '(m,n),(n)->(m)' or '(n)->(),()'.",
    ),
    (
        'vectorize(dot, signature="(n?),(n)->()")',
        "SignatureError",
        "This is no signature of a vectorized function.\n"
        "  signature: (n?),(n)->()\n"
        "              ^^ a name or a number was expected\n"
        "  Hint: a signature is written as '(m,n),(n)->(m)' or '(n)->(),()'.",
    ),
    (
        'vectorize(dot, signature="(n),(n)->()")(X, X[:, :2])',
        "ArgumentValueError",
        "Dimension 'n' of '(n),(n)->()' has 3 elements in the argument for 'x' of 'dot', "
        "and 2 in the one for 'y'.",
    ),
    (
        'vectorize(dot, signature="(n),(n)->()")(X, 3.0)',
        "ArgumentTypeError",
        "Parameter 'y' of 'dot' is an array by its signature '(n),(n)->()', and was given "
        "a number.\n"
        "  program.py:17: def dot(x, y):\n"
        "                            ^",
    ),
    (
        'vectorize(dot, signature="(m,n),(n)->()")(X[0], X)',
        "ArgumentValueError",
        "The argument for 'x' of 'dot' has 1 dimension, and '(m,n),(n)->()' asks for at least 2.",
    ),
    (
        'vectorize(dot, signature="(n),(n)->()")(np.ones((3, 3)), np.ones((2, 3)))',
        "ArgumentValueError",
        "The arguments of 'dot' cannot be broadcast: around their cores '(n),(n)->()' they "
        "have the shapes (3,), (2,).",
    ),
    (
        'vectorize(dot, signature="(4),(4)->()")(X, X)',
        "ArgumentValueError",
        "The argument for 'x' of 'dot' has 3 elements where '(4),(4)->()' asks for 4.",
    ),
    (
        'vectorize(dot, signature="(n),(n)->()", excluded={1})(X, X)',
        "ArgumentValueError",
        "'dot' has 1 parameter that is not excluded, and its signature '(n),(n)->()' has 2 "
        "inputs and 1 output.\n"
        "  Hint: a function takes its inputs and returns results, or takes the outputs "
        "behind them and writes.",
    ),
    (
        'vectorize(dot, signature="(n),(n)->()")(X, X, out=np.empty(3))',
        "ArgumentValueError",
        "The array that is given for result 1 of 'dot' has shape (3,), and the result has (2,).",
    ),
    (
        'vectorize(dot, signature="(n),(n)->()")(X, X, out=np.empty(2, "i4"))',
        "ArgumentTypeError",
        "Result 1 of 'dot' has dtype 'float64', and the array that was given for it has "
        "'int32'.\n"
        "  Hint: convert the value in the function.",
    ),
    (
        'vectorize(dot, signature="(n),(n)->()")(X, X, out=(np.empty(2), np.empty(2)))',
        "ArgumentValueError",
        "'dot' has 1 output, and 2 arrays were given.",
    ),
    (
        'vectorize(dot, signature="(n),(n)->()", otypes="dd")(X, X)',
        "ArgumentValueError",
        "'otypes' names 2 dtypes, and the signature '(n),(n)->()' has 1 output.",
    ),
    (
        'vectorize(dot, signature="(n)->(),()")(X)',
        "ArgumentValueError",
        "'dot' has 2 parameters that are not excluded, and its signature '(n)->(),()' has "
        "1 input and 2 outputs.\n"
        "  Hint: a function takes its inputs and returns results, or takes the outputs "
        "behind them and writes.",
    ),
    (
        'vectorize(centred, signature="(n)->(n)")(X)',
        "UnsupportedError",
        "The method 'mean' of an array cannot be used in a kernel.\n"
        "  program.py:14:     return x - x.mean()\n"
        "                                ^^^^^^\n"
        "  Hint: arrays have shape, size, strides, ndim, dtype, itemsize, nbytes here.",
    ),
    (
        'vectorize(both, signature="(n)->(n)")(X)',
        "ArgumentTypeError",
        "'both' returns a value, and takes parameters for the outputs of its signature "
        "'(n)->(n)'.\n"
        "  program.py:24: def both(x, result):\n"
        "                 ^^^^^^^^^^^^^^^^^^^^\n"
        "  Hint: return the results, or write to the parameters behind the inputs.",
    ),
    (
        'vectorize(spoiled, signature="(n)->(n)")(X)',
        "UnsupportedError",
        "'spoiled' writes to its input 'x'.\n"
        "  program.py:29: def spoiled(x, result):\n"
        "                             ^\n"
        "  Hint: take an output as another parameter, behind the inputs, and write to that.",
    ),
    (
        'vectorize(spoiled, signature="(n)->(n)")(X, result=X)',
        "ArgumentTypeError",
        "'spoiled' is given 'result', one of its outputs, by name.\n  Hint: pass it as 'out'.",
    ),
    (
        'vectorize(by_helper, signature="(n)->(n)")(X)',
        "ArgumentTypeError",
        "The dtype of output 'result' of 'by_helper' does not follow from what is stored "
        "to it.\n"
        "  program.py:38: def by_helper(x, result):\n"
        "                                  ^^^^^^\n"
        "  Hint: name it in 'otypes', or pass an array as 'out'.",
    ),
    (
        'vectorize(by_helper, signature="(n)->(m)", otypes="d")(X)',
        "ArgumentValueError",
        "Dimension 'm' of '(n)->(m)' is in no input, so how many elements 'by_helper' "
        "writes is not known.\n"
        "  Hint: write a number instead of its name, or pass an array as 'out'.",
    ),
    (
        'vectorize(pair, signature="(n)->(n)")(X)',
        "ArgumentValueError",
        "'pair' returns 2 numbers for dimension 'n' of '(n)->(n)', which has 3 elements in "
        "this call.",
    ),
    (
        'vectorize(pair, signature="(n)->()")(X)',
        "TypingError",
        "'pair' returns a value of type 'tuple of (float64, float64)', which is not what "
        "its signature '(n)->()' says.\n"
        "  program.py:42: def pair(x):\n"
        "                 ^^^^^^^^^^^^\n"
        "  Hint: return a number for '()' and a tuple of numbers for '(n)'; or take the "
        "outputs as parameters behind the inputs, and write to them.",
    ),
    (
        'vectorize(pair, signature="(n)->(),(n)")(X)',
        "TypingError",
        "'pair' returns a value of type 'tuple of (float64, float64)', which is not what "
        "its signature '(n)->(),(n)' says.\n"
        "  program.py:42: def pair(x):\n"
        "                 ^^^^^^^^^^^^\n"
        "  Hint: return a number for '()' and a tuple of numbers for '(n)'; or take the "
        "outputs as parameters behind the inputs, and write to them.",
    ),
    (
        'vectorize(whole, signature="(n)->(n)")(X)',
        "TypingError",
        "'whole' returns a value of type '1-d array of float64', which is not what its "
        "signature '(n)->(n)' says.\n"
        "  program.py:50: def whole(x):\n"
        "                 ^^^^^^^^^^^^^\n"
        "  Hint: return a number for '()' and a tuple of numbers for '(n)'; or take the "
        "outputs as parameters behind the inputs, and write to them.",
    ),
    (
        'vectorize(nothing, signature="()->()")(X)',
        "TypingError",
        "'nothing' returns nothing, which is not what its signature '()->()' says.\n"
        "  program.py:9: def nothing(x):\n"
        "                ^^^^^^^^^^^^^^^\n"
        "  Hint: return a number for '()' and a tuple of numbers for '(n)'; or take the "
        "outputs as parameters behind the inputs, and write to them.",
    ),
    (
        'vectorize(placed, signature="(n)->()")(X)',
        "ArgumentValueError",
        "'placed' asks for 'jit.index(2)', and the loop around its cores has 1 dimension.",
    ),
]
