"""The parts pages are made of: `{% load mnote_ui %}`. One place for the words and shapes of the lamps.

Inline: `lamp`, `icon`, `ago`, `moment`, `progress`, `span`, `page_url`; filters: `file_size`, `number`, `duration`.
Blocks: `{% strip "bad" %}…{% endstrip %}`, `{% nothing "folder" title=… %}…{% endnothing %}`.
Forms: `{% entry form.name %}`.
Every state of every part is on /_styleguide/.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.forms import BoundField
from django.urls import NoReverseMatch, reverse
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, npgettext, pgettext, pgettext_lazy

register = template.Library()

#: Lamp -> its shape, in a box of 16 by 16. Shape first, colour second, word always.
LAMP_SHAPES = {
    "queued": '<circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2"/>',
    "parsing": '<circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2.2"'
    ' stroke-dasharray="28 10"/>',
    "indexed": '<circle cx="8" cy="8" r="7" fill="currentColor"/>'
    '<path class="gap" d="M4.8 8.2l2.2 2.2 4.2-4.6" stroke-width="1.8"/>',
    "failed": '<path d="M8 1.5l7 12.5H1z" fill="currentColor"/>'
    '<path class="gap" d="M8 6v4m0 1.6v.6" stroke-width="1.7"/>',
    "stale": '<circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2"/>'
    '<path d="M8 2a6 6 0 010 12z" fill="currentColor"/>',
    "deleted": '<path d="M3 3h10v10H3zM2 14L14 2" fill="none" stroke="currentColor" stroke-width="1.7"/>',
    "skipped": '<path d="M3 8h10" stroke="currentColor" stroke-width="2"/>',
}  # fmt: skip

#: Icon -> path data, in a box of 24 by 24, drawn as lines.
ICONS = {
    "home": "M3 11l9-7 9 7v9H3z",
    "folder": "M3 6h6l2 2h10v11H3z",
    "file": "M6 2h9l4 4v16H6zM14 2v5h5",
    "book": "M5 4h11a3 3 0 013 3v13H8a3 3 0 01-3-3zM5 17a3 3 0 013-3h11",
    "search": "M11 4a7 7 0 100 14 7 7 0 000-14zm9 16l-4-4",
    "pulse": "M3 12h4l3-8 4 16 3-8h4",
    "plus": "M12 5v14M5 12h14",
    "sync": "M20 11a8 8 0 00-14-4L3 10m1 3a8 8 0 0014 4l3-3M3 4v6h6m12 10v-6h-6",
    "gear": "M12 9a3 3 0 100 6 3 3 0 000-6zM12 2v3m0 14v3M4 12H2m20 0h-2M5.6 5.6L7 7m10 10 1.4 1.4M18.4 5.6 17 7M7 17"
    "l-1.4 1.4",
    "warning": "M12 3l10 18H2zM12 10v5m0 2.5v.5",
    "info": "M12 3a9 9 0 100 18 9 9 0 000-18zM12 11v6m0-9.5v.5",
    "check": "M4 12.5l5 5L20 6.5",
    "close": "M5 5l14 14M19 5L5 19",
    "more": "M5 12h.01M12 12h.01M19 12h.01",
    "menu": "M4 7h16M4 12h16M4 17h16",
    "talk": "M4 5h16v11H9l-5 4z",
    "copy": "M9 9h11v11H9zM15 9V4H4v11h5",
    "open": "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
    "up": "M12 20V5m-6 6l6-6 6 6",
    "down": "M12 4v15m-6-6l6 6 6-6",
    "caret": "M6 9.5l6 6 6-6",
    "left": "M15 5l-7 7 7 7",
    "right": "M9 5l7 7-7 7",
    "upload": "M12 16V4m-5 5l5-5 5 5M4 16v4h16v-4",
    "download": "M12 4v12m-5-5l5 5 5-5M4 16v4h16v-4",
    "pause": "M8 5v14M16 5v14",
    "play": "M7 4l13 8-13 8z",
    "stop": "M6 6h12v12H6z",
    "clock": "M12 3a9 9 0 100 18 9 9 0 000-18zM12 7v5l3 2",
    "pin": "M9 3h6l-1 7 4 4H6l4-4zM12 14v7",
    "filter": "M3 5h18l-7 8v6l-4-2v-4z",
    "trash": "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5m4-5v5",
    "link": "M10 14a4 4 0 005.7 0l3-3a4 4 0 00-5.7-5.7l-1 1M14 10a4 4 0 00-5.7 0l-3 3a4 4 0 005.7 5.7l1-1",
    "person": "M12 4a4 4 0 100 8 4 4 0 000-8zM4 20c1-4 4-6 8-6s7 2 8 6",
    "key": "M8 11a4 4 0 100 8 4 4 0 000-8zM11 12l9-9m-4 4l3 3m-6 0l2 2",
    "lock": "M6 11h12v9H6zM8 11V8a4 4 0 018 0v3",
    "sun": "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v2m0 16v2M4 12H2m20 0h-2M5 5l1.4 1.4m11.2 11.2L19 19M19 5l-1.4 1.4"
    "M6.4 17.6L5 19",
    "moon": "M20 14.5A8.5 8.5 0 019.5 4a8.5 8.5 0 1010.5 10.5z",
    "screen": "M3 5h18v12H3zM9 21h6m-3-4v4",
    "eye": "M2 12c3-5 6-7 10-7s7 2 10 7c-3 5-6 7-10 7s-7-2-10-7zM12 9a3 3 0 100 6 3 3 0 000-6z",
    "graph": "M6 5a2 2 0 100 4 2 2 0 000-4zM18 8a2 2 0 100 4 2 2 0 000-4zM9 16a2 2 0 100 4 2 2 0 000-4zM8 7.6l8 1.8"
    "M6.6 9l1.8 7M16.6 11.4L10.6 16.6",
    "table": "M3 5h18v14H3zM3 10h18M3 15h18M9 5v14",
    "cards": "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
}  # fmt: skip


#: Lazy, because a list asks for one word a row: making all seven each time is what takes the time.
_LAMP_WORDS = {
    "queued": pgettext_lazy("lamp", "queued"),
    "parsing": pgettext_lazy("lamp", "parsing"),
    "indexed": pgettext_lazy("lamp", "indexed"),
    "failed": pgettext_lazy("lamp", "failed"),
    "stale": pgettext_lazy("lamp", "stale"),
    "deleted": pgettext_lazy("lamp", "deleted"),
    "skipped": pgettext_lazy("lamp", "skipped"),
}
_LAMP_MEANINGS = {
    "queued": gettext_lazy("Will be read; nothing to do."),
    "parsing": gettext_lazy("Being read now."),
    "indexed": gettext_lazy("Searchable, and equal to the file."),
    "failed": gettext_lazy("Could not be read; somebody has to look."),
    "stale": gettext_lazy("Searchable, but the file has changed since."),
    "deleted": gettext_lazy("The file or its source is gone; the copy in the index is being removed."),
    "skipped": gettext_lazy("Left out, with a reason; not an error."),
}


def lamp_word(status: str) -> str:
    """Give the one word people read for a lamp, in the active language. Unknown states are said as they are."""
    return str(_LAMP_WORDS.get(status, status))


def lamp_meaning(status: str) -> str:
    """Give the sentence that explains a lamp: its tooltip, and the legend."""
    return str(_LAMP_MEANINGS.get(status, ""))


@register.inclusion_tag("_components/lamp.html")
def lamp(status: str, text: str = "", *, count: int | None = None, title: str = "", id: str = "", **flags: Any) -> Any:  # noqa: A002 the attribute's name
    """A state. `text` replaces the word, `count` stands before it; `compact=True` hides the word from the eye only;
    `stopped=True` makes a failure amber: a person stopped it."""
    word = text or lamp_word(status)
    if count is not None:
        word = pgettext("so many in this state", "%(count)s %(word)s") % {"count": number(count), "word": word}
    shape = LAMP_SHAPES.get(status, LAMP_SHAPES["skipped"])
    known = {"compact": flags.get("compact", False), "stopped": flags.get("stopped", False)}
    return known | {
        "status": status, "word": word, "title": title or lamp_meaning(status), "id": id, "shape": mark_safe(shape),  # noqa: S308 our own drawing
    }  # fmt: skip


@register.simple_tag
def icon(name: str) -> SafeString:
    """A drawing beside a word. It is hidden from readers of the page: the word says it."""
    return format_html('<svg class="i" viewBox="0 0 24 24" aria-hidden="true"><path d="{}"/></svg>', ICONS[name])


@register.filter
def number(value: int | None) -> str:
    """1204 -> "1,204", in every language we speak; nothing -> "–"."""
    return "–" if value is None else f"{value:,}"


_UNITS = (("GB", 1 << 30, 1), ("MB", 1 << 20, 1), ("KB", 1 << 10, 0))


@register.filter
def file_size(size: int | None) -> str:
    """A size people read: "412 KB", "18.0 MB", "1.2 GB"; bytes are counted in words."""
    if size is None:
        return "–"
    for unit, factor, digits in _UNITS:
        if size >= factor or (unit == "KB" and size >= 1000):
            return f"{size / factor:,.{digits}f}\N{NO-BREAK SPACE}{unit}"
    return ngettext("%(count)d byte", "%(count)d bytes", size) % {"count": size}


@register.filter
def duration(seconds: float | None) -> str:
    """How long something took: "0.4 s", "18.2 s", "1 min 12 s", "2 h 5 min"."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return _("%(seconds)s s") % {"seconds": f"{seconds:.1f}"}
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return _("%(minutes)d min %(seconds)d s") % {"minutes": minutes, "seconds": rest}
    return _("%(hours)d h %(minutes)d min") % {"hours": minutes // 60, "minutes": minutes % 60}


def age_words(at: datetime, now: datetime | None = None) -> str:
    """Say how long ago `at` was, in one or two words. A time ahead of us counts as now."""
    now = now or timezone.now()
    minutes = max(0, int((now - at).total_seconds() // 60))
    if minutes < 1:
        return _("just now")
    if minutes < 60:
        return ngettext("%(count)d min ago", "%(count)d min ago", minutes) % {"count": minutes}
    if minutes < 12 * 60:
        return ngettext("%(count)d h ago", "%(count)d h ago", minutes // 60) % {"count": minutes // 60}
    return _day_words(at, now)


def _day_words(at: datetime, now: datetime) -> str:
    days = (timezone.localtime(now).date() - timezone.localtime(at).date()).days
    if days <= 0:
        return ngettext("%(count)d h ago", "%(count)d h ago", 12) % {"count": int((now - at) / timedelta(hours=1))}
    if days == 1:
        return _("yesterday")
    if days < 7:
        return npgettext("age", "%(count)d day ago", "%(count)d days ago", days) % {"count": days}
    return calendar_words(at, now, with_time=False)


def calendar_words(at: datetime, now: datetime | None = None, *, with_time: bool = True) -> str:
    """Say when `at` was on the calendar: "today 09:12", "12 May 10:31", with the year when it is another one."""
    local, today = timezone.localtime(at), timezone.localtime(now or timezone.now())
    clock = formats.date_format(local, "H:i")
    if local.date() == today.date():
        return _("today %(time)s") % {"time": clock}
    same_year = local.year == today.year
    # Translators: date formats of Django; a day of this year, and a day of another year.
    pattern = pgettext("date format", "j M") if same_year else pgettext("date format", "j M Y")
    day = formats.date_format(local, pattern)
    return f"{day} {clock}" if with_time else day


def _time_element(at: datetime, words: str) -> SafeString:
    exact = formats.date_format(timezone.localtime(at), "Y-m-d H:i:s")
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(timespec="seconds"), exact, words)


@register.simple_tag
def ago(at: datetime | None, never: str = "") -> str:
    """How long ago: "just now", "3 min ago", "yesterday", "12 May"; `never` where there is no time."""
    return _time_element(at, age_words(at)) if at else never or _("never")


@register.simple_tag
def moment(at: datetime | None, never: str = "") -> str:
    """When on the calendar: "today 09:12", "12 May 10:31"; `never` where there is no time."""
    return _time_element(at, calendar_words(at)) if at else never or _("never")


@register.inclusion_tag("_components/progress.html")
def progress(value: float, total: float, label: str, text: str = "", id: str = "") -> dict[str, Any]:  # noqa: A002
    """A bar. `label` names it, `text` says its value in words; both are for those who cannot see it."""
    percent = 100 if not total else min(100.0, max(0.0, 100 * value / total))
    words = text or f"{number(int(value))} / {number(int(total))}"
    return {"percent": f"{percent:.1f}", "label": label, "text": words, "id": id}


@register.simple_tag
def span(start: float, end: float) -> SafeString:
    """A piece of a timeline, from and to in percent of the whole; at least one percent wide so that it is seen."""
    start = min(99.0, max(0.0, start))
    width = min(100.0 - start, max(1.0, end - start))
    return format_html(
        '<svg class="t" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect x="{}" y="0" width="{}" height="10"/></svg>',
        f"{start:.2f}", f"{width:.2f}",
    )  # fmt: skip


@register.simple_tag
def page_url(name: str, *args: Any, **kwargs: Any) -> str:
    """The address of a page, or "" while no app serves it."""
    try:
        return reverse(name, args=args, kwargs=kwargs)
    except NoReverseMatch:
        return ""


_STRIP_ICONS = {"warning": "warning", "bad": "warning", "good": "check", "note": "info"}


@register.simple_block_tag
def strip(content: str, kind: str = "warning", *, id: str = "", alert: bool = False) -> str:  # noqa: A002
    """A sentence about the whole page: what happened, what still works, what to do. Kinds: warning, bad, good, note.

    Put the sentence into `<span class="grow">`, a button after it. `alert=True` for what answers a click.
    """
    return format_html(
        '<div class="strip {}"{}{}>{}{}</div>',
        "" if kind == "warning" else kind,
        format_html(' id="{}"', id) if id else "",
        mark_safe(' role="alert"') if alert else "",
        icon(_STRIP_ICONS[kind]),
        content,
    )


@register.simple_block_tag
def nothing(content: str, picture: str = "folder", *, title: str) -> str:
    """What is shown where a list has nothing: a title, one sentence, the next step."""
    return format_html('<div class="empty">{}<h2>{}</h2>{}</div>', icon(picture), title, content)


@register.inclusion_tag("_components/entry.html")
def entry(field: BoundField, *, width: str = "wide-m") -> dict[str, Any]:
    """A form field with its label, hint and errors, joined for readers by aria-describedby."""
    kind = getattr(field.field.widget, "input_type", "")
    is_group = field.use_fieldset
    classes = "" if kind in {"checkbox", "radio"} else "input"
    return {"field": field, "control": field.as_widget(attrs={"class": classes} if classes else {}),
            "is_check": kind == "checkbox" and not is_group, "is_group": is_group, "width": width}  # fmt: skip
