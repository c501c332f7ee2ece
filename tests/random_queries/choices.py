"""Random choices that can be replayed and made smaller.

A query is made from a list of whole numbers, each the answer to one question ("which of n?"). With
a seed the answers are random and kept; a kept list replays them. 0 always means the plainest
answer, and beyond the list's end every answer is 0: so a shorter list, or one with more zeros,
makes a plainer query, and shrinking needs to know nothing of queries.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
FINE = 1000


class Choices:
    """Answers from a seed, or from a list.

    Attributes:
        made: the answers so far.
    """

    def __init__(self, seed: int | None = None, replay: Sequence[int] = ()) -> None:
        self._random = None if seed is None else random.Random(seed)
        self._replay = replay
        self.made: list[int] = []

    def below(self, count: int) -> int:
        """A whole number from 0 to count - 1."""
        position = len(self.made)
        if self._random is not None:
            answer = self._random.randrange(count)
        elif position < len(self._replay):
            answer = min(self._replay[position], count - 1)
        else:
            answer = 0
        self.made.append(answer)
        return answer

    def pick(self, *options: T) -> T:
        """One of the options, the first being the plainest."""
        return options[self.below(len(options))]

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options, the first being the plainest."""
        return options[self.below(len(options))]

    def chance(self, probability: float) -> bool:
        """True this often; False is the plain answer."""
        return self.below(FINE) >= FINE * (1 - probability)

    def some(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """Several different options."""
        rest = list(options)
        count = min(least + self.below(most - least + 1), len(rest))
        return [rest.pop(self.below(len(rest))) for _ in range(count)]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of the options, each as often as its weight says."""
        at = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            if at < weight:
                return option
            at -= weight
        raise AssertionError("the weights are below their sum")


def smaller(made: Sequence[int]) -> Iterator[list[int]]:
    """Plainer lists of answers, the boldest steps first."""
    length = len(made)
    size = length // 2
    while size:
        for start in range(0, length, size):
            yield [*made[:start], *made[start + size :]]
        size //= 2
    for position, answer in enumerate(made):
        for lower in dict.fromkeys((0, answer // 2, answer - 1)):
            if 0 <= lower < answer:
                yield [*made[:position], lower, *made[position + 1 :]]
