/** Files that the development entry takes as text: see `rules` in wrangler.toml. */

declare module 'swagger-ui-dist/swagger-ui-bundle.js' {
  const text: string;
  export default text;
}

declare module 'swagger-ui-dist/swagger-ui.css' {
  const text: string;
  export default text;
}

declare module '*/page/start.js' {
  const text: string;
  export default text;
}
