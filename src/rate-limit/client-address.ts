/** Identifies the client whose requests the rate limit counts. */

import * as z from 'zod';

/** The network from which Workers of other zones call. Their header `CF-Worker` names their zone. */
const OTHER_ZONES_WORKERS = '2a06:98c0:3600:0::/64';
/** Name of the client to which all requests without a readable address belong. */
export const UNKNOWN = 'unknown';

const IPV6_CHARACTERS = /^[\da-f:.]{2,45}$/i;
const MAX_ZONE_CHARACTERS = 255;

/**
 * Identifies the client by `CF-Connecting-IP`, because clients can forge `X-Forwarded-For`. Returns an
 * IPv4 address, an IPv6 /64 (one subscriber), `worker ZONE`, or `unknown`.
 */
export function resolveClient(
  connectingIp: string | undefined,
  worker: string | undefined,
): string {
  if (connectingIp === undefined) return UNKNOWN;
  if (z.regexes.ipv4.test(connectingIp)) return connectingIp;
  const network = parseNetwork(connectingIp);
  if (network !== OTHER_ZONES_WORKERS || worker === undefined) return network ?? UNKNOWN;
  return `worker ${worker.slice(0, MAX_ZONE_CHARACTERS).toLowerCase()}`;
}

/**
 * Returns the /64 of an IPv6 address. For an IPv4-mapped address (RFC 4291 section 2.5.5.2), returns
 * the IPv4 address.
 *
 * @example parseNetwork('2001:db8::1') // '2001:db8:0:0::/64'
 * @example parseNetwork('::ffff:cb00:7107') // '203.0.113.7'
 */
function parseNetwork(address: string): string | undefined {
  const url = IPV6_CHARACTERS.test(address) ? URL.parse(`http://[${address}]`) : null;
  if (url === null) return undefined;
  // The URL parser writes each group in its shortest form, e.g. `[2001:db8::1]`.
  const halves = url.hostname.slice(1, -1).split('::');
  const [before = [], after = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  const groups = [...before, ...zeros, ...after];
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') {
    const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
