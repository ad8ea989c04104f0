"""The text of a PDF, with pypdf, which is an extra."""

from __future__ import annotations

import importlib
import logging
from typing import IO

from recollect.core.admin.extras import how_to_install


class UnreadablePdf(Exception):
    """Why a PDF could not be read, and what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.remedy = remedy


def read_pdf(file: IO[bytes]) -> str:
    """The pages of a PDF, separated by empty lines. UnreadablePdf when it cannot be read."""
    try:
        pypdf = importlib.import_module("pypdf")
    except ImportError as error:
        raise UnreadablePdf(
            "reading a PDF needs the package pypdf", how_to_install("pdf")
        ) from error
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns about harmless faults
    try:
        pages = [page.extract_text() for page in pypdf.PdfReader(file).pages]
    except Exception as error:  # whatever a broken file provokes
        raise UnreadablePdf(
            f"the PDF could not be read ({type(error).__name__})",
            "Check that it opens without a password, or save it again.",
        ) from error
    text = "\n\n".join(page.strip() for page in pages)
    return text.replace("\x00", "").encode("utf-8", "ignore").decode()
