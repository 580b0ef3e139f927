// Starts Swagger UI on the API page. Calls from it carry the cross-site token of the session.
"use strict";
(() => {
  const place = document.getElementById("api-docs");
  const csrf = place.dataset.csrf;
  window.SwaggerUIBundle({
    url: place.dataset.schema,
    domNode: place,
    deepLinking: true,
    docExpansion: "none",
    validatorUrl: null,
    requestInterceptor: (request) => {
      if (new URL(request.url, window.location.href).origin === window.location.origin) {
        request.headers["X-CSRFToken"] = csrf;
      }
      return request;
    },
  });
})();
