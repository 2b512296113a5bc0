"""Each kind of object that a traced function may read from outside, changed between calls.

The fused function gives what the plain one does.
"""

from __future__ import annotations

import decimal
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import kerneltk

X = np.arange(1, 7, dtype=np.float32)

# What defines a function `f`, and changes after each of which it is called again.
CASES: dict[str, tuple[str, list[str]]] = {
    "match class": (
        """\
class P:
  __match_args__=('a',)
  def __init__(s,a): s.a=a
p=P(2)
def f(x):
  match p:
    case P(a): return x*a
    case _: return x*9
""",
        ["p.a=3", "P.__match_args__=('b',);P.b=7"],
    ),
    "match kw": (
        """\
class P: pass
p=P()
p.k=2
def f(x):
  match p:
    case P(k=2): return x*5
    case _: return x*9
""",
        ["p.k=3", "p.k=2"],
    ),
    "match kw2": (
        """\
class P: pass
p=P()
p.k=2
def f(x):
  match p:
    case P(k=v): return x*v
    case _: return x*9
""",
        ["p.k=3", "p.k=2"],
    ),
    "match map": (
        """\
d={'k':2}
def f(x):
  match d:
    case {'k':v}: return x*v
    case _: return x*9
""",
        ["d['k']=3", "d.pop('k')"],
    ),
    "match value": (
        """\
class C: k=2
def f(x,):
  match 2:
    case C.k: return x*3
    case _: return x*9
""",
        ["C.k=3"],
    ),
    "match seq": (
        """\
d=[1,2]
def f(x,):
  match d:
    case [a,b]: return x*b
    case _: return x*9
""",
        ["d[1]=3", "d.append(1)"],
    ),
    "match in method": (
        """\
class P: pass
p=P()
p.k=2
class Q:
  def m(s,x):
    match p:
      case P(k=v): return x*v
    return x
q=Q()
def f(x): return q.m(x)
""",
        ["p.k=3", "p.k=2"],
    ),
    "match dataclass": (
        """\
import dataclasses
@dataclasses.dataclass
class P:
  a:int=2
  b:int=3
p=P()
def f(x):
  match p:
    case P(u,v): return x*u*v
  return x
""",
        ["p.a=3", "p.b=7"],
    ),
    "wraps npclip": (
        """\
import functools
@functools.wraps(np.clip)
def c(x,a,b): return x*7
def f(x): return c(x,1,2)
""",
        ["c=np.clip"],
    ),
    "wraps npclip calls": (
        """\
import functools
@functools.wraps(np.clip)
def c(x,a,b): return np.clip(x,a,b)*K
K=2
def f(x): return c(x,1,3)
""",
        ["K=5"],
    ),
    "wraps ufunc": (
        """\
import functools
@functools.wraps(np.exp)
def c(x): return x*K
K=2
def f(x): return c(x)
""",
        ["K=5"],
    ),
    "wraps own": (
        """\
import functools
@functools.wraps(np.clip)
def f(x): return x*K
K=2
""",
        ["K=5"],
    ),
    "wraps zeros": (
        """\
import functools
@functools.wraps(np.zeros)
def z(n): return np.ones(n)*K
K=2
def f(x): return x+z(6)
""",
        ["K=5"],
    ),
    "module named numpy": (
        """\
def z(n): return n*K
z.__module__='numpy'
K=2
def f(x): return z(x)
""",
        ["K=5"],
    ),
    "program named as lib": (
        """\
class A:
  k=2
A.__module__='numpy.foo'
a=A()
def f(x): return x*a.k
""",
        ["a.k=5"],
    ),
    "wraps method": (
        """\
import functools
class A:
  k=2
  @functools.wraps(np.clip)
  def m(s,x): return x*s.k
a=A()
def f(x): return a.m(x)
""",
        ["a.k=5", "A.k=8;del a.k"],
    ),
    "class wraps": (
        """\
import functools
class A:
  k=2
  def __init__(s,g): functools.update_wrapper(s,g)
  def __call__(s,x): return x*s.k
a=A(np.clip)
def f(x): return a(x)
""",
        ["a.k=5"],
    ),
    "import method": (
        """\
import sys,types
m=types.ModuleType('own_s2')
m.k=2
sys.modules['own_s2']=m
class A:
  def m(s,x):
    import own_s2
    return x*own_s2.k
a=A()
def f(x): return a.m(x)
""",
        ["m.k=3", "m=types.ModuleType('own_s2'); m.k=5; sys.modules['own_s2']=m"],
    ),
    "from import method": (
        """\
import sys,types
m=types.ModuleType('own_s2')
m.k=2
sys.modules['own_s2']=m
class A:
  def m(s,x):
    from own_s2 import k
    return x*k
a=A()
def f(x): return a.m(x)
""",
        ["m.k=3", "m=types.ModuleType('own_s2'); m.k=5; sys.modules['own_s2']=m"],
    ),
    "from import": (
        """\
import sys,types
m=types.ModuleType('own_s2')
m.k=2
sys.modules['own_s2']=m
def f(x):
    from own_s2 import k
    return x*k
""",
        ["m.k=3", "m=types.ModuleType('own_s2'); m.k=5; sys.modules['own_s2']=m"],
    ),
    "import star sub": (
        """\
import sys,types
m=types.ModuleType('own_p')
s=types.ModuleType('own_p.sub')
m.sub=s
m.__path__=[]
s.k=2
sys.modules['own_p']=m
sys.modules['own_p.sub']=s
def f(x):
    import own_p.sub as t
    return x*t.k
""",
        ["s.k=3", "m.sub=types.SimpleNamespace(k=9)"],
    ),
    "importlib": (
        """\
import sys,types,importlib
m=types.ModuleType('own_s3')
m.k=2
sys.modules['own_s3']=m
def f(x):
    return x*importlib.import_module('own_s3').k
""",
        ["m.k=3", "m=types.ModuleType('own_s3'); m.k=5; sys.modules['own_s3']=m"],
    ),
    "sys.modules": (
        """\
import sys,types
m=types.ModuleType('own_s3')
m.k=2
sys.modules['own_s3']=m
def f(x):
    return x*sys.modules['own_s3'].k
""",
        ["m.k=3", "m=types.ModuleType('own_s3'); m.k=5; sys.modules['own_s3']=m"],
    ),
    "__import__": (
        """\
import sys,types
m=types.ModuleType('own_s3')
m.k=2
sys.modules['own_s3']=m
def f(x):
    return x*__import__('own_s3').k
""",
        ["m.k=3", "m=types.ModuleType('own_s3'); m.k=5; sys.modules['own_s3']=m"],
    ),
    "globals method": (
        """\
K=2
class A:
  def m(s,x): return x*globals()['K']
a=A()
def f(x): return a.m(x)
""",
        ["K=3"],
    ),
    "globals helper": (
        """\
K=2
def h(x): return x*globals()['K']
def f(x): return h(x)
""",
        ["K=3"],
    ),
    "globals dict held": (
        """\
K=2
G=globals()
def f(x): return x*G['K']
""",
        ["K=3"],
    ),
    "eval method": (
        """\
K=2
class A:
  def m(s,x): return x*eval('K')
a=A()
def f(x): return a.m(x)
""",
        ["K=3"],
    ),
    "func.__globals__": (
        """\
K=2
def g(): pass
def f(x): return x*g.__globals__['K']
""",
        ["K=3"],
    ),
    "vars()": (
        """\
K=2
import types
o=types.SimpleNamespace(q=2)
def f(x): return x*vars(o)['q']
""",
        ["o.q=3"],
    ),
    "sys._getframe": (
        """\
K=2
import sys
def f(x): return x*sys._getframe().f_globals['K']
""",
        ["K=3"],
    ),
    "values": (
        """\
d={'a':2}
v=d.values()
def f(x): return x*list(v)[0]
""",
        ["d['a']=3", "d['b']=2;d.pop('a')"],
    ),
    "items": (
        """\
d={'a':2}
v=d.items()
def f(x): return x*dict(v)['a']
""",
        ["d['a']=3"],
    ),
    "keys": (
        """\
d={'a':2}
v=d.keys()
def f(x): return x*len(v)
""",
        ["d['b']=3"],
    ),
    "keys mapping": (
        """\
d={'a':2}
v=d.keys()
def f(x): return x*v.mapping['a']
""",
        ["d['a']=3"],
    ),
    "odict values": (
        """\
import collections
d=collections.OrderedDict(a=2)
v=d.values()
def f(x): return x*list(v)[0]
""",
        ["d['a']=3"],
    ),
    "values nested": (
        """\
d={'a':[2]}
v=d.values()
def f(x): return x*list(v)[0][0]
""",
        ["d['a'][0]=3"],
    ),
    "collections.abc ValuesView": (
        """\
import collections
d=collections.UserDict(a=2)
v=d.values()
def f(x): return x*list(v)[0]
""",
        ["d['a']=3"],
    ),
    "attrgetter": (
        """\
import operator
class A: pass
a=A()
a.k=2
g=operator.attrgetter('k')
def f(x): return x*g(a)
""",
        ["a.k=3", "g=operator.attrgetter('j');a.j=8"],
    ),
    "attrgetter dotted": (
        """\
import operator,types
a=types.SimpleNamespace(b=types.SimpleNamespace(c=2))
g=operator.attrgetter('b.c')
def f(x): return x*g(a)
""",
        ["a.b.c=3", "a.b=types.SimpleNamespace(c=9)"],
    ),
    "itemgetter": (
        """\
import operator
a=[2,3]
g=operator.itemgetter(1)
def f(x): return x*g(a)
""",
        ["a[1]=7"],
    ),
    "itemgetter obj": (
        """\
import operator
class A:
  v=2
  def __getitem__(s,k): return s.v
a=A()
g=operator.itemgetter(1)
def f(x): return x*g(a)
""",
        ["a.v=7"],
    ),
    "methodcaller": (
        """\
import operator
class A:
  v=2
  def get(s): return s.v
a=A()
g=operator.methodcaller('get')
def f(x): return x*g(a)
""",
        ["a.v=7", "A.get=lambda s: 11"],
    ),
    "methodcaller args": (
        """\
import operator
L=[2]
g=operator.methodcaller('__mul__',L)
class A:
  def go(s,l): return l[0]
a=A()
h=operator.methodcaller('go',L)
def f(x): return x*h(a)
""",
        ["L[0]=7"],
    ),
    "attrgetter in list": (
        """\
import operator
class A: pass
a=A()
a.k=2
g=[operator.attrgetter('k')]
def f(x): return x*g[0](a)
""",
        ["a.k=3"],
    ),
    "attrgetter in closure": (
        """\
import operator
class A: pass
a=A()
a.k=2
def mk(g):
  def f(x): return x*g(a)
  return f
f=mk(operator.attrgetter('k'))
""",
        ["a.k=3"],
    ),
    "map obj": (
        """\
import itertools
d=[2]
def f(x): return x*next(iter(map(K,d)))
K=float
""",
        ["d[0]=3", "K=lambda v:9"],
    ),
    "iterator": (
        """\
it=iter([1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17])
def f(x): return x*next(it)
""",
        [],
    ),
    "count": (
        """\
import itertools
it=itertools.count(1)
def f(x): return x*next(it)
""",
        [],
    ),
    "generator": (
        """\
def g():
  k=0
  while True:
    k+=1
    yield k
it=g()
def f(x): return x*next(it)
""",
        [],
    ),
    "decimal list": (
        """\
from decimal import Decimal as D
d=[D('1.0')]
def f(x): return x*len(str(d[0]))
""",
        ["d[0]=D('1.00')"],
    ),
    "datetime fold": (
        """\
import datetime
d=datetime.datetime(2020,1,1,fold=0)
def f(x): return x*(d.fold+1)
""",
        ["d=d.replace(fold=1)"],
    ),
    "mutating closed self": (
        """\
class A:
  def __init__(s): s.n=0
  def m(s,x):
    s.n+=1
    return x*s.n
a=A()
def f(x): return a.m(x)
""",
        [],
    ),
    "counter closure": (
        """\
def mk():
  n=0
  def f(x):
    nonlocal n
    n+=1
    return x*n
  return f
f=mk()
""",
        [],
    ),
    "counter list": (
        """\
L=[0]
def f(x):
  L[0]+=1
  return x*L[0]
""",
        [],
    ),
    "counter append": (
        """\
L=[]
def f(x):
  L.append(1)
  return x*len(L)
""",
        [],
    ),
    "counter dict": (
        """\
L={}
def f(x):
  L['n']=L.get('n',0)+1
  return x*L['n']
""",
        [],
    ),
    "counter class": (
        """\
class A: n=0
def f(x):
  A.n+=1
  return x*A.n
""",
        [],
    ),
    "counter module": (
        """\
import types
m=types.ModuleType('mm')
m.n=0
def f(x):
  m.n+=1
  return x*m.n
""",
        [],
    ),
    "counter helper global": (
        """\
N=0
def h():
  global N
  N+=1
  return N
def f(x): return x*h()
""",
        [],
    ),
    "counter method global": (
        """\
N=0
class A:
  def h(s):
    global N
    N+=1
    return N
a=A()
def f(x): return x*a.h()
""",
        [],
    ),
    "hasattr const": (
        """\
class A: pass
o=A()
def f(x): return x*(2 if hasattr(o,'gain') else 3)
""",
        ["o.gain=1", "del o.gain", "A.gain=1"],
    ),
    "getattr dyn default": (
        """\
class A: pass
o=A()
def f(x): return x*getattr(o,'ga'+'in',1)
""",
        ["o.gain=5", "del o.gain", "A.gain=7"],
    ),
    "alias getattr": (
        """\
class A: pass
o=A()
o.k=2
g=getattr
def f(x): return x*g(o,'k'+'')
""",
        ["o.k=5"],
    ),
    "alias globals": (
        """\
K=2
g=globals
def f(x): return x*g()['K']
""",
        ["K=5"],
    ),
    "dir": (
        """\
class A: pass
o=A()
o.k=2
def f(x): return x*len([n for n in dir(o) if not n.startswith('_')])
""",
        ["o.j=5"],
    ),
    "vars alias": (
        """\
class A: pass
o=A()
o.k=2
v=vars
def f(x): return x*v(o)['k']
""",
        ["o.k=5"],
    ),
    "property own": (
        """\
class A:
  m=1
  @property
  def k(s): return s.__dict__['k']*A.m
o=A()
o.__dict__['k']=2
def f(x): return x*o.k
""",
        ["A.m=5", "o.__dict__['k']=3", "A.k=property(lambda s:11)"],
    ),
    "descriptor": (
        """\
class D:
  v=2
  def __get__(s,o,t): return s.v
class A:
  k=D()
o=A()
def f(x): return x*o.k
""",
        ["D.v=5", "A.__dict__['k'].v=7"],
    ),
    "cached_property": (
        """\
import functools
class A:
  b=2
  @functools.cached_property
  def k(s): return s.b
o=A()
def f(x): return x*o.k
""",
        ["o.b=5", "o.__dict__.pop('k',None)"],
    ),
    "__getattr__": (
        """\
class A:
  def __init__(s): s.d={'k':2}
  def __getattr__(s,n): return s.d[n]
o=A()
def f(x): return x*o.k
""",
        ["o.d['k']=5"],
    ),
    "module __getattr__": (
        """\
import types
m=types.ModuleType('mg')
D={'k':2}
m.__getattr__=lambda n: D[n]
def f(x): return x*m.k
""",
        ["D['k']=5"],
    ),
    "class name": (
        """\
class A: pass
def f(x): return x*len(A.__name__)
""",
        ["A.__name__='longer'"],
    ),
    "func name": (
        """\
def h(): pass
def f(x): return x*len(h.__name__)
""",
        ["h.__name__='longer'"],
    ),
    "func doc": (
        """\
def h():
  'ab'
def f(x): return x*len(h.__doc__)
""",
        ["h.__doc__='longer'"],
    ),
    "module dunder": (
        """\
import types
m=types.ModuleType('mg')
m.__version__='1'
def f(x): return x*len(m.__version__)
""",
        ["m.__version__='longer'"],
    ),
    "class dunder attr": (
        """\
class A: __scale__=2
def f(x): return x*A.__scale__
""",
        ["A.__scale__=5"],
    ),
    "own dunder": (
        """\
class A: pass
a=A()
a.__k__=2
def f(x): return x*a.__k__
""",
        ["a.__k__=5"],
    ),
    "bases": (
        """\
class B1: k=2
class B2: k=3
class A(B1): pass
a=A()
def f(x): return x*a.k
""",
        ["A.__bases__=(B2,)"],
    ),
    "np.void": (
        """\
arr=np.zeros(2,[('a','f4')])
arr['a']=2
r=arr[0]
def f(x): return x*r['a']
""",
        ["arr['a'][0]=5"],
    ),
    "rec array": (
        """\
arr=np.rec.array([(2.,)],dtype=[('a','f4')])
def f(x): return x*arr[0].a
""",
        ["arr['a'][0]=5"],
    ),
    "flatiter": (
        """\
arr=np.ones(6,'f4')
r=arr.flat
def f(x): return x*r[0]
""",
        ["arr[0]=5"],
    ),
    "np.vectorize": (
        """\
K=2
v=np.vectorize(lambda k:k*K)
def f(x): return x*int(v(3))
""",
        ["K=5"],
    ),
    "poly1d": (
        """\
p=np.poly1d([1.,2.])
def f(x): return x*float(p(2))
""",
        ["p.coeffs[0]=5"],
    ),
    "frompyfunc": (
        """\
K=2
v=np.frompyfunc(lambda k:k*K,1,1)
def f(x): return x*int(v(3))
""",
        ["K=5"],
    ),
    "queue": (
        """\
import queue
q=queue.Queue()
for i in range(50): q.put(i)
def f(x): return x*q.get()
""",
        [],
    ),
    "simplequeue": (
        """\
import queue
q=queue.SimpleQueue()
for i in range(50): q.put(i)
def f(x): return x*q.get()
""",
        [],
    ),
    "element": (
        """\
import xml.etree.ElementTree as E
e=E.Element('a',k='2')
def f(x): return x*int(e.get('k'))
""",
        ["e.set('k','3')"],
    ),
    "element text": (
        """\
import xml.etree.ElementTree as E
e=E.Element('a')
e.text='2'
def f(x): return x*int(e.text)
""",
        ["e.text='3'"],
    ),
    "stringio": (
        """\
import io
e=io.StringIO('2')
def f(x): return x*int(e.getvalue())
""",
        ["e.truncate(0);e.seek(0);e.write('3')"],
    ),
    "configparser": (
        """\
import configparser
c=configparser.ConfigParser()
c['a']={'k':'2'}
def f(x): return x*int(c['a']['k'])
""",
        ["c['a']['k']='3'"],
    ),
    "argparse": (
        """\
import argparse
c=argparse.Namespace(k=2)
def f(x): return x*c.k
""",
        ["c.k=3"],
    ),
    "cell": (
        """\
import types
c=types.CellType(2)
def f(x): return x*c.cell_contents
""",
        ["c.cell_contents=5"],
    ),
    "union": (
        """\
import ctypes
class U(ctypes.Union): _fields_=[('a',ctypes.c_int)]
u=U(2)
def f(x): return x*u.a
""",
        ["u.a=5"],
    ),
    "pointer": (
        """\
import ctypes
c=ctypes.c_int(2)
p=ctypes.pointer(c)
def f(x): return x*p.contents.value
""",
        ["c.value=5"],
    ),
    "decimal ctx": (
        """\
import decimal
def f(x): return x*len(str(decimal.Decimal(1)/decimal.Decimal(3)))
""",
        ["decimal.getcontext().prec=5"],
    ),
    "memoryview": (
        """\
b=bytearray(b'\\x02\\x03')
m=memoryview(b)
def f(x): return x*m[0]
""",
        ["b[0]=7"],
    ),
    "mmap": (
        """\
import mmap
m=mmap.mmap(-1,16)
m[0]=2
def f(x): return x*m[0]
""",
        ["m[0]=7"],
    ),
    "slots desc": (
        """\
class A: __slots__=('k','__weakref__')
a=A()
a.k=2
def f(x): return x*a.k
""",
        ["a.k=5", "del a.k;a.k=6"],
    ),
    "slots list": (
        """\
class A: __slots__=('k',)
a=A()
a.k=[2]
def f(x): return x*a.k[0]
""",
        ["a.k[0]=5", "a.k=[7]"],
    ),
    "mutate then late": (
        """\
import types
m=types.ModuleType('mm')
exec('def h(x): return x+1',m.__dict__)
L=[0]
def f(x):
  L[0]+=1
  return m.h(x)*L[0]
""",
        ["L[0]=10"],
    ),
    "wraps obj zeros": (
        """\
import functools
class A:
  k=2
  def __init__(s,g): functools.update_wrapper(s,g)
  def __call__(s,n): return np.ones(n)*s.k
z=A(np.zeros)
def f(x): return x+z(6)
""",
        ["A.k=5"],
    ),
    "partial wraps": (
        """\
import functools
z=functools.update_wrapper(functools.partial(np.zeros,dtype=np.float32),np.zeros)
def f(x): return x+z(6)
""",
        [],
    ),
    "partial wraps errstate": (
        """\
import functools
z=functools.update_wrapper(functools.partial(np.full,fill_value=3),np.full)
def f(x): return x+z(6)
""",
        [],
    ),
    "singledispatch": (
        """\
import functools
@functools.singledispatch
def s(v): return 2
@s.register(int)
def _i(v): return K
K=3
def f(x): return x*s(1)
""",
        ["K=5", "s.register(int,lambda v:9)"],
    ),
    "contextmanager": (
        """\
import contextlib
K=2
@contextlib.contextmanager
def c():
  yield K
def f(x):
  with c() as k: return x*k
""",
        ["K=5"],
    ),
    "with obj": (
        """\
class C:
  k=2
  def __enter__(s): return s.k
  def __exit__(s,*a): pass
c=C()
def f(x):
  with c as k: return x*k
""",
        ["c.k=5", "C.k=9;del c.k"],
    ),
    "nonlocal inner": (
        """\
def mk():
  k=2
  def g(): return k
  def s(v):
    nonlocal k
    k=v
  return g,s
g,s=mk()
def f(x): return x*g()
""",
        ["s(5)"],
    ),
    "recursive class": (
        """\
class N:
  def __init__(s,v,n=None): s.v=v;s.next=n
n=N(1,N(2,N(3)))
def f(x):
  p=n
  t=0
  while p is not None: t+=p.v;p=p.next
  return x*t
""",
        ["n.next.next.v=9", "n.next.next.next=N(4)"],
    ),
    "cycle": (
        """\
class N: pass
a=N()
b=N()
a.o=b
b.o=a
a.v=1
b.v=2
def f(x): return x*a.o.o.o.v
""",
        ["b.v=5", "b.o=b"],
    ),
    "two lists alias": (
        """\
a=[2]
b=a
def f(x): return x*(3 if a is b else 4)
""",
        ["b=[2]", "a=b"],
    ),
    "tuple alias": (
        """\
a=(2,[1])
b=a
def f(x): return x*(3 if a is b else 4)
""",
        ["b=(2,a[1])"],
    ),
    "dict in dict swapped": (
        """\
d={'a':{'k':1},'b':{'k':2}}
def f(x): return x*d['a']['k']
""",
        ["d['a'],d['b']=d['b'],d['a']"],
    ),
    "set order": (
        """\
s={3,1}
def f(x): return x*sum(s)
""",
        ["s.discard(3);s.add(8)"],
    ),
    "enum alias": (
        """\
import enum
class E(enum.Enum):
  A=1
  def m(s): return K
K=2
e=E.A
def f(x): return x*e.m()
""",
        ["K=5"],
    ),
    "type() dispatch": (
        """\
class A:
  k=2
  def __init__(s): s.z=K
K=2
a=A()
def f(x): return x*type(a)().z
""",
        ["K=5"],
    ),
    "class call": (
        """\
class A:
  def __init__(s,v): s.z=v*K
K=2
def f(x): return x*A(2).z
""",
        ["K=5"],
    ),
    "dataclass factory": (
        """\
import dataclasses
@dataclasses.dataclass
class A:
  v:int=2
def f(x): return x*A().v
""",
        ["A.__init__.__defaults__=(7,)"],
    ),
    "namedtuple defaults": (
        """\
import collections
T=collections.namedtuple('T','a b',defaults=(2,))
def f(x): return x*T(1).b
""",
        ["T.__new__.__defaults__=(7,)"],
    ),
    "typing.NamedTuple": (
        """\
import typing
class T(typing.NamedTuple):
  a:int=2
t=T()
def f(x): return x*t.a
""",
        ["t=T(5)"],
    ),
    "lambda default": (
        """\
K=2
d={'f':lambda v,k=[2]: v*k[0]}
def f(x): return d['f'](x)
""",
        ["d['f'].__defaults__[0][0]=5"],
    ),
    "generator expr global": (
        """\
K=[1,2]
g=(k for k in K)
def f(x): return x*sum(g)
""",
        ["g=(k for k in [5])"],
    ),
    "zip obj": (
        """\
z=zip([1,2,3],[4,5,6])
def f(x):
  for a,b in z: x=x*b
  return x
""",
        [],
    ),
    "user iter": (
        """\
class It:
  def __init__(s): s.n=0
  def __iter__(s): return s
  def __next__(s):
    s.n+=1
    return s.n
it=It()
def f(x): return x*next(it)
""",
        [],
    ),
    "reversed": (
        """\
L=[1,2,3]
def f(x): return x*next(reversed(L))
""",
        ["L.append(9)"],
    ),
    "itemgetter multi": (
        """\
import operator
a={'x':2,'y':3}
g=operator.itemgetter('x','y')
def f(x): return x*sum(g(a))
""",
        ["a['y']=7"],
    ),
    "partialmethod": (
        """\
import functools
class A:
  K=2
  def m(s,k,x): return x*k*s.K
  p=functools.partialmethod(m,3)
a=A()
def f(x): return a.p(x)
""",
        ["A.K=5", "A.m.__code__=(lambda s,k,x:x*77).__code__"],
    ),
    "os.environ get": (
        """\
import decimal
import os
os.environ['KTK_Z']='2'
def f(x): return x*int(os.getenv('KTK_Z'))
""",
        ["os.environ['KTK_Z']='3'"],
    ),
    "sys.argv": (
        """\
import sys
sys.argv=['a']
def f(x): return x*len(sys.argv)
""",
        ["sys.argv.append('b')"],
    ),
    "int enum auto": (
        """\
import enum
class E(enum.IntFlag):
  A=enum.auto()
  B=enum.auto()
e=E.A
def f(x): return x*int(e|E.B)
""",
        ["e=E.B"],
    ),
    "abc": (
        """\
import abc
class B(abc.ABC):
  @abc.abstractmethod
  def k(s): ...
class A(B):
  def k(s): return K
K=2
a=A()
def f(x): return x*a.k()
""",
        ["K=5"],
    ),
    "isinstance abc register": (
        """\
import abc
class B(abc.ABC): pass
class A: pass
a=A()
def f(x): return x*(2 if isinstance(a,B) else 3)
""",
        ["B.register(A)"],
    ),
    "__class_getitem__": (
        """\
class A:
  k=2
  def __class_getitem__(c,n): return c.k
def f(x): return x*A[1]
""",
        ["A.k=5"],
    ),
    "format spec": (
        """\
class A:
  def __format__(s,t): return 'a'*K
K=2
a=A()
def f(x): return x*len(f'{a}')
""",
        ["K=5"],
    ),
    "str()": (
        """\
class A:
  def __repr__(s): return 'a'*K
K=2
a=A()
def f(x): return x*len(str(a))
""",
        ["K=5"],
    ),
    "repr nested list": (
        """\
class A:
  def __repr__(s): return 'a'*K
K=2
a=[A()]
def f(x): return x*len(str(a))
""",
        ["K=5"],
    ),
    "sorted key": (
        """\
K=-1
L=[1,2]
def f(x): return x*sorted(L,key=lambda v:v*K)[0]
""",
        ["K=1"],
    ),
    "hash": (
        """\
class A:
  v=2
  def __hash__(s): return s.v
a=A()
def f(x): return x*hash(a)
""",
        ["A.v=5"],
    ),
    "chain call": (
        """\
class A:
  def __init__(s): s.v=2
  def get(s): return s
a=A()
def f(x): return x*a.get().get().v
""",
        ["a.v=5"],
    ),
    "weakvaluedict": (
        """\
import weakref
class A: v=2
a=A()
d=weakref.WeakValueDictionary(a=a)
def f(x): return x*d['a'].v
""",
        ["a.v=5"],
    ),
    "defaultdict factory": (
        """\
import collections
K=2
d=collections.defaultdict(lambda: K)
def f(x): return x*d['z'+str(len(d))]
""",
        ["K=5"],
    ),
    "counter": (
        """\
import collections
c=collections.Counter('aab')
def f(x): return x*c.most_common(1)[0][1]
""",
        ["c['b']=9"],
    ),
    "deque rotate": (
        """\
import collections
c=collections.deque([1,2])
def f(x): return x*c[0]
""",
        ["c.rotate(1)"],
    ),
    "code replaced nested const": (
        """\
def mk(k):
  def h(x): return x*k
  return h
h=mk(2)
def f(x): return h(x)
""",
        ["h=mk(3)"],
    ),
    "staticmethod in dict": (
        """\
class A:
  d={'s':staticmethod(lambda v:v*K)}
K=2
def f(x): return A.d['s'](x)
""",
        ["K=5"],
    ),
}


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put back what a program changes in the standard library."""
    monkeypatch.setitem(sys.modules, "program", types.ModuleType("program"))
    modules, environment, arguments = dict(sys.modules), dict(os.environ), sys.argv
    with decimal.localcontext():
        yield
    for name in sys.modules.keys() - modules.keys():
        if name.startswith("own_"):
            del sys.modules[name]
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments


@pytest.mark.parametrize("name", CASES)
def test_calls_are_those_of_the_plain_function(name: str) -> None:
    source, changes = CASES[name]
    own: dict[str, Any] = {"np": np, "__name__": "program"}
    plain = dict(own)
    exec(source, own)
    exec(source, plain)
    fused = kerneltk.fuse(own["f"])
    for change in ["pass", *changes]:
        exec(change, own)
        exec(change, plain)
        for call in range(3):
            found, wanted = fused(X), plain["f"](X)
            np.testing.assert_array_equal(found, wanted, err_msg=f"{change}, call {call}")
            assert found.dtype == wanted.dtype
