"""One service for many users: the servers over HTTP with tokens and tenants, and tasks in PostgreSQL.

The core finds both parts by entry points; on stdio with a file nothing here is imported.
"""

__all__: list[str] = []
