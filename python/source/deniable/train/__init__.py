"""Private training: classifiers, regressors and language models with a stated (ε, δ).

``PrivateClassifier`` and ``PrivateRegressor`` follow the protocol of scikit-learn's estimators and need none of it;
``PrivateLanguageModel`` learns from texts. A run is charged to a ledger before its first step, its noise follows from
the ε that is asked for, and what comes out is a model in the format safetensors with its receipt.

What is private and what is not
-------------------------------

X, y, texts and groups are private. Their shape is public as far as columns go: names, types and how many there are.
Everything else that is known before the first step has to be declared, because taking it from the data would be a
release that nobody pays for:

``bounds``, ``categories``, ``target_bounds``
    What values features and targets can have. A number beyond its bounds counts as the nearest bound, and a value that
    is not among its categories as none of them. A row without a label, or with one that is not declared, is not learned
    from.
``classes``
    The labels. ``"public"`` declares that which labels occur is no secret, and takes them from y.
``size``
    About how many units there are: the sampling rate is ``batch_size / size``. ``"public"`` declares that the number in
    the data is no secret. With ``neighbors="change_one"`` it is public by definition.

One row is one unit of privacy, such as one person, unless ``groups`` says whose each row is. Rows of one unit are
clipped together, and at most ``rows_per_unit`` of them are used.

Predictions and parameters of a trained model follow from what was paid for: they cost nothing. ``score`` and
``perplexity`` compare the model with labels and texts **without noise**, so they are for public data, or for data whose
owners agreed. A score on private rows is a release that no ledger knows of.

Where it is charged
-------------------

``ledger="people.ledger"`` charges a ledger that lasts, the same that queries of a catalog are charged to; a new one needs
``budget=(ε, δ)``, what all releases together may cost. Without ``ledger`` the run is charged to a ledger of its own in a
temporary folder that has room for this one run and is gone afterwards: then nobody adds up what several fits cost
together, and that is left to you.

Interruptions
-------------

Ctrl-C, and an exception in a callback, end a run after the step that it is in, and save it. There is no model of such a
run: how far it came depends on how fast it was, and so on the data. ``fit(X, y, resume=True)`` goes on where it was, with
the same batches and noise and without a further charge, to its end, or with ``stop_at=`` to a step that is named
beforehand. A checkpoint holds the key of the noise: it is as private as the data, and is deleted when the run is over.

>>> from deniable.train import PrivateClassifier
>>> rows = [[a / 40, b / 40] for a in range(40) for b in range(40)]
>>> labels = ["yes" if a + b > 1 else "no" for a, b in rows]
>>> model = PrivateClassifier(epsilon=4, bounds=(0, 1), classes=["no", "yes"], size=1600)
>>> model = model.fit(rows, labels)
>>> [str(label) for label in model.predict([[0.1, 0.1], [0.9, 0.9]])]
['no', 'yes']
>>> model.epsilon_ <= 4
True
"""

from __future__ import annotations

from deniable.train.classifier import PrivateClassifier
from deniable.train.errors import Interrupted, NotFittedError
from deniable.train.language import PrivateLanguageModel
from deniable.train.regressor import PrivateRegressor

__all__ = ["Interrupted", "NotFittedError", "PrivateClassifier", "PrivateLanguageModel", "PrivateRegressor"]
