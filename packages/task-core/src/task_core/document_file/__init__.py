"""One JSON file that several processes and people share: locked, replaced after a check, with generations."""

from task_core.document_file.format import DocumentFormat
from task_core.document_file.locked_file import LockedFile

__all__ = ["DocumentFormat", "LockedFile"]
