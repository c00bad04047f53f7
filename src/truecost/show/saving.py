"""Charts as files: self-contained HTML, SVG, PNG and PDF, without a browser or a network."""

import json
import os
import re
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, get_args

import altair as alt
import vl_convert

from truecost.errors import InputError
from truecost.matrix.files import whole_file
from truecost.show.text import visible
from truecost.show.theme import Chart

Format = Literal["html", "svg", "png", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
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


def save(chart: Chart, path: str | os.PathLike[str]) -> None:
    """Write the chart as .html, .svg, .png or .pdf, by the ending; replaces an old file at once."""
    ending = Path(path).suffix.removeprefix(".")
    if ending not in FORMATS:
        raise InputError(
            f"{path}: expected a name that ends in {', '.join('.' + each for each in FORMATS)}."
        )
    content = render(specification(chart), ending)
    with whole_file(path) as file:
        file.write(content)


def render(spec: dict[str, Any], kind: Format) -> bytes:
    """Return the content of the file; the same chart gives the same bytes, except for PDF."""
    if kind == "html":
        page = _PAGE.format(bundle=bundle(), spec=script_json(spec), options=script_json(_OPTIONS))
        return page.encode()
    # No address is allowed: nothing is fetched even if a specification asks for it.
    if kind == "png":
        return vl_convert.vegalite_to_png(
            spec, vl_version=VEGA_LITE, scale=SCALE, allowed_base_urls=[]
        )
    if kind == "pdf":
        return vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE, allowed_base_urls=[])
    return _numbered(
        vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE, allowed_base_urls=[])
    ).encode()


def specification(chart: Chart, *, validate: bool = True) -> dict[str, Any]:
    """Return the Vega-Lite specification with control characters escaped."""
    spec: dict[str, Any] = _all_visible(chart.to_dict(validate=validate))
    return spec


@cache
def bundle() -> str:
    """Return the JavaScript that draws charts, `vegaEmbed` in the window.

    Bundling takes seconds: the result is cached beside Python's compiled files.
    """
    name = f"vega-{metadata.version('vl-convert-python')}-{VEGA_LITE}.js"
    kept = Path(__file__).parent / "__pycache__" / name
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    script = vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;", vl_version=VEGA_LITE)
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            kept.parent.mkdir(exist_ok=True)
            with whole_file(kept) as file:
                file.write(script.encode())
    return script


def script_json(value: object) -> str:
    """Return JSON that cannot end the script around it."""
    return json.dumps(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _numbered(svg: str) -> str:
    """Number clips and gradients from 0: the renderer continues counting from figure to figure."""
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
