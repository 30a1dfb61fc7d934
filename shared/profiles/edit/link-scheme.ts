/** Most links; none of these can be of another scheme. */
const PLAIN = /^https?:/;

/** Browsers leave out some of these wherever they stand, and others where an address begins. */
const CONTROL = /\p{Cc}/gu;

/** Schemes that run or show what the address itself holds, in the page that the link stands in. */
const UNSAFE = /^(javascript|vbscript|data):/i;

/**
 * Whether the address of a link is of the scheme `javascript:`, `vbscript:` or `data:`, read as browsers read it
 * (https://url.spec.whatwg.org/#concept-basic-url-parser). Clients put links into pages, where such a link would act.
 */
export function isUnsafeLink(address: string): boolean {
  return !PLAIN.test(address) && UNSAFE.test(address.replace(CONTROL, '').trimStart());
}
