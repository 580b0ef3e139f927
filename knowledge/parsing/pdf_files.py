"""Open a PDF with pdfium."""

from __future__ import annotations

from typing import Any

from knowledge.parsing.base import ParseCode, ParseError


def open_pdf(data: bytes) -> Any:
    """Return the pdfium document, to be used as a context manager. Raises ParseError: encrypted, corrupt."""
    import pypdfium2 as pdfium  # noqa: PLC0415 only children need the library

    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        encrypted = getattr(error, "err_code", None) == pdfium.raw.FPDF_ERR_PASSWORD
        code = ParseCode.ENCRYPTED if encrypted else ParseCode.CORRUPT
        raise ParseError(code, "the file cannot be opened as PDF") from error
