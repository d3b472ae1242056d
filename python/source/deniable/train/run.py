"""One run of training: where it is saved, which callbacks see its steps, and what it leaves behind."""

from __future__ import annotations

import os

from deniable._errors import ParameterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from deniable._deniable import TrainingStep
    from deniable._progress import Progress

    Callback = Callable[[TrainingStep], object]

# The prefix of folders that are made here, so that their contents are ours to remove.
_OURS = "deniable-train-"


def place_of_checkpoint(resume: Any, saved: str | None, asked: Any) -> tuple[str, str | None]:
    """Where a run is saved, and the folder that was made for that, if one was.

    ``saved`` is where the interrupted run of the same model is, and ``asked`` what the parameter ``checkpoint`` says.
    """
    folder = None
    if resume and resume is not True:
        checkpoint = os.fspath(resume)
    elif resume and saved is not None:
        checkpoint = saved
    elif asked is not None:
        checkpoint = os.fspath(asked)
    elif resume:
        raise ParameterError(
            "there is no interrupted run to resume", "name its checkpoint: fit(..., resume='run.checkpoint')"
        )
    else:
        import tempfile

        folder = tempfile.mkdtemp(prefix=_OURS)
        checkpoint = os.path.join(folder, "checkpoint")
    return os.path.abspath(checkpoint), folder


def made_folder(checkpoint: str) -> str | None:
    """The folder of a checkpoint, where this or an earlier process made it for a run."""
    import tempfile

    folder = os.path.dirname(checkpoint)
    temporary = os.path.abspath(tempfile.gettempdir())
    return folder if os.path.basename(folder).startswith(_OURS) and os.path.dirname(folder) == temporary else None


def own_ledger(checkpoint: str) -> str:
    """The ledger of a run that is charged to no other."""
    return checkpoint + ".ledger"


def clear(folder: str | None, checkpoint: str, own: bool) -> None:
    """Removes what a run leaves that nobody needs: the folder that was made for it, or its own ledger."""
    if folder is not None:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    elif own:
        for name in _beside(own_ledger(checkpoint)):
            try:
                os.remove(name)
            except OSError:
                pass


def _beside(ledger: str) -> list[str]:
    """A ledger and the files that its database and its head keep beside it."""
    folder, name = os.path.split(ledger)
    try:
        return [os.path.join(folder, other) for other in os.listdir(folder) if other.startswith(name)]
    except OSError:
        return []


def observer(bar: Progress, callbacks: Any) -> Callback | None:
    """What is called after a step: the bar and the callbacks, or nothing at all."""
    several: tuple[Callback, ...]
    if callbacks is None:
        several = ()
    elif callable(callbacks):
        several = (callbacks,)
    else:
        several = tuple(callbacks)
    if not several and not bar.shown:
        return None

    def observe(step: TrainingStep) -> None:
        bar(step.step, step.steps)
        for callback in several:
            callback(step)

    return observe
