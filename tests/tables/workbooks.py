"""Small workbooks made by hand, so that no other library is needed to write them."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from xml.sax.saxutils import escape

_TYPES = """<?xml version="1.0" encoding="UTF-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/xl/workbook.xml"
 ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>
</Types>"""
_RELS = """<?xml version="1.0" encoding="UTF-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1" Target="xl/workbook.xml"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/>
</Relationships>"""
_STYLES = """<?xml version="1.0" encoding="UTF-8"?>
<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">
<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"""
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _letter(j: int) -> str:
    return chr(65 + j) if j < 26 else chr(64 + j // 26) + chr(65 + j % 26)


def _cell(value: Any, place: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, date):
        return f'<c r="{place}" s="1"><v>{(value - date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value!r}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'


def xlsx(
    sheets: Mapping[str, Sequence[Sequence[Any]]],
    merged: Sequence[str] = (),
    hidden: Sequence[str] = (),
    parts: Mapping[str, bytes] = {},
) -> bytes:
    """The bytes of an Excel workbook; None is an empty cell.

    ``merged`` are ranges of every sheet, ``hidden`` names of sheets, and ``parts`` whatever else is
    in the archive.
    """
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _RELS)
        archive.writestr("xl/styles.xml", _STYLES)
        listed = "".join(
            f'<sheet name="{escape(name)}" sheetId="{k}" r:id="rId{k}"'
            + (' state="hidden"/>' if name in hidden else "/>")
            for k, name in enumerate(sheets, 1)
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_REL}"><sheets>{listed}</sheets></workbook>',
        )
        links = "".join(
            f'<Relationship Id="rId{k}" Type="{_REL}/worksheet" Target="worksheets/sheet{k}.xml"/>'
            for k in range(1, len(sheets) + 1)
        )
        links += f'<Relationship Id="s" Type="{_REL}/styles" Target="styles.xml"/>'
        package = "http://schemas.openxmlformats.org/package/2006/relationships"
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}">{links}</Relationships>',
        )
        ranges = "".join(f'<mergeCell ref="{place}"/>' for place in merged)
        ends = f"<mergeCells>{ranges}</mergeCells>" if merged else ""
        for k, rows in enumerate(sheets.values(), 1):
            body = "".join(
                f'<row r="{i}">'
                + "".join(_cell(value, f"{_letter(j)}{i}") for j, value in enumerate(row))
                + "</row>"
                for i, row in enumerate(rows, 1)
            )
            text = f'<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData>{ends}</worksheet>'
            archive.writestr(f"xl/worksheets/sheet{k}.xml", text)
        for place, content in parts.items():
            archive.writestr(place, content)
    return sink.getvalue()


def ods(
    rows: Sequence[Sequence[Any]],
    name: str = "Sheet1",
    locked: bool = False,
    parts: Mapping[str, bytes] = {},
) -> bytes:
    """The bytes of an OpenDocument spreadsheet; a locked one has noise for its content."""
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
        for short, long in (("office", "office"), ("table", "table"), ("text", "text"))
    )

    def cell(value: Any) -> str:
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, int | float):
            return f'<table:table-cell office:value-type="float" office:value="{value!r}"/>'
        text = f"<text:p>{escape(str(value))}</text:p>"
        return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'

    body = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    content = (
        f'<office:document-content {spaces} office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="{escape(name)}">{body}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("content.xml", random.Random(0).randbytes(999) if locked else content)
        for place, part in parts.items():
            archive.writestr(place, part)
        cipher = '<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/>'
        archive.writestr(
            "META-INF/manifest.xml",
            "<manifest:manifest "
            'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
            + f"{cipher}</manifest:file-entry>" * locked
            + "</manifest:manifest>",
        )
    return sink.getvalue()
