"""Several hosts: PostgreSQL and Redis, secrets from the environment or from files."""

from django.core.exceptions import ImproperlyConfigured

from mnote.settings.base import *  # noqa: F403
from mnote.settings.base import SECURE_COOKIES
from mnote.settings.env import env_int, env_secret, env_str

SECRET_KEY = env_secret("MNOTE_SECRET_KEY")
if not SECRET_KEY:
    raise ImproperlyConfigured("MNOTE_SECRET_KEY or MNOTE_SECRET_KEY_FILE is required in production")

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": env_str("MNOTE_DB_NAME", "mnote"),
        "USER": env_str("MNOTE_DB_USER", "mnote"),
        "PASSWORD": env_secret("MNOTE_DB_PASSWORD"),
        "HOST": env_str("MNOTE_DB_HOST", "localhost"),
        "PORT": env_int("MNOTE_DB_PORT", 5432),
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "ATOMIC_REQUESTS": False,
    }
}

CELERY_BROKER_URL = env_secret("MNOTE_REDIS_URL") or "redis://localhost:6379/0"
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "global_keyprefix": "mnote:",
    "socket_connect_timeout": 2,
    "socket_timeout": 10,
    "socket_keepalive": True,
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0.1,
    "interval_max": 0.2,
}
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": CELERY_BROKER_URL,
        "KEY_PREFIX": "mnote",
    }
}
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# The proxy ends TLS and says so; the health addresses are asked from inside, without it.
SECURE_SSL_REDIRECT = SECURE_COOKIES
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
