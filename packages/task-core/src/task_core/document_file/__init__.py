"""One JSON file that several processes and people share: locked, replaced after a check, with generations."""

from task_core.document_file.locked_file import DocumentFormat, LockedFile, Rewritten

__all__ = ["DocumentFormat", "LockedFile", "Rewritten"]
