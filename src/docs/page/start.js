/* Runs in the browser: shows the document, with the development key filled in. */

const root = document.getElementById('docs');

window.ui = SwaggerUIBundle({
  domNode: root,
  url: '/api/docs/openapi.json',
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  // The validator's badge would be loaded from another origin.
  validatorUrl: null,
  onComplete: () => {
    if (root.dataset.apiKey) window.ui.preauthorizeApiKey('apiKey', root.dataset.apiKey);
  },
});
