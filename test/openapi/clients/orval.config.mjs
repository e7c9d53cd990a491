// Only a configuration file can name the client and the origin.
export default {
  service: {
    input: './openapi.json',
    output: {
      target: './generated/orval.ts',
      client: 'fetch',
      baseUrl: process.env.API_URL,
    },
  },
};
