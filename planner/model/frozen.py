"""`dataclass` whose classes are made in a fifth of the time: there are some three hundred of them.

The standard library compiles six methods for each frozen class when its module is imported, which
takes a third of a short command's time. Here those that are the same for all classes are shared,
and `__init__` is compiled when a class makes its first instance. What instances do is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from operator import itemgetter

    _OPTIONS = {"frozen", "kw_only", "eq"}

    def dataclass(cls=None, /, **options):
        """`dataclasses.dataclass`; quicker for frozen classes without other options."""
        if not options.get("frozen") or not options.keys() <= _OPTIONS:
            return dataclasses.dataclass(cls, **options)
        if cls is None:
            return lambda cls: _frozen(cls, **options)
        return _frozen(cls, **options)

    def _frozen(cls, *, frozen, kw_only=False, eq=True):
        cls.__doc__ = cls.__doc__ or cls.__name__  # else made of the signature
        own = vars(cls)
        has_hash = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
        cls.__setattr__, cls.__delattr__ = _set, _delete
        if "__init__" not in own:
            cls.__init__ = _first_init(cls)
        if "__repr__" not in own:
            cls.__repr__ = _repr
        if eq:
            if "__eq__" not in own:
                cls.__eq__ = _equal
            if not has_hash:
                cls.__hash__ = _hash
            fields = dataclasses.fields(cls)
            cls._compared = _getter([f.name for f in fields if f.compare])
            hashed = (f for f in fields if (f.compare if f.hash is None else f.hash))
            cls._hashed = _getter([f.name for f in hashed])
        return cls

    def _getter(names):
        """Gives the values of some fields in a dictionary, as a tuple."""
        if len(names) > 1:
            return itemgetter(*names)
        return staticmethod(lambda values: tuple(values[name] for name in names))

    def _equal(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._compared(self.__dict__) == self._compared(other.__dict__)

    def _hash(self):
        return hash(self._hashed(self.__dict__))

    def _repr(self):
        shown = (f.name for f in dataclasses.fields(self) if f.repr)
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    def _set(self, name, value):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def _delete(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def _first_init(cls):
        def __init__(self, *arguments, **named):
            cls.__init__ = _init(cls)
            cls.__init__(self, *arguments, **named)

        return __init__

    def _init(cls):
        """`__init__` of a class, compiled."""
        names, parameters, keywords, body = {}, ["self"], [], ["__held = self.__dict__"]
        for place, field in enumerate(cls.__dataclass_fields__.values()):
            if field._field_type is not dataclasses._FIELD:
                continue  # a ClassVar
            made = field.default_factory is not dataclasses.MISSING
            default = ""
            if made or field.default is not dataclasses.MISSING:
                names[f"__default{place}"] = field.default_factory if made else field.default
                default = f" = __default{place}"
            if field.init:
                (keywords if field.kw_only else parameters).append(field.name + default)
                value = field.name
                if made:
                    value = f"__default{place}() if {value} is __default{place} else {value}"
            elif default:
                value = f"__default{place}" + "()" * made
            else:
                continue
            body.append(f"__held[{field.name!r}] = {value}")
        if hasattr(cls, "__post_init__"):
            body.append("self.__post_init__()")
        listed = ", ".join(parameters + ["*"] * bool(keywords) + keywords)
        exec(f"def __init__({listed}):\n    " + "\n    ".join(body), names)
        return names["__init__"]
