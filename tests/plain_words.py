"""Messages are in the words of users: none shows how a graph is kept inside."""

import re

WORDS = (r"\bOp\(", r"\bfn=", r"\bNode\(", "<lambda>", "<function", "custom_jvp", r"\bconstant\(", "object at 0x")
INTERNAL = re.compile("|".join(WORDS))


def require_plain(message: str) -> None:
    """Fail where a message has words of the inside."""
    found = INTERNAL.search(message)
    assert not found, f"the message shows the inside, {found[0]!r}: {message}"
