"""Everything both profiles share. `embedded` and `production` hold only what differs."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from mnote.settings.env import env_bool, env_float, env_int, env_list, env_path, env_secret, env_secrets, env_str

BASE_DIR = Path(__file__).resolve().parent.parent.parent
VERSION = "0.1.0"

# --- The two settings that matter: where data lives, and the address people use. -----------------------------------
MNOTE_DATA_DIR = env_path("MNOTE_DATA_DIR", BASE_DIR / "data")
MNOTE_PUBLIC_URL = env_str("MNOTE_PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
_public = urlsplit(MNOTE_PUBLIC_URL)

MNOTE_INDEX_DIR = MNOTE_DATA_DIR / "indexes"
MNOTE_ARTIFACT_DIR = MNOTE_DATA_DIR / "artifacts"

DEBUG = False
ALLOWED_HOSTS = [_public.hostname or "localhost", "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
FORCE_SCRIPT_NAME = _public.path or None
SECURE_COOKIES = _public.scheme == "https"

INSTALLED_APPS = [
    "mnote.admin_site.MNoteAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "mnote",
    "knowledge",
    "pageai",
]

MIDDLEWARE = [
    "mnote.middleware.RequestContextMiddleware",
    "mnote.request_log.RequestLogMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "mnote.middleware.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "mnote.middleware.PrincipalMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "mnote.middleware.PageMiddleware",
    "mnote.problems.ProblemMiddleware",
]

ROOT_URLCONF = "mnote.urls"
ASGI_APPLICATION = "mnote.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "mnote.views.shell.shell",
            ],
        },
    }
]

AUTH_USER_MODEL = "mnote.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]
LOGIN_URL = "mnote:login"
LOGIN_REDIRECT_URL = "mnote:home"
LOGOUT_REDIRECT_URL = "mnote:login"

SESSION_COOKIE_NAME = "mnote_session"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_COOKIES
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "mnote_csrf"
CSRF_FAILURE_VIEW = "mnote.views.errors.csrf_failure"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "SAMEORIGIN"
# Previews and the AI panel are frames of our own origin.
SILENCED_SYSTEM_CHECKS = ["security.W019"]
if _public.hostname in {"localhost", "127.0.0.1", "::1"}:  # nothing leaves the machine, so there is nothing to encrypt
    SILENCED_SYSTEM_CHECKS += ["security.W004", "security.W008", "security.W012", "security.W016"]
SECURE_SSL_REDIRECT = False
SECURE_HSTS_SECONDS = 31_536_000 if SECURE_COOKIES else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE_COOKIES

LANGUAGE_CODE = "en"
LANGUAGES = [("zh-hans", "简体中文"), ("en", "English")]
LANGUAGE_COOKIE_NAME = "mnote_language"
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = env_str("MNOTE_TIME_ZONE", "UTC")

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = MNOTE_DATA_DIR / "static"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024
FILE_UPLOAD_TEMP_DIR = None

ATOMIC_REQUESTS = False

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "mnote.api.authentication.TokenAuthentication",
        "mnote.api.authentication.CookieAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["mnote.api.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "mnote.api.schema.ProblemSchema",
    "DEFAULT_PAGINATION_CLASS": None,
    "EXCEPTION_HANDLER": "mnote.problems.handle_api_exception",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "MNote control plane",
    "DESCRIPTION": "Knowledge from folders of local documents, with citations that open the exact place.",
    "VERSION": VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "OAS_VERSION": "3.1.0",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "knowledge.api.published.add_components",
    ],
}

# --- Work in the background (the rows are the queue; the broker only rings) -----------------------------------------
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_TASK_DEFAULT_QUEUE = "interactive"
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "mnote.sweep_jobs", "schedule": 5.0, "options": {"expires": 15}},
    "beat": {"task": "mnote.beat_worker", "schedule": 10.0, "options": {"expires": 20}},
    "schedule": {"task": "knowledge.schedule_syncs", "schedule": 30.0, "options": {"expires": 60}},
    "runs": {"task": "pageai.tend_runs", "schedule": 5.0, "options": {"expires": 15}},
    "agent_files": {"task": "pageai.refresh_agent_files", "schedule": 30.0, "options": {"expires": 60}},
    "tool_calls": {"task": "pageai.prune_tool_calls", "schedule": 3600.0, "options": {"expires": 3600}},
}
MNOTE_JOB_LEASE_SECONDS = env_int("MNOTE_JOB_LEASE_SECONDS", 60, minimum=5)
MNOTE_STOP_SECONDS = env_int("MNOTE_STOP_SECONDS", 8, minimum=1)
MNOTE_WORKER_THREADS = env_int("MNOTE_WORKER_THREADS", 4, minimum=1)

# --- Limits ---------------------------------------------------------------------------------------------------------
MNOTE_PARSE_SLOTS = env_int("MNOTE_PARSE_SLOTS", 2, minimum=1)
MNOTE_PARSE_SECONDS = env_int("MNOTE_PARSE_SECONDS", 120, minimum=1)
MNOTE_SETTLE_SECONDS = env_float("MNOTE_SETTLE_SECONDS", 0.5)
MNOTE_SEARCH_SECONDS = env_int("MNOTE_SEARCH_SECONDS", 10, minimum=1)
MNOTE_MAX_FILE_MB = env_int("MNOTE_MAX_FILE_MB", 200, minimum=1)
MNOTE_UPLOAD_MAX_MB = env_int("MNOTE_UPLOAD_MAX_MB", 100, minimum=1)
MNOTE_WORKSPACE_QUOTA_MB = env_int("MNOTE_WORKSPACE_QUOTA_MB", 10_240, minimum=1)
MNOTE_ALLOW_WEB_IMPORT = env_bool("MNOTE_ALLOW_WEB_IMPORT", default=False)
#: Hosts ("name" or "name:port") that may be fetched although they are not on the public Internet.
MNOTE_WEB_IMPORT_HOSTS = env_list("MNOTE_WEB_IMPORT_HOSTS")

# --- Secrets ---------------------------------------------------------------------------------------------------------
#: Earlier secret keys, separated by white space: what they signed and sealed is still good.
SECRET_KEY_FALLBACKS = env_secret("MNOTE_SECRET_KEY_FALLBACKS").split()

# --- Providers outside: keys that profiles name instead of holding them sealed in the database. ---------------------
MNOTE_PROVIDER_KEYS = env_secrets("MNOTE_PROVIDER_KEY_")

# --- Agents -------------------------------------------------------------------------------------------------------
#: A call of a tool ends after this long; clients wait longer (the generated configuration tells them 30 seconds).
MNOTE_TOOL_SECONDS = env_float("MNOTE_TOOL_SECONDS", 20.0, minimum=0.01)
MNOTE_TOOL_CALL_DAYS = env_int("MNOTE_TOOL_CALL_DAYS", 365, minimum=0)
#: A JSON file of further agents, see pageai/agents.py.
_agents_file = env_str("MNOTE_AGENTS_FILE")
MNOTE_AGENTS_FILE = Path(_agents_file).expanduser().absolute() if _agents_file else None

# --- Page AI: OpenHub, its Redis, and the opencode it drives. Without an address the panel says so. ----------------
MNOTE_OPENHUB_URL = env_str("MNOTE_OPENHUB_URL").rstrip("/")
MNOTE_OPENHUB_JWT_SECRET = env_secret("MNOTE_OPENHUB_JWT_SECRET")
MNOTE_OPENHUB_REDIS_URL = env_secret("MNOTE_OPENHUB_REDIS_URL")
#: The built pages of OpenHub: the folder with index.html and assets/.
MNOTE_OPENHUB_APP_DIR = env_str("MNOTE_OPENHUB_APP_DIR")
MNOTE_OPENCODE_URL = env_str("MNOTE_OPENCODE_URL").rstrip("/")
MNOTE_OPENCODE_USERNAME = env_str("MNOTE_OPENCODE_USERNAME", "opencode")
MNOTE_OPENCODE_PASSWORD = env_secret("MNOTE_OPENCODE_PASSWORD")
#: The opencode that MNote starts itself, one for each person and root; empty: none. See docs/run.md.
MNOTE_OPENCODE_PROGRAM = env_str("MNOTE_OPENCODE_PROGRAM")
#: A JSON file with what opencode needs to reach models: `model`, `provider`, `enabled_providers`. May hold keys.
_opencode_config = env_str("MNOTE_OPENCODE_CONFIG")
MNOTE_OPENCODE_CONFIG = Path(_opencode_config).expanduser().absolute() if _opencode_config else None
MNOTE_OPENCODE_IDLE_SECONDS = env_int("MNOTE_OPENCODE_IDLE_SECONDS", 900, minimum=1)
MNOTE_OPENCODE_MAX = env_int("MNOTE_OPENCODE_MAX", 4, minimum=1)
MNOTE_OPENCODE_START_SECONDS = env_int("MNOTE_OPENCODE_START_SECONDS", 60, minimum=1)
#: Fence each one off with bubblewrap where the system lets us.
MNOTE_OPENCODE_FENCE = env_bool("MNOTE_OPENCODE_FENCE", default=True)
#: The chat model of the agent without tools: an OpenAI-compatible address up to its version, and the model's name.
MNOTE_CHAT_MODEL_URL = env_str("MNOTE_CHAT_MODEL_URL").rstrip("/")
MNOTE_CHAT_MODEL = env_str("MNOTE_CHAT_MODEL")
MNOTE_CHAT_MODEL_KEY = env_secret("MNOTE_CHAT_MODEL_KEY")
#: A stream that gives no byte for this long is dead: three of OpenHub's heartbeats.
MNOTE_OPENHUB_SILENCE_SECONDS = env_float("MNOTE_OPENHUB_SILENCE_SECONDS", 390.0, minimum=1.0)
#: How long the journal of an ended run is kept: what happened in it, and that it was.
MNOTE_RUN_EVENT_DAYS = env_int("MNOTE_RUN_EVENT_DAYS", 30, minimum=1)
MNOTE_RUN_DAYS = env_int("MNOTE_RUN_DAYS", 180, minimum=1)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "mnote.logs.JSONFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": env_str("MNOTE_LOG_LEVEL", "INFO")},
    "loggers": {
        "django.request": {"level": "ERROR"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "celery": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "mcp": {"level": "ERROR"},
    },
}
