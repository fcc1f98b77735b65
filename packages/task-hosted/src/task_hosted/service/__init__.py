"""One service for many users: tokens, tenants, limits and health, in front of the same servers (HO-1 to HO-8).

Nothing here is imported on stdio, nor on HTTP without authentication.
"""

__all__: list[str] = []
