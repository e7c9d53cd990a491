/** The script that starts Swagger UI in the browser: a file of its own, so that nothing runs inline. */

export const START_SCRIPT = `
const root = document.getElementById('docs');

const ui = SwaggerUIBundle({
  domNode: root,
  url: '/api/docs/openapi.json',
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  // The validator's badge would come from another origin.
  validatorUrl: null,
  onComplete() {
    if (root.dataset.apiKey) ui.preauthorizeApiKey('apiKey', root.dataset.apiKey);
  },
});

document.getElementById('key').addEventListener('change', (event) => {
  ui.preauthorizeApiKey('apiKey', event.target.value);
});
`.trimStart();
