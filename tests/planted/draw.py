"""Draw faults of the lab's pure rooms, as they stand in ``pure-*.patch``, and print one diff each.

    python tests/planted/draw.py 29    # in the root of f9a87be, with cosmic-ray 8.7.0 installed; 29 is the seed

In each room places in the code are drawn, then for each one of the operators that change it. One that changes annotations
alone, or does not compile, is replaced by the next.
"""

from __future__ import annotations

import ast
import difflib
import random
import sys
from collections import defaultdict
from pathlib import Path

import cosmic_ray.mutating
import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast

SOURCE = Path("src/acidtest")
JUDGES = "announcing blocks checkers coverage crash_states evidence fate items smaller"
ROOMS = {  # what lies in each, and how many faults are drawn
    "analysis": (["analysis"], 7),
    "audit": (["audit"], 6),
    "report": (["report"], 5),
    "powercut": ([f"powercut/{name}.py" for name in JUDGES.split()], 5),
    "workload": (["workload"], 4),
    "experiment": (["experiment"], 3),
    "plan": (["plan"], 3),
    "journal": (["journal"], 3),
    "formats": (["formats"], 3),
    "families": (["risk.py", "families.py", "filesystems.py"], 2),
    "question": (["question"], 1),
}
# Arithmetic is replaced by what gives a result of the same type.
ARITHMETIC = "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_FloorDiv Pow_Mul BitOr_BitAnd BitAnd_BitOr RShift_LShift LShift_RShift"
IDENTITY = "Is_IsNot IsNot_Is"
LEFT_OUT = ("Variable", "RemoveDecorator", "Binary", "_Is")


def operators() -> list[str]:
    kept = [name for name in sorted(cosmic_ray.plugins.operator_names()) if not any(part in name for part in LEFT_OUT)]
    kept += [f"core/ReplaceBinaryOperator_{pair}" for pair in ARITHMETIC.split()]
    return kept + [f"core/ReplaceComparisonOperator_{pair}" for pair in reversed(IDENTITY.split())]


def places(file: Path) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """The operators that change something at a line and column, each with its occurrence in the file."""
    found = defaultdict(list)
    nodes = list(ast_nodes(get_ast(file.read_text())))
    for name in operators():
        operator = cosmic_ray.plugins.get_operator(name)()
        starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, start in enumerate(starts):
            found[start].append((name, occurrence))
    return found


def meaning(code: str) -> str:
    """What the interpreter runs: all but annotations."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        for name in {"annotation", "returns"} & set(node._fields):
            setattr(node, name, None)
    return ast.dump(tree)


def draw(room: str, seed: str) -> None:
    parts, count = ROOMS[room]
    files = sorted(
        {file for part in parts for file in [SOURCE / part, *(SOURCE / part).rglob("*.py")] if file.is_file()}
    )
    drawn = [(file, changes) for file in files for _, changes in sorted(places(file).items())]
    lot = random.Random(f"{seed} {room}")
    lot.shuffle(drawn)
    for file, changes in drawn:
        if not count:
            return
        name, occurrence = lot.choice(changes)
        before = file.read_text()
        after = cosmic_ray.mutating.mutate_code(before, cosmic_ray.plugins.get_operator(name)(), occurrence)
        try:
            if meaning(before) == meaning(after):
                continue
        except SyntaxError:
            continue
        count -= 1
        lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{file}", f"b/{file}")
        print(f"{room}: {name}\n\ndiff --git a/{file} b/{file}\n{''.join(lines)}")


if __name__ == "__main__":
    for each in ROOMS:
        draw(each, sys.argv[1])
