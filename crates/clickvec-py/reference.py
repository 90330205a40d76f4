"""Writes the reference of the Python package, from its docstrings, as Markdown to standard output; with --interface a line for each call.

It reads the sources, so that nothing has to be built. What is public and has no docstring is an error.
"""

import ast
import re
import sys
import textwrap
from pathlib import Path

PACKAGE = Path(__file__).parent / "python" / "clickvec"
#: Modules besides the package itself, in the order of the page.
MODULES = ("rankers", "batches", "spark", "sklearn", "sentence_transformers", "langchain", "llama_index", "haystack", "pyterrier", "ir_datasets", "mteb")
missing = []


def source(module):
    """The lines and the tree of a module."""
    path = PACKAGE / f"{module}.py"
    text = (path if path.exists() else path.with_suffix(".pyi")).read_text(encoding="utf-8")
    return text.splitlines(), ast.parse(text)


def markdown(text):
    """A docstring with its parameters as a list and its examples as code."""
    text = re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", text.replace("``", "`"))
    lines, code = [], False
    for line in text.splitlines():
        is_code = line.startswith((">>>", "...")) or (code and line.strip() != "")
        if is_code != code:
            lines += ["```"] if code else ["", "```python"]
        code = is_code
        if (found := re.match(r":param (\w+): (.*)", line)) and not code:
            line = f"- `{found[1]}`: {found[2]}"
            if lines and lines[-1].strip() and not lines[-1].startswith(("- ", "  ")):
                lines.append("")
        elif line.startswith("    ") and not code:
            line = "  " + line.strip()
        lines.append(re.sub(r"  # doctest:.*", "", line))
    return "\n".join(lines + ["```"] * code)


def documented(node, name):
    """The docstring of a node as Markdown."""
    text = ast.get_docstring(node)
    if text is None and not isinstance(node, ast.ClassDef):
        missing.append(name)
    return markdown(text or "")


def signature(name, function):
    """A call as it is typed, a line for each argument if it is long."""
    arguments = ast.unparse(function.args)
    arguments = re.sub(r"^(self|cls)(, |$)", "", arguments)
    returns = f" -> {ast.unparse(function.returns)}" if function.returns and function.name != "__init__" else ""
    line = f"{name}({arguments}){returns}"
    if len(line) > 100:
        function.args.args = [one for one in function.args.args if one.arg not in ("self", "cls")]
        parts, depth, part = [], 0, ""
        for letter in ast.unparse(function.args):
            depth += (letter in "[({") - (letter in "])}")
            part += letter
            if letter == "," and depth == 0:
                parts.append(part.strip())
                part = ""
        inner = textwrap.indent("\n".join([*parts, part.strip() + ","]), "    ")
        line = f"{name}(\n{inner}\n){returns}"
    return f"```python\n{line}\n```"


def is_shown(node):
    """Whether a function is public, and no form of an overloaded one."""
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not decorated(node, "overload", "component.output_types")


def decorated(node, *names):
    return any(ast.unparse(of).startswith(names) for of in node.decorator_list)


def fields(lines, node):
    """The fields of a class with the comments above them."""
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and not field.target.id.startswith("_") and field.target.id != "name":
            above = []
            at = field.lineno - 2
            while lines[at].strip().startswith("#:"):
                above.insert(0, lines[at].strip()[2:].strip())
                at -= 1
            text = f": {markdown(' '.join(above))}" if above else ""
            yield f"- `{field.target.id}: {ast.unparse(field.annotation)}`{text}"


def shown(prefix, lines, node):
    """The section of a function or class."""
    name = f"{prefix}.{node.name}"
    yield f"### {name}\n"
    if isinstance(node, ast.FunctionDef):
        yield signature(name, node) + "\n"
        yield documented(node, name) + "\n"
        return
    init = next((of for of in node.body if isinstance(of, ast.FunctionDef) and of.name == "__init__"), None)
    is_made = init is not None and "native" not in ast.unparse(init.args)
    if is_made and not ast.unparse(node).startswith("class Error"):
        yield signature(name, init) + "\n"
    yield documented(node, name) + "\n"
    if listed := list(fields(lines, node)):
        yield "\n".join(listed) + "\n"
    for of in filter(is_shown, node.body):
        short = f"{node.name}.{of.name}"
        if decorated(of, "property"):
            yield f"**`{short}`**: {documented(of, short)}\n"
        else:
            yield signature(short, of) + "\n"
            yield documented(of, short) + "\n"


def public():
    """The names of the package with the modules that have them."""
    _, tree = source("__init__")
    names = next(ast.literal_eval(of.value) for of in tree.body if isinstance(of, ast.Assign) and of.targets[0].id == "__all__")
    homes = {of.name: node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module for of in node.names}
    return [(name, homes[name]) for name in names if name in homes and name != "__version__"]


def interface():
    """A line for each call, property and field that is public, as testdata/frozen/interface/python.txt has them."""
    modules = [("clickvec", name, module) for name, module in public()] + [(f"clickvec.{module}", None, module) for module in MODULES]
    for prefix, name, module in modules:
        lines, tree = source(module)
        for node in tree.body:
            is_public = isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_") and not decorated(node, "overload")
            if not is_public or (name or node.name) != node.name:
                continue
            of = f"{prefix}.{node.name}"
            if isinstance(node, ast.FunctionDef):
                yield call(of, node)
                continue
            yield f"class {of}"
            for field in fields(lines, node):
                yield f"{of}.{field[3:].split('`')[0]}"
            for member in node.body:
                is_init = isinstance(member, ast.FunctionDef) and member.name == "__init__" and "native" not in ast.unparse(member.args)
                if is_init or is_shown(member):
                    is_property = decorated(member, "property")
                    yield f"{of}.{member.name}: {ast.unparse(member.returns)}" if is_property and member.returns else call(f"{of}.{member.name}", member)


def call(name, function):
    """A call in one line."""
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"{name}({ast.unparse(function.args)}){returns}"


def main():
    if "--interface" in sys.argv:
        print("\n".join(sorted(interface())))
        return
    print("# The Python package\n\nMade from the docstrings of the package. [Use it from Python](../how-to/python.md) shows how to use it.\n")
    print("## clickvec\n")
    for name, module in public():
        lines, tree = source(module)
        node = next(of for of in tree.body if getattr(of, "name", None) == name and not (isinstance(of, ast.FunctionDef) and decorated(of, "overload")))
        print("\n".join(shown("clickvec", lines, node)))
    for module in MODULES:
        lines, tree = source(module)
        print(f"## clickvec.{module}\n\n{documented(tree, module)}\n")
        for node in tree.body:
            is_class = isinstance(node, ast.ClassDef) and not node.name.startswith("_") and "Protocol" not in map(ast.unparse, node.bases)
            if is_class or is_shown(node):
                print("\n".join(shown(f"clickvec.{module}", lines, node)))
    if missing:
        sys.exit(f"error: expected a docstring of all that is public, found none of {', '.join(missing)}")


if __name__ == "__main__":
    main()
