"""The table of families holds what the engines' packages have, and is where others look a family up."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import acidtest
from acidtest import families
from acidtest.engine import catalogue

# Where a family is named beside the table: its package, its rules and what reads its own tools' files.
PACKAGE = re.compile(r"engine/\w+/\w+\.py")
AT_HOME = {
    "families.py": "the table",
    "engine/catalogue.py": "the registry of packages",
    "workload/tpcc.py": "sizes that were measured of some families; the others have the largest of these",
    "question/growth.py": "the least memory that was measured of two families; the others have one figure for all",
    "question/parts.py": "what level none is in production, where that is another setting than acidtest's own",
    "experiment/servers.py": "what the parameters of URLs are called in each family's own clients",
    "report/looks.py": "the colours of engines that are compared most; the others get what is left",
    "analysis/health": "what is unusual in a database of each family, and what its administrator does about it",
    "audit/bench.py": "which sections of a my.cnf the servers of two products read",
    "audit/result_sides.py": "how files and folders call the products for short",
    "audit/stores.py": "what each store promises of a write by default, and by what it is set otherwise",
    "audit/own_journal.py": "which importer reads an engine's log; a log that none reads says nothing",
    "audit/log_lines.py": "what the lines of each engine's log begin with, and what they tell",
    "audit/measured_sides.py": "tools that measure one engine alone, and forks whose results nobody distinguishes",
    "workload/folder.py": "what files of one engine alone carry in their names, and the rig's word for it",
    "conductor/imported_settings.py": "settings whose names in a configuration share nothing with ours",
    "audit/rules": "rules about one engine's settings",
    "audit/importers": "readers of one engine's files and of tools for it",
}


def test_every_engine_is_of_a_family_and_says_it_by_its_id() -> None:
    for name in catalogue.known():
        family = families.of_engine(name)
        assert family is not None
        assert catalogue.describe(name).family == family.name
        product = families.product_of_engine(name)
        assert product in family.products


def test_servers_by_url_are_of_the_families_that_have_a_port_for_them() -> None:
    assert set(catalogue.SERVERS) == set(families.SERVERS)


def test_a_word_is_of_one_product_only() -> None:
    words = [word for product in families.PRODUCTS.values() for word in (product.name, *product.words)]
    assert len(words) == len(set(words))
    for word in words:
        assert families.of_word(word) in families.FAMILIES.values()
    assert families.of_word("oracle") is None
    assert families.of_engine("mariadb-10.11") == families.of_engine("mysql8") == families.MYSQL
    assert families.of_engine("office") is None


def test_no_other_module_names_a_family() -> None:
    root = Path(str(acidtest.__file__)).parent
    names = {*families.FAMILIES, *families.PRODUCTS, *(w for p in families.PRODUCTS.values() for w in p.words)}
    found = []
    for module in sorted(root.rglob("*.py")):
        path = module.relative_to(root).as_posix()
        if PACKAGE.fullmatch(path) or any(path == home or path.startswith(f"{home}/") for home in AT_HOME):
            continue
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Constant) and node.value in names:
                found.append(f"{path}:{node.lineno}: {node.value}")
    assert not found, f"look it up in families.py instead: {found}"
