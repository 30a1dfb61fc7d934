import type { DocumentedCode } from '../../../shared/errors.ts';

/** What a client is to do about each refusal that it can meet, as whole sentences. */
export const REMEDIES: Record<DocumentedCode, string> = {
  bad_parameter: 'Correct the parameter that the sentence names; the same request gets the same answer.',
  bad_request: 'Send one Host header, as every HTTP client does by itself.',
  no_credentials: 'Send the header; look whether a redirect or a proxy has removed it.',
  invalid_token:
    'Look whether the whole secret was sent, and for a newer mail about this key. Otherwise ask for another key.',
  plain_http: 'Use https://. Whatever you sent could be read on its way: have that key revoked, and ask for another.',
  insufficient_scope: 'Ask an admin to add the permission to the key, or ask for a key that has it.',
  not_found: 'Take it for an answer: nobody has this name or id now.',
  unknown_path: 'Compare the path with those on this page; a slash inside a name is %2F.',
  method_not_allowed: 'Use GET.',
  uri_too_long: 'Shorten the path: no name and no auth ID is as long.',
  rate_limited: 'Send it again after Retry-After seconds.',
  too_many_failures: 'Mend the secret, as for a 401, and send it again after Retry-After seconds.',
  internal: 'Send it again later. If it goes on, report the X-Request-Id.',
  busy: 'Send it again after Retry-After seconds; read big answers to their end.',
  not_ready: 'Ask again after Retry-After seconds.',
};
