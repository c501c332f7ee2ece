"""Java's random numbers: a linear congruential generator of 48 bits."""

from __future__ import annotations

_MASK = (1 << 48) - 1


class JavaRandom:
    """The numbers that `java.util.Random` of a seed gives, one after the other."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & _MASK

    def _next(self, bits: int) -> int:
        self._state = (self._state * 0x5DEECE66D + 0xB) & _MASK
        return self._state >> (48 - bits)

    def below(self, bound: int) -> int:
        """A whole number from 0 to below a bound that is no power of two."""
        while True:
            bits = self._next(31)
            found = bits % bound
            if bits - found + bound - 1 < 1 << 31:
                return found

    def double(self) -> float:
        """A number from 0 to below 1."""
        return ((self._next(26) << 27) + self._next(27)) / (1 << 53)
