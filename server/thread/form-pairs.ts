import { AppError } from '../../shared/errors.ts';

/**
 * The names and values of a body of the type application/x-www-form-urlencoded (WHATWG URL, section 5.1), in order. Throws
 * `bad_form` for broken percent-encoding and for invalid UTF-8.
 */
export function readPairs(body: string): { name: string; value: string }[] {
  if (body === '') return [];
  return body.split('&').map((part) => {
    const equals = part.indexOf('=');
    const name = decodePart(equals === -1 ? part : part.slice(0, equals));
    const value = decodePart(equals === -1 ? '' : part.slice(equals + 1));
    if (name === null || value === null) throw new AppError('bad_form');
    return { name, value };
  });
}

/** A name or value of such a body or of a query, decoded; null for broken percent-encoding and for invalid UTF-8. */
export function decodePart(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
