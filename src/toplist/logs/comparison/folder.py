"""A folder of fitted models: each is kept as soon as it is fitted, so that an interrupted call can go on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toplist.core.problem import InvalidInput
from toplist.logs.fitted import FittedModel
from toplist.logs.models import MODELS, ClickModel
from toplist.support.files import AnyPath, Unwritable, read_json, slug, write_text

FORM = {"format": "toplist.logs.FitFolder", "version": 1}
FACTS, FIGURES = "fit.json", "comparison.json"


class FitFolder:
    """The models of one comparison on disk: a JSON file per split and model, and one of the settings.

    Parameters
    ----------
    path : str, path-like or None
        The folder, made if missing; None keeps nothing.
    settings : mapping
        What the models depend on; a folder with other settings is refused.

    Raises
    ------
    InvalidInput
        If the folder cannot be made, or has models of other settings.
    """

    def __init__(self, path: AnyPath | None, settings: Mapping[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._settings = json.loads(json.dumps(dict(settings)))  # as they are read again
        self._seconds: dict[str, float] = {}
        if self._path is None:
            return
        try:
            self._path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise Unwritable(
                f"The folder of models is {str(path)!r}, but it cannot be made; choose another one ({problem})."
            ) from problem
        if (self._path / FACTS).exists():
            kept = read_json(self._path / FACTS, FORM, ("settings", "seconds"))
            self._refuse_others(kept["settings"])
            self._seconds = kept["seconds"]

    def _refuse_others(self, kept: Mapping[str, Any]) -> None:
        """Refuse settings that differ from those of the folder."""
        for name in sorted({*kept, *self._settings}):
            if kept.get(name) != self._settings.get(name):
                raise InvalidInput(
                    f"{self._path} has models of another fit: its {name} is {kept.get(name)!r}, that of this call "
                    f"{self._settings.get(name)!r}; name another folder, or delete this one."
                )

    def find(self, split: str, model: ClickModel) -> tuple[FittedModel, float] | None:
        """A model that is kept, and the seconds of its fit; None if it is not."""
        path = self._model_path(split, model.name)
        seconds = self._seconds.get(f"{split}/{model.name}")
        if path is None or seconds is None or not path.exists():
            return None
        return FittedModel.load(path, None if model.name in MODELS else model), seconds

    def keep(self, split: str, model: str, fitted: FittedModel, seconds: float) -> None:
        """Write a model."""
        path = self._model_path(split, model)
        if path is None or self._path is None:
            return
        path.parent.mkdir(exist_ok=True)
        fitted.save(path)
        self._seconds[f"{split}/{model}"] = seconds
        facts = FORM | {"settings": self._settings, "seconds": self._seconds}
        write_text(self._path / FACTS, "The settings of the fit", json.dumps(facts, indent=1) + "\n")

    def write_figures(self, text: str) -> None:
        """Write the comparison."""
        if self._path is not None:
            write_text(self._path / FIGURES, "The comparison", text)

    def _model_path(self, split: str, model: str) -> Path | None:
        return None if self._path is None else self._path / split / f"{slug(model)}.json"
