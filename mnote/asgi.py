import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", f"mnote.settings.{os.environ.get('MNOTE_PROFILE', 'embedded')}")
application = get_asgi_application()

from mnote import job_kinds  # noqa: E402 the apps are loaded from here on

job_kinds.load()  # now, not inside the transaction of the first request that enqueues
