"""What a trace has read from outside is asked for again: whatever is changed, in whatever way."""

from __future__ import annotations

import builtins
import math
import os
import random
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kerneltk.backends.registry import backend_named
from kerneltk.fusion.plan.program import Program
from kerneltk.fusion.start import traced

X = np.arange(1, 7, dtype=np.float32)

# What defines a function `f`, and changes by each of which it means something else.
CHANGES: dict[str, tuple[str, list[str]]] = {
    "own code": (
        ("def f(x): return x*2\ndef g(x): return x*3"),
        ["f.__code__=g.__code__"],
    ),
    "helper code": (
        ("def h(x): return x*2\ndef g(x): return x*3\ndef f(x): return h(x)"),
        ["h.__code__=g.__code__"],
    ),
    "helper code deep": (
        (
            "def k(x): return x*2\n"
            "def g(x): return x*3\n"
            "def h(x): return k(x)\n"
            "def f(x): return h(x)"
        ),
        ["k.__code__=g.__code__"],
    ),
    "method code": (
        (
            "class A:\n"
            "  def m(self,x): return x*2\n"
            "def g(self,x): return x*3\n"
            "a=A()\n"
            "def f(x): return a.m(x)"
        ),
        ["A.m.__code__=g.__code__", "A.m=lambda self,x:x*5", "a.m=lambda x:x*7"],
    ),
    "defaults": (
        "def f(x,n=2): return x*n",
        ["f.__defaults__=(3,)", "f.__defaults__=(3.5,)", "f.__defaults__=(np.float64(3.5),)"],
    ),
    "mutable default": (
        ("L=[2]\ndef f(x,n=L): return x*n[0]"),
        ["L[0]=3", "L[0]=3.0", "L[0]=np.float32(3)", "L[0]=True"],
    ),
    "mutable dict default": (
        ("L={'a':2}\ndef f(x,n=L): return x*n['a']"),
        ["L['a']=3", "L['a']=np.float64(3)"],
    ),
    "kwdefaults": (
        "def f(x,*,n=2): return x*n",
        ["f.__kwdefaults__={'n':3}", "f.__kwdefaults__['n']=4"],
    ),
    "helper defaults": (
        ("def h(x,n=2): return x*n\ndef f(x): return h(x)"),
        ["h.__defaults__=(3,)"],
    ),
    "closure dtype": (
        ("def mk(a):\n  def f(x): return x*a\n  return f\nf=mk(np.float32([2]*6))"),
        [
            "f.__closure__[0].cell_contents=np.float64([2]*6)",
            "f.__closure__[0].cell_contents=np.int8([2]*6)",
            "f.__closure__[0].cell_contents=np.float64(2)",
            "f.__closure__[0].cell_contents=2",
        ],
    ),
    "global array dtype": (
        ("a=np.float32([2]*6)\ndef f(x): return x*a"),
        ["a=np.float64([2]*6)", "a=np.float64([[2]*6])", "a=a.T", "a=np.float32([3]*6)"],
    ),
    "global array order": (
        ("a=np.ones((3,4),np.float32)\ndef f(x): return a*2"),
        ["a=np.asfortranarray(np.arange(12.).reshape(3,4).astype('f4'))", "a=a[::-1]"],
    ),
    "same repr": (
        (
            "class R:\n"
            "  def __init__(s,n): s.n=n\n"
            "  def __repr__(s): return 'R'\n"
            "  def __eq__(s,o): return True\n"
            "  def __hash__(s): return 1\n"
            "o=R(2)\n"
            "def f(x): return x*o.n"
        ),
        ["o=R(3)", "o.n=4", "o.n=4.0", "o.n=np.float64(4)"],
    ),
    "np.pi": (
        "def f(x): return x*np.pi",
        ["np.pi=3.0"],
    ),
    "np.exp patched": (
        "def f(x): return np.exp(x)",
        ["np.exp=np.sin", "np.exp=lambda x: x*2"],
    ),
    "np.exp swapped": (
        "def f(x): return np.exp(x)*np.sin(x)",
        ["np.exp,np.sin=np.sin,np.exp"],
    ),
    "np.sum patched": (
        "def f(x): return np.sum(x)",
        ["np.sum=np.max", "np.sum=lambda x: x*2"],
    ),
    "np.float32 patched": (
        "def f(x): return x*np.float32(2)",
        ["np.float32=np.float64"],
    ),
    "np.where patched": (
        "def f(x): return np.where(x>2,x,0)",
        ["o=np.where;np.where=lambda c,a,b: o(c,b,a)"],
    ),
    "math patched": (
        ("import math\ndef f(x): return x*math.floor(2.5)"),
        ["math.floor=math.ceil"],
    ),
    "math.pi": (
        ("import math\ndef f(x): return x*math.pi"),
        ["math.pi=3.0"],
    ),
    "builtins": (
        "def f(x): return x*abs(-2)",
        ["import builtins; builtins.abs=lambda v: 7"],
    ),
    "builtins shadowed": (
        "def f(x): return x*abs(-2)",
        ["abs=lambda v: 7"],
    ),
    "recursion": (
        ("D=3\ndef h(x,n): return x if n==0 else h(x*2,n-1)\ndef f(x): return h(x,D)"),
        ["D=4", "D=0"],
    ),
    "recursion own": (
        ("N=2\ndef f(x,n=3): return x if n==0 else f(x*N,n-1)"),
        ["N=3"],
    ),
    "class attr": (
        ("class A: k=2\ndef f(x): return x*A.k"),
        ["A.k=3", "A.k=3.5"],
    ),
    "class attr inherited": (
        ("class B: k=2\nclass A(B): pass\ndef f(x): return x*A.k"),
        ["B.k=3", "A.k=4", "del A.k"],
    ),
    "instance shadows class": (
        ("class A: k=2\na=A()\ndef f(x): return x*a.k"),
        ["a.k=3", "del a.k", "A.k=5"],
    ),
    "slots": (
        ("class A:\n  __slots__=('k',)\na=A(); a.k=2\ndef f(x): return x*a.k"),
        ["a.k=3"],
    ),
    "slots of a class": (
        ("class A:\n  __slots__=('k',)\ndef f(x): return x*(2 if A.k is not None else 3)"),
        ["A.k=None"],
    ),
    "property": (
        ("class A:\n  _k=2\n  @property\n  def k(s): return s._k\na=A()\ndef f(x): return x*a.k"),
        ["a._k=3", "A.k=property(lambda s: 9)"],
    ),
    "property code": (
        (
            "class A:\n"
            "  @property\n"
            "  def k(s): return 2\n"
            "a=A()\n"
            "def g(s): return 5\n"
            "def f(x): return x*a.k"
        ),
        ["A.k.fget.__code__=g.__code__"],
    ),
    "getitem class": (
        ("class A:\n  v=2\n  def __getitem__(s,n): return s.v\na=A()\ndef f(x): return x*a['z']"),
        ["a.v=3", "A.__getitem__=lambda s,n: 8"],
    ),
    "call class": (
        ("class A:\n  v=2\n  def __call__(s,x): return s.v*x\na=A()\ndef f(x): return a(x)"),
        ["a.v=3", "A.__call__=lambda s,x: 8*x"],
    ),
    "iter class": (
        (
            "class A:\n"
            "  v=[2,3]\n"
            "  def __iter__(s): return iter(s.v)\n"
            "a=A()\n"
            "def f(x): return x*sum(a)"
        ),
        ["a.v=[5]"],
    ),
    "generator global": (
        ("g=None\nL=[1,2]\ndef mk():\n  for v in L: yield v\ndef f(x): return x*sum(mk())"),
        ["L.append(3)", "L[0]=9"],
    ),
    "genexpr": (
        ("L=[1,2]\ndef f(x): return x*sum(v*2 for v in L)"),
        ["L.append(3)"],
    ),
    "comprehension nested": (
        ("K=2\nL=[1,2]\ndef f(x): return x*sum([v*K for v in L])"),
        ["K=3"],
    ),
    "nan": (
        ("n=float('nan')\ndef f(x): return x*(1 if n!=n else 2)"),
        ["n=1.0", "n=float('nan')", "n=-float('nan')"],
    ),
    "nan tuple": (
        ("n=float('nan')\nt=(n,)\ndef f(x): return x*(1 if n in t else 2)"),
        ["n=float('nan')", "t=(n,)"],
    ),
    "negzero": (
        ("n=0.0\ndef f(x): return np.copysign(x,n)"),
        ["n=-0.0", "n=0.0", "n=np.float64(-0.0)"],
    ),
    "negzero in tuple": (
        ("n=(0.0,)\ndef f(x): return np.copysign(x,n[0])"),
        ["n=(-0.0,)"],
    ),
    "negzero list": (
        ("n=[0.0]\ndef f(x): return np.copysign(x,n[0])"),
        ["n[0]=-0.0"],
    ),
    "negzero complex": (
        ("n=complex(0.0,0.0)\ndef f(x): return np.copysign(x,n.imag)"),
        ["n=complex(0.0,-0.0)"],
    ),
    "bool/int/np.bool_": (
        ("n=1\ndef f(x): return x+n"),
        [
            "n=True",
            "n=np.bool_(True)",
            "n=1",
            "n=1.0",
            "n=np.int64(1)",
            "n=np.float16(1)",
            "n=1+0j",
        ],
    ),
    "type of number": (
        ("n=1\ndef f(x): return x*(2 if isinstance(n,bool) else 3)"),
        ["n=True", "n=1", "n=np.True_"],
    ),
    "int subclass": (
        ("class I(int):\n  pass\nn=2\ndef f(x): return x*(n if type(n) is int else 5)"),
        ["n=I(2)", "n=2"],
    ),
    "int subclass attr": (
        ("class I(int): pass\nn=I(2); n.k=3\ndef f(x): return x*n.k"),
        ["n.k=4", "n=I(2);n.k=6", "n=I(3);n.k=6"],
    ),
    "int subclass arith": (
        (
            "class I(int):\n"
            "  m=1\n"
            "  def __mul__(s,o): return int(s)*I.m*o\n"
            "  __rmul__=__mul__\n"
            "n=I(2)\n"
            "def f(x): return x*(n*2)"
        ),
        ["I.m=4"],
    ),
    "enum": (
        (
            "import enum\n"
            "class E(enum.Enum):\n"
            "  A=1\n"
            "  B=2\n"
            "e=E.A\n"
            "def f(x): return x*(2 if e is E.A else 3)"
        ),
        ["e=E.B", "e=1"],
    ),
    "enum value": (
        ("import enum\nclass E(enum.Enum):\n  A=[2]\ndef f(x): return x*E.A.value[0]"),
        ["E.A.value[0]=3"],
    ),
    "intenum": (
        (
            "import enum\n"
            "class E(enum.IntEnum):\n"
            "  A=2\n"
            "class D(enum.IntEnum):\n"
            "  A=2\n"
            "  B=3\n"
            "n=E.A\n"
            "def f(x): return x*(n if isinstance(n,E) else 7)"
        ),
        ["n=D.A", "n=2", "n=D.B"],
    ),
    "flag": (
        (
            "import enum\n"
            "class E(enum.Flag):\n"
            "  A=1\n"
            "  B=2\n"
            "n=E.A\n"
            "def f(x): return x*(2 if E.B in n else 3)"
        ),
        ["n=E.A|E.B"],
    ),
    "str subclass": (
        ("class S(str):\n  k=2\nn='a'\ndef f(x): return x*(getattr(n,'k',5))"),
        ["n=S('a')", "S.k=9"],
    ),
    "dict order": (
        ("d={'a':2,'b':3}\ndef f(x): return x*list(d.values())[0]"),
        ["d=dict(b=3,a=2)", "d.pop('b')"],
    ),
    "dict keys": (
        ("d={1:2}\ndef f(x): return x*(2 if type(list(d)[0]) is int else 3)"),
        ["d={True:2}", "d={1.0:2}"],
    ),
    "set": (
        ("s={1,2}\ndef f(x): return x*len(s)"),
        ["s.add(3)", "s.remove(1)"],
    ),
    "deque": (
        ("import collections\nd=collections.deque([2])\ndef f(x): return x*d[0]"),
        ["d[0]=3", "d.appendleft(7)"],
    ),
    "dict subclass": (
        (
            "class D(dict):\n"
            "  k=1\n"
            "  def __missing__(s,n): return s.k\n"
            "d=D()\n"
            "def f(x): return x*d['q']"
        ),
        ["D.k=4", "d.k=6", "d['q']=8"],
    ),
    "list subclass": (
        ("class L(list): pass\nl=L([2])\ndef f(x): return x*l[0]"),
        ["l[0]=3", "l.append(2);l.pop(0)"],
    ),
    "userdict": (
        ("import collections\nd=collections.UserDict(a=2)\ndef f(x): return x*d['a']"),
        ["d['a']=3"],
    ),
    "chainmap": (
        ("import collections\na={'k':2}\nd=collections.ChainMap(a)\ndef f(x): return x*d['k']"),
        ["a['k']=3"],
    ),
    "mappingproxy": (
        ("import types\na={'k':2}\nd=types.MappingProxyType(a)\ndef f(x): return x*d['k']"),
        ["a['k']=3"],
    ),
    "simplenamespace": (
        ("import types\no=types.SimpleNamespace(k=2)\ndef f(x): return x*o.k"),
        ["o.k=3", "o.k=3.0"],
    ),
    "dataclass": (
        (
            "import dataclasses\n"
            "@dataclasses.dataclass\n"
            "class A:\n"
            "  k: float=2\n"
            "a=A()\n"
            "def f(x): return x*a.k"
        ),
        ["a.k=3", "a=A(5)"],
    ),
    "namedtuple": (
        (
            "import collections\n"
            "T=collections.namedtuple('T','a b')\n"
            "t=T(1,2)\n"
            "def f(x): return x*t.b"
        ),
        ["t=T(1,3)", "t=T(1,3.0)"],
    ),
    "lru_cache": (
        (
            "import functools\n"
            "@functools.lru_cache\n"
            "def h(n): return n*K\n"
            "K=2\n"
            "def f(x): return x*h(1)"
        ),
        ["K=3;h.cache_clear()"],
    ),
    "wraps": (
        (
            "import functools\n"
            "def d(g):\n"
            "  @functools.wraps(g)\n"
            "  def w(x): return g(x)+1\n"
            "  return w\n"
            "@d\n"
            "def h(x): return x*2\n"
            "def f(x): return h(x)"
        ),
        ["h.__wrapped__.__code__=(lambda x:x*9).__code__"],
    ),
    "staticmethod": (
        ("class A:\n  @staticmethod\n  def s(x): return x*2\ndef f(x): return A.s(x)"),
        ["A.s=staticmethod(lambda x: x*3)", "A.s.__code__=(lambda x:x*5).__code__"],
    ),
    "classmethod": (
        ("class A:\n  k=2\n  @classmethod\n  def s(c,x): return x*c.k\ndef f(x): return A.s(x)"),
        ["A.k=3", "A.s.__func__.__code__=(lambda c,x:x*11).__code__"],
    ),
    "super": (
        (
            "class B:\n"
            "  def s(self,x): return x*2\n"
            "class A(B):\n"
            "  def s(self,x): return super().s(x)+1\n"
            "a=A()\n"
            "def f(x): return a.s(x)"
        ),
        ["B.s=lambda self,x:x*3"],
    ),
    "isinstance class": (
        ("class A: pass\nclass B: pass\no=A()\ndef f(x): return x*(2 if isinstance(o,A) else 3)"),
        ["o.__class__=B", "A=B"],
    ),
    "module attr": (
        ("import types\nm=types.ModuleType('m'); m.k=2\ndef f(x): return x*m.k"),
        ["m.k=3", "m.k=3.0"],
    ),
    "module function": (
        (
            "import types\n"
            "m=types.ModuleType('m'); m.k=2\n"
            "exec('def h(x): return x*k',m.__dict__)\n"
            "def f(x): return m.h(x)"
        ),
        ["m.k=3", "m.h=lambda x:x*4"],
    ),
    "local import": (
        (
            "import sys,types\n"
            "m=types.ModuleType('own_settings'); m.k=2; sys.modules['own_settings']=m\n"
            "def f(x):\n"
            "  import own_settings\n"
            "  return x*own_settings.k"
        ),
        ["m.k=3"],
    ),
    "globals()": (
        ("k=2\ndef f(x): return x*globals()['k']"),
        ["k=3"],
    ),
    "getattr name": (
        ("class A: pass\na=A(); a.key=2\ndef f(x): return x*getattr(a,'k'+'ey')"),
        ["a.key=3"],
    ),
    "getattr class attr": (
        ("class A: key=2\na=A()\ndef f(x): return x*getattr(a,'k'+'ey')"),
        ["A.key=3"],
    ),
    "eval": (
        ("k=2\ndef f(x): return x*eval('k')"),
        ["k=3"],
    ),
    "environ": (
        ("import os\nos.environ['KTK_TEST']='2'\ndef f(x): return x*int(os.environ['KTK_TEST'])"),
        ["os.environ['KTK_TEST']='3'"],
    ),
    "contextvar": (
        ("import contextvars\nv=contextvars.ContextVar('v',default=2)\ndef f(x): return x*v.get()"),
        ["v.set(3)"],
    ),
    "threadlocal": (
        ("import threading\nl=threading.local(); l.k=2\ndef f(x): return x*l.k"),
        ["l.k=3"],
    ),
    "weakref": (
        ("import weakref\nclass A: k=2\na=A()\nw=weakref.ref(a)\ndef f(x): return x*w().k"),
        ["a.k=3"],
    ),
    "array global item": (
        ("a=np.array([2.,3.])\ndef f(x): return x*a[0]"),
        ["a=np.array([7.,3.],'f4')"],
    ),
    "array in list": (
        ("a=[np.array([2.,3.])]\ndef f(x): return x*float(a[0][0])"),
        ["a[0][0]=5", "a[0]=np.array([8.])"],
    ),
    "array attr": (
        ("class A: pass\no=A(); o.a=np.ones(6,'f4')\ndef f(x): return x*o.a"),
        ["o.a[:]=5", "o.a=np.float64([3]*6)", "o.a=np.ones((2,6),'f4')"],
    ),
    "0-d global": (
        ("a=np.array(2.,'f4')\ndef f(x): return x*a"),
        ["a=np.array(2.)", "a=np.float32(2)", "a=2.0"],
    ),
    "slice global": (
        ("s=slice(0,3)\ndef f(x): return x[s]*2"),
        ["s=slice(0,4)", "s=slice(None,None,2)"],
    ),
    "range global": (
        ("s=range(3)\ndef f(x):\n  for i in s: x=x*2\n  return x"),
        ["s=range(5)"],
    ),
    "bytes/memory": (
        ("b=bytearray(b'\\x02')\ndef f(x): return x*b[0]"),
        ["b[0]=3"],
    ),
    "array.array": (
        ("import array\nb=array.array('i',[2])\ndef f(x): return x*b[0]"),
        ["b[0]=3"],
    ),
    "fraction": (
        ("import fractions\nb=fractions.Fraction(2,1)\ndef f(x): return x*float(b)"),
        ["b=fractions.Fraction(3,1)"],
    ),
    "decimal": (
        ("import decimal\nb=decimal.Decimal(2)\ndef f(x): return x*int(b)"),
        ["b=decimal.Decimal(3)"],
    ),
    "datetime": (
        ("import datetime\nb=datetime.timedelta(2)\ndef f(x): return x*b.days"),
        ["b=datetime.timedelta(3)"],
    ),
    "ctypes": (
        ("import ctypes\nb=ctypes.c_int(2)\ndef f(x): return x*b.value"),
        ["b.value=3"],
    ),
    "lambda in global": (
        ("h=lambda x: x*2\ndef f(x): return h(x)"),
        ["h=lambda x: x*3"],
    ),
    "lambda in dict": (
        ("d={'h':lambda x: x*2}\ndef f(x): return d['h'](x)"),
        ["d['h']=lambda x: x*3"],
    ),
    "lambda in dict code": (
        ("d={'h':lambda x: x*2}\ndef f(x): return d['h'](x)"),
        ["d['h'].__code__=(lambda x:x*3).__code__"],
    ),
    "closure in dict": (
        ("def mk(n): return lambda x: x*n\nd={'h':mk(2)}\ndef f(x): return d['h'](x)"),
        ["d['h']=mk(3)", "d['h'].__closure__[0].cell_contents=7"],
    ),
    "function attr": (
        ("def h(x): return x*h.n\nh.n=2\ndef f(x): return h(x)"),
        ["h.n=3"],
    ),
    "own attr": (
        ("def f(x): return x*F.n\nF=f\nf.n=2"),
        ["f.n=3"],
    ),
    "nested def global": (
        ("n=2\ndef f(x):\n  def g(y): return y*n\n  return g(x)"),
        ["n=3"],
    ),
    "metaclass": (
        ("class M(type):\n  k=2\nclass A(metaclass=M): pass\ndef f(x): return x*A.k"),
        ["M.k=3"],
    ),
    "metaclass prop": (
        (
            "class M(type):\n"
            "  v=2\n"
            "  @property\n"
            "  def k(c): return M.v\n"
            "class A(metaclass=M): pass\n"
            "def f(x): return x*A.k"
        ),
        ["M.v=3"],
    ),
    "operator overload other": (
        ("class V:\n  k=2\n  def __add__(s,o): return s.k+o\nv=V()\ndef f(x): return x*(v+1)"),
        ["V.k=3", "V.__add__=lambda s,o: 9"],
    ),
    "len class": (
        ("class V:\n  k=2\n  def __len__(s): return s.k\nv=V()\ndef f(x): return x*len(v)"),
        ["V.k=3"],
    ),
    "bool class": (
        (
            "class V:\n"
            "  k=True\n"
            "  def __bool__(s): return s.k\n"
            "v=V()\n"
            "def f(x): return x*(2 if v else 3)"
        ),
        ["V.k=False"],
    ),
    "eq class": (
        (
            "class V:\n"
            "  k=True\n"
            "  def __eq__(s,o): return s.k\n"
            "v=V()\n"
            "def f(x): return x*(2 if v==1 else 3)"
        ),
        ["V.k=False"],
    ),
    "del global": (
        ("k=2\ndef f(x): return x*k"),
        ["k=3", "del k", "k=4"],
    ),
    "global becomes function": (
        ("k=2\ndef f(x): return x*(k() if callable(k) else k)"),
        ["k=lambda: 5", "k=7"],
    ),
    "global array list index": (
        ("L=[np.float32([1]*6),np.float32([2]*6)]\ni=0\ndef f(x): return x*L[i]"),
        ["i=1", "L[1]=np.float64([5]*6)", "L[1][:]=6"],
    ),
    "decorator arg vs global": (
        ("n=np.float32(1)\ndef f(x): return np.add(x,n,dtype=D)\nD=np.float64"),
        ["D=np.float32"],
    ),
    "np.newaxis idx": (
        ("i=0\ndef f(x): return x[i]*2+x"),
        ["i=1", "i=-1", "i=np.int64(2)"],
    ),
    "pow": (
        ("p=2\ndef f(x): return x**p"),
        ["p=2.0", "p=3", "p=0.5", "p=np.float64(2)", "p=True"],
    ),
    "__index__ class": (
        ("class I:\n  v=1\n  def __index__(s): return s.v\ni=I()\ndef f(x): return x[i]+x"),
        ["I.v=2", "i.v=0"],
    ),
}


@pytest.fixture(autouse=True)
def libraries() -> Iterator[None]:
    """Put back what a program has replaced in libraries."""
    owners: list[Any] = [vars(module) for module in (np, math, builtins, random)]
    before = [dict(names) for names in owners]
    environment = dict(os.environ)
    yield
    for names, known in zip(owners, before, strict=True):
        names.update(known)
    os.environ.clear()
    os.environ.update(environment)


def program_of(function: Any) -> Program:
    return traced(function, "f", (X,), (), backend_named("host"))


def is_current(program: Program) -> bool:
    """What the next call asks: by the shortcut, if it has one of its own way, and otherwise."""
    found = program.trace.is_current((X,))
    tests = program.trace.outside.plain_tests
    if tests is not None:
        assert all(read() is value for read, value in tests) == found
    return found


@pytest.mark.parametrize("name", CHANGES)
def test_changes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, changes = CHANGES[name]
    monkeypatch.setitem(sys.modules, "program", types.ModuleType("program"))
    names: dict[str, Any] = {"np": np, "__name__": "program"}
    exec(text, names)
    for change in changes:
        try:
            program = program_of(names["f"])
        except NameError:  # the change before this one took a name away
            exec(change, names)
            continue
        assert is_current(program)
        exec(change, names)
        assert not is_current(program), change
