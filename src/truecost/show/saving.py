"""Charts as files: self-contained HTML, SVG, PNG and PDF, without a browser or a network."""

import json
import os
import re
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import altair as alt
import vl_convert

from truecost.errors import InputError
from truecost.matrix.files import whole_file
from truecost.show.text import visible
from truecost.show.theme import Chart

# A Vega-Lite specification.
Spec: TypeAlias = dict[str, Any]
Width = Literal["column", "page"]
# Points of a column and of a page of a two-column paper.
WIDTHS: dict[Width, int] = {"column": 241, "page": 504}
# Points of a panel for its axis, labels and spacing.
ROOM = 52
# Points of text.
TEXT = 8
# Letters of an axis title in one line.
LONG = 44
PANELS = ("hconcat", "vconcat", "concat")
Format = Literal["html", "svg", "png", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
# vl-convert takes the version without its last number.
VEGA_LITE = alt.SCHEMA_VERSION.rpartition(".")[0]
# Pixels of a PNG per pixel of the chart: sharp in print and on dense screens.
SCALE = 2.0

# The page may run its own scripts and styles and load nothing, whatever a name in the data says.
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval';
 style-src 'unsafe-inline'; img-src data: blob:">
<title>truecost</title>
<script>{bundle}</script>
</head>
<body>
<div id="chart"></div>
<script>vegaEmbed("#chart", {spec}, {options});</script>
</body>
</html>
"""
_OPTIONS = {
    "renderer": "svg",
    "actions": {"export": True, "source": False, "compiled": False, "editor": False},
}


def save(
    chart: Chart, path: str | os.PathLike[str], *, width: Width | None = None, title: bool = True
) -> None:
    """Write the chart as .html, .svg, .png or .pdf, by the ending; replaces an old file at once.

    Parameters
    ----------
    chart
        Of any `<name>_chart`.
    path
        The file.
    width
        "column" (3.35 inches) or "page" (7 inches), with text of 8 pt at that width; by default the
        size of the screen.
    title
        Whether to draw the titles, which a paper has in the caption.
    """
    if width is not None and width not in WIDTHS:
        raise InputError(f"Expected a width of column or page, got {width!r}.")
    ending = Path(path).suffix.removeprefix(".")
    if ending not in FORMATS:
        raise InputError(
            f"{path}: expected a name that ends in {', '.join('.' + kind for kind in FORMATS)}."
        )
    spec = specification(chart)
    if not title:
        spec = untitled(spec)
    if width is not None:
        spec = sized(spec, WIDTHS[width])
    content = render(spec, ending)
    with whole_file(path) as file:
        file.write(content)


def untitled(spec: Spec) -> Spec:
    """Return a specification without titles of the figure and its panels."""
    bare = {key: value for key, value in spec.items() if key != "title"}
    return bare | _panels(spec, untitled)


def _panels(spec: Spec, change: Callable[[Spec], Spec]) -> Spec:
    """Return the panels of a figure, each of them changed."""
    return {kind: [change(panel) for panel in spec[kind]] for kind in PANELS if kind in spec}


def sized(spec: Spec, width: int) -> Spec:
    """Return a specification that is `width` points wide, with text of 8 points."""
    spec = _smaller(spec)
    columns = 1 if width < WIDTHS["page"] else 3
    spec["config"]["legend"] |= {"labelLimit": width - 30, "columns": columns, "symbolSize": 40}
    spec["config"]["axisY"] = {"minExtent": 20}
    spec["config"]["title"]["limit"] = width
    spec["padding"] = 2
    kind = next((kind for kind in PANELS if kind in spec), None)
    if kind is None:
        scale = width / (spec.get("width", width) or width)
        height = round(spec.get("height", 200) * max(min(scale, 1.0), 0.55))
        if spec.get("width") == spec.get("height"):
            height = round(min(width, spec["width"]) * 0.85)
        for layer in spec.get("layer", []):
            mark = layer.get("mark")
            if isinstance(mark, dict) and "size" in mark and mark.get("type") == "circle":
                mark["size"] *= scale**2  # dots that fill cells
        # "fit" takes axes, legend and title into account.
        fit = {"type": "fit-x", "contains": "padding"}
        return {**spec, "width": width, "height": height, "autosize": fit}
    panels = spec[kind]
    across = 1 if width < WIDTHS["page"] or kind == "vconcat" else min(len(panels), 3)
    room = width // across - ROOM
    fitted = [_panel_sized(panel, room) for panel in panels]
    rest = {key: value for key, value in spec.items() if key not in PANELS}
    return {**rest, "concat": fitted, "columns": across, "spacing": 8}


def _smaller(value: Any) -> Any:
    """Return a specification in which no text is larger than 8 points."""
    if isinstance(value, list):
        return [_smaller(item) for item in value]
    if not isinstance(value, dict):
        return value
    smaller = {
        key: item if key in ("datasets", "data") else _smaller(item) for key, item in value.items()
    }
    for key, item in smaller.items():
        if key.lower().endswith("fontsize") and isinstance(item, int | float):
            smaller[key] = min(item, TEXT)
        if key == "columns" and isinstance(item, int):
            smaller[key] = 1
        if key == "title" and isinstance(item, str) and len(item) > LONG and "field" in value:
            smaller[key] = textwrap.wrap(item, LONG)
    if smaller.get("orient") == "right":  # a legend beside the figure would take half the width
        smaller |= {"orient": "bottom", "gradientLength": 120}
    return smaller


def _panel_sized(panel: Spec, room: int) -> Spec:
    kind = next((kind for kind in PANELS if kind in panel), None)
    if kind is not None:
        share = room // len(panel[kind]) - ROOM // 2
        return panel | _panels(panel, lambda part: _panel_sized(part, share))
    scale = min(1.0, room / panel["width"])
    square = panel["width"] == panel["height"]
    height = round(panel["height"] * (scale if square else max(scale, 0.55)))
    title = panel.get("title")
    if isinstance(title, dict):
        title = {**title, "limit": room}
    return {**panel, "width": min(room, panel["width"]), "height": height, "title": title or ""}


def render(spec: Spec, kind: Format) -> bytes:
    """Return the content of the file; the same chart gives the same bytes, except for PDF."""
    if kind == "html":
        page = _PAGE.format(bundle=bundle(), spec=script_json(spec), options=script_json(_OPTIONS))
        return page.encode()
    # No address is allowed: nothing is fetched even if a specification asks for it.
    options: dict[str, Any] = {"vl_version": VEGA_LITE, "allowed_base_urls": []}
    spec = _seen(spec)
    if kind == "png":
        return vl_convert.vegalite_to_png(spec, scale=SCALE, **options)
    if kind == "pdf":
        return vl_convert.vegalite_to_pdf(spec, **options)
    return _numbered(vl_convert.vegalite_to_svg(spec, **options)).encode()


def _seen(spec: Spec) -> Spec:
    """Leave out marks that nobody sees and that only carry tooltips."""
    # They would be most of a picture's size.
    parts = _panels(spec, _seen)
    if "layer" in spec:
        layers = [layer for layer in spec["layer"] if (layer.get("mark") or {}).get("opacity") != 0]
        parts["layer"] = [_seen(layer) for layer in layers]
    return spec | parts


def specification(chart: Chart, *, validate: bool = True) -> Spec:
    """Return the Vega-Lite specification with control characters escaped."""
    spec: Spec = _all_visible(chart.to_dict(validate=validate))
    return spec


@cache
def bundle() -> str:
    """Return the JavaScript that draws charts, `vegaEmbed` in the window.

    Bundling takes seconds: the result is cached beside Python's compiled files.
    """
    name = f"vega-{metadata.version('vl-convert-python')}-{VEGA_LITE}.js"
    cache_file = Path(__file__).parent / "__pycache__" / name
    with suppress(OSError):
        return cache_file.read_text(encoding="utf-8")
    script = vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;", vl_version=VEGA_LITE)
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            cache_file.parent.mkdir(exist_ok=True)
            with whole_file(cache_file) as file:
                file.write(script.encode())
    return script


def script_json(value: object) -> str:
    """Return JSON that cannot end the script around it."""
    return json.dumps(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _numbered(svg: str) -> str:
    """Number clips and gradients from 0."""
    # The renderer continues counting from figure to figure.
    ids = re.findall(r'<(?:clipPath|linearGradient|radialGradient) id="(\w+)"', svg)
    names = {old: f"part{place}" for place, old in enumerate(dict.fromkeys(ids))}
    # Only inside a tag, which has no < in it: texts stay as they are.
    pattern = r'(<[^<]*?(?: id="|"url\(#))(\w+)(?=["\)])'
    return re.sub(pattern, lambda match: match[1] + names.get(match[2], match[2]), svg)


def _all_visible(value: Any) -> Any:
    # SVG cannot carry control characters: the renderer would abort the whole process.
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _all_visible(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_all_visible(item) for item in value]
    return value
