"""The project's addresses. The only module here that knows the other apps."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from mnote.api.metrics import MetricsView
from mnote.views import account, auth, health, home, preferences, styleguide

_pages: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("w/<str:workspace_id>/", home.workspace, name="workspace"),
    path("sign-in/", auth.SignInView.as_view(), name="login"),
    path("sign-in/<str:secret>", auth.use_link, name="sign-in-link"),
    path("sign-out/", auth.SignOutView.as_view(), name="logout"),
    path("account/", account.account, name="account"),
    path("account/name/", account.change_profile, name="account-profile"),
    path("account/password/", account.change_password, name="account-password"),
    path("account/tokens/", account.create_token, name="token-create"),
    path("account/tokens/<int:token_id>/revoke/", account.revoke_token, name="token-revoke"),
    path("language/", preferences.set_language, name="language"),
    path("theme/", preferences.set_theme, name="theme"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("_styleguide/", styleguide.styleguide, name="styleguide"),
]

urlpatterns = [
    path("", include((_pages, "mnote"))),
    path("", include("knowledge.urls")),
    path("", include("pageai.urls")),
    path("admin/", admin.site.urls),
    path("api/", include("mnote.api.urls")),
    path("api/", include("knowledge.api.urls")),
    path("api/", include("pageai.api.urls")),
]

handler400 = "mnote.views.errors.bad_request"
handler403 = "mnote.views.errors.forbidden"
handler404 = "mnote.views.errors.not_found"
handler500 = "mnote.views.errors.server_error"
