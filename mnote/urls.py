"""The project's addresses. The only module here that knows the other apps."""

from django.contrib import admin
from django.urls import path

urlpatterns = [path("admin/", admin.site.urls)]
