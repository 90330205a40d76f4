"""Writes the reference of the search service, from openapi.json, as Markdown to standard output."""

import json
from pathlib import Path

API = json.loads((Path(__file__).parent / "openapi.json").read_text(encoding="utf-8"))
SCHEMAS = API["components"]["schemas"]
#: What the page in the browser loads for itself.
FILES = (".css", ".js")


def resolved(schema):
    """A schema, with what it refers to."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return SCHEMAS[name] if name else schema


def kind(schema):
    """The type of a value in words: `integer, 1 to 1000`."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " or ".join(kind(one) for one in schema[several])
    types = schema.get("type", "any")
    types = [one for one in (types if isinstance(types, list) else [types]) if one != "null"]
    if types == ["array"]:
        return f"list of {kind(schema.get('items', {}))}"
    if types == ["object"] and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {kind(schema['additionalProperties'])}"
    text = " or ".join(types)
    if "enum" in schema:
        text = ", ".join(f"`{json.dumps(one)}`" for one in schema["enum"] if one is not None)
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        text += f", {low} to {high}"
    elif low is not None:
        text += f", at least {low}"
    if "maxLength" in schema:
        text += f", at most {schema['maxLength']} characters"
    return text


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(fields):
    """The table of fields: (name, schema, whether it is required)."""
    print("| field | type | meaning |\n| --- | --- | --- |")
    for name, schema, required, description in fields:
        default = schema.get("default")
        notes = [] if description == "" else [description]
        if required:
            notes.append("required")
        elif default is not None:
            notes.append(f"default `{json.dumps(default)}`")
        print(f"| `{name}` | {cell(kind(schema))} | {cell('; '.join(notes))} |")
    print()


def properties(schema, prefix=""):
    """The fields of an object, and those of objects within it."""
    required = schema.get("required", [])
    for name, value in schema.get("properties", {}).items():
        yield prefix + name, value, name in required, value.get("description") or resolved(value).get("description", "")
        yield from properties(value, f"{prefix}{name}.")
        yield from properties(value.get("items", {}), f"{prefix}{name}[].")


def body(content):
    return content.get("content", {}).get("application/json", {}).get("schema")


def operation(path, method, of):
    print(f"## {method.upper()} {path}\n\n{of['summary']}.\n")
    if of.get("parameters"):
        table((p["name"], p["schema"], p.get("required"), p.get("description") or p["schema"].get("description", "")) for p in map(resolved, of["parameters"]))
    if (request := body(of.get("requestBody", {}))) is not None:
        print(f"The body is {kind(request)}.\n")
    answers = {kind(schema) for code, answer in of["responses"].items() if code.startswith("2") and (schema := body(resolved(answer)))}
    if answers:
        print(f"The answer is {' or '.join(sorted(answers))}.\n")


print("# Fields of the HTTP API\n\nThe fields of `GET /openapi.json`, in readable form. [HTTP API](service.md) has the rules behind it.\n")
for path, methods in API["paths"].items():
    for method, of in methods.items():
        if method in ("get", "post") and not path.endswith(FILES):
            operation(path, method, of)
print("# Bodies\n")
for name, schema in SCHEMAS.items():
    print(f"## {name}\n")
    if description := schema.get("description"):
        print(f"{description[0].upper()}{description[1:]}.\n")
    if schema.get("properties"):
        table(properties(schema))
