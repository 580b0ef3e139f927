"""The ways a page is looked at: language, colours, device."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

DEVICES = {"desktop": (1440, 900), "phone": (320, 700)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One way. `str()` names it in screenshots and test ids: "zh-dark-phone"."""

    language: str = "en"
    theme: str = "light"
    device: str = "desktop"

    def __str__(self) -> str:
        return f"{self.language.removesuffix('-hans')}-{self.theme}-{self.device}"

    def context_options(self) -> dict[str, Any]:
        width, height = DEVICES[self.device]
        return {
            "viewport": {"width": width, "height": height},
            "color_scheme": self.theme,
            "locale": "zh-CN" if self.language == "zh-hans" else "en-US",
            "timezone_id": "Asia/Shanghai",
            "reduced_motion": "reduce",
        }


LOOKS = [
    Look(language=language, theme=theme, device=device)
    for language, theme, device in product(("en", "zh-hans"), ("light", "dark"), DEVICES)
]
