"""The cleaned text as MLflow datasets whose source is DVC: path, md5, addresses, licence."""

import json
from typing import Any

from mlflow.data.dataset_source import DatasetSource
from mlflow.data.dataset_source_registry import register_dataset_source
from mlflow.data.meta_dataset import MetaDataset
from mlflow.entities import Dataset as DatasetEntity
from mlflow.entities import DatasetInput, InputTag

from textmill.lineage.datasets import Dataset

CONTEXT = "mlflow.data.context"


class DvcSource(DatasetSource):
    """A file in DVC's hands: its path and md5, and where its text came from."""

    def __init__(self, **facts: Any) -> None:
        self.facts = facts

    @staticmethod
    def _get_source_type() -> str:
        return "dvc"

    def load(self) -> str:
        """Path of the file in a checkout; `dvc pull PATH` brings it."""
        return str(self.facts["path"])

    @staticmethod
    def _can_resolve(raw_source: Any) -> bool:  # noqa: ARG004
        return False

    @classmethod
    def _resolve(cls, raw_source: Any) -> "DvcSource":
        raise NotImplementedError("a DVC source is made from dvc.lock, not from a path")

    def to_dict(self) -> dict[str, Any]:
        """Everything that is known of it."""
        return dict(self.facts)

    @classmethod
    def from_dict(cls, source_dict: dict[Any, Any]) -> "DvcSource":
        """What `to_dict` gave."""
        return cls(**source_dict)


register_dataset_source(DvcSource)  # type: ignore[arg-type]  # it takes the class


class CleanText(MetaDataset):
    """A split of the cleaned text: MLflow holds where it is and how large, not the text."""

    def __init__(self, dataset: Dataset) -> None:
        self._sizes = dict(dataset.profile)
        super().__init__(DvcSource(**dataset.source), name=dataset.name, digest=dataset.md5)

    @property
    def profile(self) -> dict[str, Any]:
        """Documents, lines and bytes."""
        return self._sizes

    def to_dict(self) -> dict[str, str]:
        """The fields of MLflow's own record of a dataset."""
        return {**super().to_dict(), "profile": json.dumps(self._sizes)}


def as_input(dataset: Dataset) -> DatasetInput:
    """A split as a run's input, in the context it was used in."""
    known = CleanText(dataset).to_dict()
    return DatasetInput(DatasetEntity(**known), [InputTag(CONTEXT, dataset.context)])
