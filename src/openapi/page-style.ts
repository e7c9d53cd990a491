/** The additions of the page to Swagger UI's style. */

export const PAGE_STYLE = `
/* No operation describes links: the column is empty, and makes the table wider than a phone. */
.swagger-ui .responses-table .response-col_links { display: none; }
.swagger-ui .responses-table .response-col_status { min-width: 4em; }

/* Long texts scroll in their own box, never the page. */
.swagger-ui .markdown pre, .swagger-ui .renderedMarkdown pre { overflow-x: auto; }
.swagger-ui .markdown pre > code { white-space: pre; overflow-wrap: normal; }
.swagger-ui .responses-inner, .swagger-ui .table-container { overflow-x: auto; }
.swagger-ui .responses-table pre.example { max-height: 12em; }
.swagger-ui .info table td { overflow-wrap: anywhere; }
`.trimStart();
