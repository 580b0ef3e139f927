import os
import warnings

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", f"mnote.settings.{os.environ.get('MNOTE_PROFILE', 'embedded')}")
django.setup(set_prefix=False)
# WhiteNoise hands over its files, which are small, as plain iterators; Django says so once for each kind of file.
warnings.filterwarnings("ignore", "StreamingHttpResponse must consume synchronous iterators", Warning)

from mnote import bodies, job_kinds  # noqa: E402 the apps are loaded from here on

job_kinds.load()  # now, not inside the transaction of the first request that enqueues
application = bodies.limited(bodies.WaitingBodies())
