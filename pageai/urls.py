"""The addresses of Page AI outside the API."""

from django.urls import path

from pageai.mcp import http

app_name = "pageai"

urlpatterns = [path("mcp", http.mcp, name="mcp")]
