import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", f"mnote.settings.{os.environ.get('MNOTE_PROFILE', 'embedded')}")
application = get_asgi_application()
