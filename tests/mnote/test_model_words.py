"""Pages made from models must not speak field names: every model and field that the admin can show has words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.utils import translation
from django.utils.functional import Promise

import knowledge.model_words
import mnote.model_words
import pageai.model_words

_TABLES = {"mnote": mnote.model_words, "knowledge": knowledge.model_words, "pageai": pageai.model_words}


def _shown() -> list[type[Model]]:
    return [model for model in admin.site._registry if model._meta.app_label in _TABLES]


@pytest.mark.parametrize("model", _shown(), ids=str)
def test_every_model_of_the_admin_has_words(model: type[Model]) -> None:
    unnamed = [field.name for field in model._meta.local_fields if not isinstance(field.verbose_name, Promise)]

    assert isinstance(model._meta.verbose_name, Promise)
    assert isinstance(model._meta.verbose_name_plural, Promise)
    assert not unnamed


def test_words_are_of_something_that_is_there() -> None:
    for label, table in _TABLES.items():
        models = {model._meta.model_name for model in apps.get_app_config(label).get_models()}
        assert set(table.MODELS) <= models
    fields = {field.name for label in _TABLES for model in _models(label) for field in model._meta.local_fields}
    assert {name for table in _TABLES.values() for name in table.FIELDS} <= fields


def test_admin_is_chinese_for_those_who_read_chinese(admin_client) -> None:
    page = admin_client.get("/admin/", headers={"accept-language": "zh-hans"}).text

    assert "知识库" in page
    assert "Knowledge bases" not in page
    with translation.override("en"):
        assert str(mnote.model_words.MODELS["apitoken"][1]) == "API tokens"


def _models(label: str) -> Iterator[type[Model]]:
    return iter(apps.get_app_config(label).get_models())
