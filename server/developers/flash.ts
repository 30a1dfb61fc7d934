/** The lines that tell what a form has done, on the page that is shown next. The list is closed: no line has a value in it. */
export const FLASHES = {
  'signed-in': 'You are signed in.',
  'signed-out': 'You are signed out.',
  'signed-out-here':
    'This browser is signed out. The server could not store that the session is over: if somebody else may have its cookie, sign in again later, and end it under Sessions.',
  'session-ended': 'That session is ended.',
  'cli-ended': 'That profilectl is not let in any more.',
  'sessions-ended': 'All your sessions are ended, and no profilectl is let in any more.',
  'key-requested': 'The key is requested.',
  'key-renamed': 'The key is renamed.',
  'key-withdrawn': 'The request is withdrawn.',
  'request-rejected': 'The request is rejected, and its owner gets the reason by mail.',
  'key-changed': 'The key is changed, and its owner gets a mail that says how.',
  'passkey-removed': 'The passkey is removed, and all your sessions are ended.',
  'key-revoked': 'The key is revoked. It works no more.',
  found:
    'Thank you. If an Active or suspended key has a secret that stood in your text, it is revoked now, and its owner and the admins are told.',
} as const;

/** Which line. */
export type FlashCode = keyof typeof FLASHES;

/** The line of a code that a cookie has brought back; null where it is none. */
export function flashText(code: string | null): string | null {
  return code !== null && Object.hasOwn(FLASHES, code) ? FLASHES[code as FlashCode] : null;
}
