"""Language models with differential privacy."""

from __future__ import annotations

import os

from deniable import _deniable
from deniable._errors import ParameterError
from deniable._read import clean
from deniable.train.columns import plain
from deniable.train.estimator import Estimator
from deniable.train.parameters import seed_of, size_of, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from deniable._deniable import TrainingColumns
    from deniable.train.run import Callback


class PrivateLanguageModel(Estimator):
    """A language model of private texts: an LSTM, a GRU or a transformer.

    Each text is one unit of privacy, unless ``groups`` says whose each is; a unit's texts are clipped together. A
    vocabulary is a release of the text that it was made from, so it is made from ``public_text``, or from synthetic
    English where there is none. Parameters that are not listed are those of :class:`PrivateClassifier`.

    Parameters
    ----------
    network, hidden, embedding, blocks, heads, dropout
        ``"lstm"``, ``"gru"`` or ``"transformer"``, and its sizes.
    tokens, public_text
        The size of the vocabulary, and the public text that it is made from.
    length
        The sequence length, in tokens. A longer text is several rows of the same unit.
    validation
        Public text on which the perplexity is measured during the run: ``measurements_``.

    >>> from deniable.train import PrivateLanguageModel
    >>> texts = [f"the cat sat on mat {number}" for number in range(300)]
    >>> model = PrivateLanguageModel(
    ...     epsilon=8, size=300, network="gru", hidden=8, embedding=4, tokens=270, steps=2, batch_size=30
    ... )
    >>> model = model.fit(texts)
    >>> isinstance(model.generate("the ", tokens=3), str)
    True
    """

    _kind = "language"
    _at_once = 256

    network: str
    hidden: int
    embedding: int
    blocks: int
    heads: int
    dropout: float
    tokens: int
    public_text: str | None
    length: int
    validation: str | None

    def __init__(
        self,
        epsilon: float = 8.0,
        delta: float = 1e-6,
        *,
        network: str = "lstm",
        hidden: int = 100,
        embedding: int = 50,
        blocks: int = 2,
        heads: int = 4,
        dropout: float = 0.0,
        tokens: int = 1000,
        public_text: str | None = None,
        length: int = 20,
        validation: str | None = None,
        size: int | str | None = None,
        clip: float = 1.0,
        adaptive_clip: float | None = None,
        batch_size: int = 256,
        steps: int | None = None,
        epochs: float = 3.0,
        learning_rate: float | None = None,
        optimizer: str = "adam",
        schedule: str = "constant",
        unit: str | None = None,
        neighbors: str | None = None,
        rows_per_unit: int = 100,
        exact_sums: bool = False,
        ledger: str | os.PathLike[str] | None = None,
        budget: tuple[float, float] | None = None,
        analyst: str | None = None,
        name: str = "texts",
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 200,
        device: str = "cpu",
        threads: int | None = None,
        random_state: int | None = None,
        callbacks: Callback | Sequence[Callback] | None = None,
        progress: bool | None = None,
    ) -> None:
        self._keep(locals())

    def _is_large(self) -> bool:
        return True

    def fit(
        self,
        texts: Any,
        y: Any = None,
        *,
        groups: Any = None,
        resume: bool | str | os.PathLike[str] = False,
        stop_at: int | None = None,
    ) -> PrivateLanguageModel:
        """Learns from texts: a list, a series, an Arrow array. y is not looked at."""
        columns = _deniable.TrainingColumns()
        if isinstance(texts, str):
            raise ParameterError("texts is one text", "give a list, each entry the text of one unit")
        if hasattr(texts, "__arrow_c_stream__") or hasattr(texts, "__arrow_c_array__"):
            columns.arrow("text", texts, False)
        else:
            columns.texts("text", [clean(value) if isinstance(value, str) else None for value in plain(texts)])
        run = self._settings()
        run["label"] = "text"
        run["batch"] = whole(self.batch_size, "batch_size")
        run["size"] = size_of(self.size, self.neighbors, groups, len(columns))
        run["language"] = {
            "network": self.network,
            "embedding": whole(self.embedding, "embedding"),
            "hidden": whole(self.hidden, "hidden"),
            "blocks": whole(self.blocks, "blocks"),
            "heads": whole(self.heads, "heads"),
            "dropout": float(self.dropout),
            "length": whole(self.length, "length"),
            "tokens": whole(self.tokens, "tokens"),
            "public_text": self.public_text,
            "validation": None,
        }
        self._declare(run, "text")
        self._declare_groups(run, columns, groups)
        if self.validation is None or resume:
            # A checkpoint names the file of its own run.
            found = self._train(columns, run, resume, stop_at)
        else:
            found = self._validated(columns, run, stop_at)
        self.measurements_ = [
            {"step": step, "epsilon": epsilon, "perplexity": value} for step, epsilon, value in found["measurements"]
        ]
        return self

    def _validated(self, columns: TrainingColumns, run: dict[str, Any], stop_at: int | None) -> dict[str, Any]:
        """With public text to measure on, which a run reads from a file."""
        import shutil
        import tempfile

        folder = tempfile.mkdtemp(prefix="deniable-public-")
        path = os.path.join(folder, "validation.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(self.validation))
        run["language"]["validation"] = path
        try:
            return self._train(columns, run, False, stop_at)
        finally:
            # A run that was interrupted reads it again.
            if not hasattr(self, "checkpoint_"):
                shutil.rmtree(folder, ignore_errors=True)

    def generate(self, prompt: str = "", *, tokens: int = 60, temperature: float = 0.8, seed: int = 1) -> str:
        """Continues a text. What a private model says is as public as the model: it costs nothing."""
        return self._fitted().generate(prompt, whole(tokens, "tokens"), float(temperature), seed_of(seed))

    def perplexity(self, text: str) -> float:
        """The perplexity on a text, **without noise**: for public text, or with its owners' consent."""
        return self._fitted().evaluate(text)[0]
