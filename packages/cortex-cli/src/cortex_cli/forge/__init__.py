"""The forges where pull requests are, behind one interface (CX-80)."""

from cortex_cli.forge.choice import compare_url, find_forge
from cortex_cli.forge.clients import Forge, ForgeClient, Proposal
from cortex_cli.forge.requests import is_own_url

__all__ = ["Forge", "ForgeClient", "Proposal", "compare_url", "find_forge", "is_own_url"]
