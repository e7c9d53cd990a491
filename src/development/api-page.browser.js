/* Starts Scalar on the API page with settings that prevent requests to other origins. */

const root = document.getElementById('main');

Scalar.createApiReference(root, {
  url: '/api/docs/page.json',
  baseServerURL: location.origin,
  authentication: {
    preferredSecurityScheme: 'apiKey',
    securitySchemes: { apiKey: { value: root.dataset.apiKey ?? '' } },
  },
  telemetry: false,
  withDefaultFonts: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  mcp: { disabled: true },
  agent: { disabled: true },
  // The page uses a shortened document. The navigation bar links to the complete one.
  documentDownloadType: 'none',
  theme: 'none',
  hideModels: true,
  defaultOpenAllTags: true,
  orderSchemaPropertiesBy: 'preserve',
});

/* Selects 202, the response to a new event, as soon as Scalar renders an operation. */
const seen = new WeakSet();
new MutationObserver(() => {
  for (const tab of root.querySelectorAll('[role=tab]')) {
    if (!tab.textContent.includes('Status: 202') || seen.has(tab)) continue;
    seen.add(tab);
    tab.click();
  }
}).observe(root, { childList: true, subtree: true });
