/** The tokens that Wycheproof has against libraries of JSON Web Signatures. The data file names its source and licence. */

import { describe, expect, it } from 'vitest';
import { sendWith } from '../support/http.ts';
import { AUDIENCE, ISSUER } from '../support/tokens.ts';
import wycheproof from './wycheproof-jws.json';

describe.each(wycheproof.groups)('the tokens of the group $comment', (group) => {
  const keys = group.public === undefined ? [] : [group.public];
  const vars = {
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    JWT_JWKS: JSON.stringify({ keys }),
  };

  it('open nothing, and none is a fault of the service', async () => {
    const statuses = await Promise.all(
      group.tokens.map(async (token) => {
        const headers = { Authorization: `Bearer ${token}`, 'x-api-key': '' };
        return (await sendWith(vars, '/api/v1/web/properties', { headers })).status;
      }),
    );
    expect(statuses).toEqual(Array(group.tokens.length).fill(401));
  });
});
