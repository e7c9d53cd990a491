/** The additions of the page to Swagger UI's style. */

export const PAGE_STYLE = `
/* No operation describes links: the column is empty, and makes the table wider than a phone. */
.swagger-ui .responses-table .response-col_links { display: none; }
.swagger-ui .responses-table .response-col_status { min-width: 4em; }

/* Words, addresses and names of any length break, whatever the font. */
.swagger-ui { overflow-wrap: anywhere; }
.swagger-ui :is(code, td, th, h2, h3, h4, a, label, .parameter__name) { overflow-wrap: anywhere; word-break: normal; }
.swagger-ui :is(select, input, textarea) { min-width: 0; max-width: 100%; }

/* Long texts scroll in their own box, never the page. */
.swagger-ui .markdown pre, .swagger-ui .renderedMarkdown pre { overflow-x: auto; }
.swagger-ui .markdown pre > code { white-space: pre; overflow-wrap: normal; }
.swagger-ui .responses-inner, .swagger-ui .table-container { overflow-x: auto; }
.swagger-ui .responses-table pre.example { max-height: 12em; }
`.trimStart();
