"""Print the ten largest modules and functions of the package."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"


def main() -> None:
    modules: list[tuple[int, str]] = []
    functions: list[tuple[int, str]] = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = str(path.relative_to(SOURCE))
        modules.append((len(text.splitlines()), name))
        functions += [
            ((node.end_lineno or node.lineno) - node.lineno + 1, f"{name}:{node.name}")
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
    for title, rows in (("modules", modules), ("functions", functions)):
        print(f"The ten largest {title}, in lines:")
        for lines, name in sorted(rows, reverse=True)[:10]:
            print(f"{lines:5}  {name}")


if __name__ == "__main__":
    main()
