/* The script of the documentation page: it starts Swagger UI, and names what Swagger UI leaves without a name. */

const root = document.getElementById('docs');

const ui = SwaggerUIBundle({
  domNode: root,
  url: '/api/docs/page.json',
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

// Swagger UI gives its lists and text fields no names for screen readers.
const NAMES = [
  ['select.content-type', 'Content type'],
  ['select.examples-select-element', 'Example'],
  ['#servers', 'Server'],
  ['.body-param select', 'Content type of the request'],
  ['select', 'Value'],
  ['textarea', 'Body of the request'],
];

new MutationObserver(() => {
  for (const [selector, name] of NAMES) {
    for (const element of root.querySelectorAll(selector)) {
      if (!element.ariaLabel) element.ariaLabel = name;
    }
  }
  // The keyboard reaches each box that scrolls.
  for (const box of root.querySelectorAll('pre:not([tabindex])')) box.tabIndex = 0;
}).observe(root, { childList: true, subtree: true });
