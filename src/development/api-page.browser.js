/* The script of the API page: it starts Scalar, which loads nothing from another origin with these settings. */

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
  // The frame links to the whole document; this page's is a shortened one.
  documentDownloadType: 'none',
  theme: 'none',
  hideModels: true,
  defaultOpenAllTags: true,
  orderSchemaPropertiesBy: 'preserve',
});

/* Opens on 202, the response to a new event. Scalar draws an operation when it comes into view. */
const seen = new WeakSet();
new MutationObserver(() => {
  for (const tab of root.querySelectorAll('[role=tab]')) {
    if (!tab.textContent.includes('Status: 202') || seen.has(tab)) continue;
    seen.add(tab);
    tab.click();
  }
}).observe(root, { childList: true, subtree: true });
