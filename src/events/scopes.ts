/** The scopes of the events' routes: what the routes require, and what the document says. */

import type { Scope } from '../auth/named-keys.ts';

export const WRITE_SCOPE = 'events:write' satisfies Scope;
export const READ_SCOPE = 'events:read' satisfies Scope;
