/** Writes the request of an operation as code, for `x-codeSamples`: an extension that documentation pages show. */

/** The request that a code sample sends. */
type SampledRequest = {
  /** In upper case. */
  method: string;
  /** With values in place of its parameters, and with the query. */
  path: string;
  /** Without the key and the content type. */
  headers: Readonly<Record<string, string>>;
  needsKey: boolean;
  body?: unknown;
};

/** Returns the samples. They read `API_URL` and `API_KEY` from the environment. */
export function codeSamplesOf(request: SampledRequest) {
  return [
    { lang: 'Shell', label: 'curl', source: curlOf(request) },
    { lang: 'TypeScript', label: 'TypeScript', source: typeScriptOf(request) },
  ];
}

function curlOf({ method, path, headers, needsKey, body }: SampledRequest): string {
  const lines = [
    `curl -s "$API_URL${path}"`,
    ...(needsKey ? ['-H "x-api-key: $API_KEY"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`]),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body)}'`]),
    // Without -X, curl sends a GET, or a POST if there is data.
    ...(method === (body === undefined ? 'GET' : 'POST') ? [] : [`-X ${method}`]),
  ];
  return lines.join(' \\\n  ');
}

function typeScriptOf({ method, path, headers, needsKey, body }: SampledRequest): string {
  const sent = [
    ...(needsKey ? [`    'x-api-key': process.env.API_KEY ?? '',`] : []),
    ...Object.entries(headers).map(([name, value]) => `    '${name}': '${value}',`),
    ...(body === undefined ? [] : [`    'Content-Type': 'application/json',`]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(sent.length === 0 ? [] : ['  headers: {', ...sent, '  },']),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literalOf(body)}),`]),
  ];
  const url = `\`\${process.env.API_URL}${path}\``;
  const call =
    options.length === 0 ? `fetch(${url})` : `fetch(${url}, {\n${options.join('\n')}\n})`;
  return [
    `const response = await ${call};`,
    'if (!response.ok) throw new Error(await response.text());',
    'console.log(await response.json());',
  ].join('\n');
}

/** Writes a value as TypeScript does, indented to stand in the options of a call. */
function literalOf(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .replace(/^( *)"([A-Za-z_]\w*)":/gm, '$1$2:')
    .replace(/"([^"'\\]*)"(?=,?$)/gm, "'$1'")
    .replace(/\n/g, '\n  ');
}
