/** Matches most links, which then need no further check. */
const PLAIN = /^https?:/;

/** Browsers ignore some control characters anywhere in a URL, and others at its start. */
const CONTROL = /\p{Cc}/gu;

/** Schemes that run or show the content of the URL itself in the page with the link. */
const UNSAFE = /^(javascript|vbscript|data):/i;

/**
 * Whether a URL has the scheme `javascript:`, `vbscript:` or `data:`, parsed as browsers do
 * (https://url.spec.whatwg.org/#concept-basic-url-parser). Clients put links into pages, where such a link would run a
 * script.
 */
export function isUnsafeLink(url: string): boolean {
  return !PLAIN.test(url) && UNSAFE.test(url.replace(CONTROL, '').trimStart());
}
