const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const ADDRESS = new RegExp(`^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${LABEL}(?:\\.${LABEL})*$`);

/**
 * Whether a string is exactly one plain e-mail address, as defined by `type=email` of the HTML standard, of at most 254 characters
 * (RFC 5321, 4.5.3.1). Display names, quotes, comments, lists, spaces and line breaks are refused: they could add a header or a
 * second recipient.
 */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && ADDRESS.test(text);
}

/** Whether two addresses are the same for this service, which ignores the case of ASCII letters. */
export function isSameAddress(one: string | null, other: string | null): boolean {
  if (one === other) return true;
  return one !== null && other !== null && foldAddress(one) === foldAddress(other);
}

/** The form in which addresses are compared and hashed. */
export function foldAddress(address: string): string {
  return address.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
