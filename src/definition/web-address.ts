/**
 * URLs as far as their text tells. In: what the option says. Out: the URL without trailing slashes, or why it is
 * none; and whether a host is inside (loopback, private, link-local, cloud metadata). Names are not resolved
 * here: that is the business of whoever connects, at the moment of connecting.
 */

export type WebAddress =
  | { readonly kind: 'url'; readonly url: string; readonly host: string; readonly isPlainText: boolean }
  | { readonly kind: 'no-host' }
  | { readonly kind: 'invalid'; readonly reason: string };

export function readWebAddress(text: string): WebAddress {
  if (/<[^>]*>/.test(text)) return invalid('a <placeholder> is still to be filled in');
  if (/^https?:\/\/(?:[/:?#]|$)/i.test(text)) return { kind: 'no-host' };
  // URL() mends much: `https:host` and `https:////host` pass. What was meant is only clear with two slashes.
  const url = URL.parse(text);
  if (url === null || !/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(text)) return invalid('not an absolute URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return invalid('the scheme must be https or http');
  if (url.username !== '' || url.password !== '') return invalid('user and password do not belong into a URL');
  if (url.search !== '' || url.hash !== '') return invalid('a query or fragment does not belong here');
  const bare = url.href.replace(/\/+$/, '');
  return { kind: 'url', url: bare, host: url.hostname, isPlainText: url.protocol === 'http:' };
}

function invalid(reason: string): WebAddress {
  return { kind: 'invalid', reason };
}

export function isLoopbackHost(host: string): boolean {
  if (/^(?:.*\.)?localhost\.?$/.test(host) || host === '[::1]') return true;
  return ipv4Of(host)?.[0] === 127;
}

/** First octets of the IPv4 blocks that never lead outside, with the length of their prefix in bits. */
const INTERNAL_IPV4: readonly (readonly [number, number])[] = [
  [0x00000000, 8],
  [0x0a000000, 8],
  [0x64400000, 10],
  [0x7f000000, 8],
  [0xa9fe0000, 16],
  [0xac100000, 12],
  [0xc0000000, 24],
  [0xc0000200, 24],
  [0xc0a80000, 16],
  [0xc6120000, 15],
  [0xc6336400, 24],
  [0xcb007100, 24],
  [0xe0000000, 3],
];

/** `host` as URL.hostname gives it: lower case, IPv4 in dots (however it was written), IPv6 in brackets. */
export function isInternalHost(host: string): boolean {
  const name = host.replace(/\.$/, '');
  if (isLoopbackHost(host)) return true;
  const ipv4 = ipv4Of(name);
  if (ipv4 !== null) return isInternalIpv4(ipv4);
  if (name.startsWith('[')) return isInternalIpv6(name.slice(1, -1));
  // A name of one label or under these suffixes is nobody's in the public DNS.
  return !name.includes('.') || /\.(?:internal|local|localdomain|lan|home|corp|svc)$/.test(name);
}

function ipv4Of(host: string): readonly number[] | null {
  return /^\d+\.\d+\.\d+\.\d+$/.test(host) ? host.split('.').map(Number) : null;
}

function isInternalIpv4(octets: readonly number[]): boolean {
  const address = octets.reduce((value, octet) => value * 256 + octet, 0);
  return INTERNAL_IPV4.some(([block, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(address / size) === Math.floor(block / size);
  });
}

function isInternalIpv6(text: string): boolean {
  const groups = expandIpv6(text);
  const [first = 0, second = 0] = groups;
  const last = groups.slice(6);
  const leading = groups.slice(0, 6);
  const embedded = (high = 0, low = 0): boolean => isInternalIpv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
  // Unspecified, loopback and the IPv4 forms ::a.b.c.d, ::ffff:a.b.c.d and 64:ff9b::a.b.c.d.
  if (leading.every((group) => group === 0)) return true;
  if (leading.slice(0, 5).every((group) => group === 0) && leading[5] === 0xffff) return embedded(...last);
  if (first === 0x64 && second === 0xff9b) return embedded(...last);
  if (first === 0x2002) return embedded(groups[1], groups[2]);
  // Unique local fc00::/7, link and site local fe80::/9, multicast ff00::/8, documentation 2001:db8::/32.
  return (first & 0xfe00) === 0xfc00 || (first & 0xff80) === 0xfe80 || first >= 0xff00 ||
    (first === 0x2001 && second === 0xdb8);
}

function expandIpv6(text: string): readonly number[] {
  const [head = '', tail] = text.split('::');
  const read = (part: string): number[] =>
    part.split(':').filter(Boolean).map((group) => Number.parseInt(group, 16));
  const front = read(head);
  if (tail === undefined) return front;
  const back = read(tail);
  return [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back];
}
