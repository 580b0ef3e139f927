"""Words of a question that say nothing of its subject: English, and Chinese ones that make a token of their own.

They are left out of queries only; what is stored keeps them.
"""

from __future__ import annotations

_ENGLISH = """
a about am an and any are as at be been being but by can could did do does for from had has have he her his how i if in
into is it its me might must my no not of on or our shall she should so such than that the their them then there these
they this those to us was we were what when where which while who whom whose why will with would you your s t
"""

_CHINESE = """
的 了 和 是 在 就 都 而 及 与 或 也 被 由 其 有 对 会 之 于 这 那 吗 呢 吧 啊 么 什么 怎么 怎样 哪些 哪个 哪里 为何
如何 是否 多少 一个 我们 你们 他们 它们 这个 那个 这些 那些 以及 或者
"""

STOPWORDS = frozenset(_ENGLISH.split()) | frozenset(_CHINESE.split())
