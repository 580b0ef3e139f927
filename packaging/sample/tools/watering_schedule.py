"""When the automatic valves open: the watering plan as a function."""

from __future__ import annotations

from datetime import date, time

SUMMER = range(6, 10)
WINTER = (12, 1, 2)


def opening_times(day: date, *, rain_mm: float = 0.0) -> list[time]:
    """Return the times at which the valves open on `day`. Rain of more than 8 mm closes them outside summer."""
    if day.month in WINTER:
        return []
    if day.month in SUMMER:
        return [time(6, 0), time(20, 0)]
    if rain_mm > 8 or day.weekday() not in (1, 5):
        return []
    return [time(6, 30)]


def litres(area_m2: float, *, hot_days: int = 0) -> float:
    """Return the litres a bed of `area_m2` gets on one summer day; three hot days in a row double the evening half."""
    morning = evening = 5.0 * area_m2
    return morning + (2 * evening if hot_days >= 3 else evening)
