// A list of entity tags (RFC 9110, sections 5.6.1 and 8.8.3). A list may have empty elements.
const TAG_LIST =
  /^[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*)?(?:,[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*)?)*$/;

/**
 * Whether `If-None-Match` is `*` or a list with this tag (RFC 9110, section 13.1.2), also if a proxy has made it weak or, like
 * Apache, appended `-gzip` to it. A malformed value matches nothing.
 */
export function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag) return true;
  if (ifNoneMatch.trim() === '*') return true;
  if (!TAG_LIST.test(ifNoneMatch)) return false;
  const tags = ifNoneMatch.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];
  return tags.some((tag) => tag.replace(/^W\//, '').replace(/-gzip"$/, '"') === etag);
}

/** Whether `Accept-Encoding` allows gzip and does not prefer an uncompressed body (RFC 9110, section 12.5.3). */
export function acceptsGzip(acceptEncoding: string | null): boolean {
  const weights = new Map<string, number>();
  for (const item of acceptEncoding?.toLowerCase().split(',') ?? []) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, weight === undefined ? 1 : Number(weight));
  }
  const gzip = weights.get('gzip') ?? weights.get('*') ?? 0;
  return gzip > 0 && gzip >= (weights.get('identity') ?? 0);
}
