"""The base of classes in compiled modules whose objects may be referenced weakly."""


class WeaklyReferenced:
    """Gives objects of a class that mypyc compiles a list of weak references, as objects of pure classes have it.

    mypyc adds this list only to classes with a base that is not compiled, so do not compile this module.
    """

    __slots__ = ()
