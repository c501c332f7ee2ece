"""Patterns of texts, times and JSON: which of them our Arrow code takes, and what for."""

from __future__ import annotations

import re

import pyarrow.compute as pc
import pytest

from stateplan.runtime.kernels.expressions.programs.patterns import (
    Refused,
    is_known,
    is_replacement,
    is_splitting,
    replacement_parts,
    translated,
)
from stateplan.runtime.kernels.expressions.programs.time_formats import is_read, is_shown
from stateplan.runtime.kernels.json.support import path_steps


def test_parts_are_written_out() -> None:
    assert translated(r"\d").re2 == r"[\x{30}-\x{39}]"
    assert translated("(?i)a").re2 == r"[\x{61}-\x{61}\x{41}-\x{41}]"
    assert translated("(a)|(b)", (2,)).re2 == "(?:(?:[\\x{61}-\\x{61}])|(?P<g2>[\\x{62}-\\x{62}]))"


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"\b+", r"(?=a)*", r"(?<=a+)b", r"(?m)^a", r"a++", r"\1", r"\p{L}", r"\Qa", r"\x41"),
        *(
            r"(?<a b>c)",
            "(?<a>b)(?<a>c)",
            r"(?>a)",
            r"\p{Alpha",
            r"(?i)\p{Lower}",
            r"[\b]",
            r"[\P{ASCII}]",
        ),
        *(
            "[a[b]]",
            "[a&&b]",
            "[^\\W]",
            "[z-a]",
            "[a",
            "(a",
            "a)",
            "a**",
            "(a*)*",
            "a{2,1}",
            "a{101}",
        ),
        *("", "a|", "()", "a$b", "b^a", "(^a)+", "(a|^)?b", "(a$)", "{", "(a{50}){50}"),
    ],
)
def test_what_java_may_match_otherwise_is_refused(pattern: str) -> None:
    assert not is_known(pattern)


def test_a_group_may_begin_where_the_text_does() -> None:
    found = translated("(&|^)id=([^&]*)", (2,))
    for text, value in (("id=1&b", "1"), ("a&id=&", ""), ("b=2&id=3", "3"), ("xid=4", None)):
        assert found.re2 is not None
        for match in (re.search(found.python, text), pc.extract_regex(text, found.re2).as_py()):
            assert (match and match["g2"]) == value


def test_a_group_that_is_repeated_is_not_extracted() -> None:
    assert is_known("(a)+b")
    assert not is_known("(a)+b", (1,))
    assert not is_known("(a)", (2,))


def test_empty_matches_are_neither_replaced_nor_divided_at() -> None:
    assert is_known("a*")
    assert not is_replacement("a*", "b")
    assert not is_splitting("a*")
    assert not is_splitting("^a")
    assert is_splitting("a+")


def test_words_begin_where_the_whole_text_says() -> None:
    assert is_known(r"\ba")
    assert not is_splitting(r"\ba")
    assert not is_splitting(r"a(?=b)")
    assert translated(r"a(?=b)").re2 is None
    assert not is_known(r"a(?=(b))", (1,))


def test_a_replacement_names_groups_as_java_reads_them() -> None:
    assert replacement_parts(r"$1$12\$", 1) == (1, 1, "2", "$")
    for text in ("$", "$a", "\\", "$2"):
        with pytest.raises(Refused):
            replacement_parts(text, 1)


@pytest.mark.parametrize(
    "pattern", ["yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "dd MMM yyyy", "yyyyMMddHHmmss"]
)
def test_times_are_read_and_shown(pattern: str) -> None:
    assert is_read(pattern)
    assert is_shown(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["yyyyMd", "yyyy-MM-dd hh:mm", "EEE", "MM-M", "yyyy[-MM]", "", "YYYY", "yyyyMMddHHmmssSSS"],
)
def test_times_that_java_may_read_otherwise_are_refused(pattern: str) -> None:
    assert not is_read(pattern)


@pytest.mark.parametrize("pattern", ["YYYY", "uuuu", "yyyyy", "z", "QQQ", "[MM]", ""])
def test_times_that_java_may_show_otherwise_are_refused(pattern: str) -> None:
    assert not is_shown(pattern)


def test_steps_of_paths() -> None:
    assert path_steps("$.a.b") == path_steps("$['a'].b") == ("a", "b")
    assert path_steps("$.a[0]") == ("a", 0)
    for path in ("$.*", "$..a", None):
        assert path_steps(path) is None
