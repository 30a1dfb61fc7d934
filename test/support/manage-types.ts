export interface paths {
  '/manage/v1/me': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Look up the token
     * @description Whose token this is: a backend’s (with its rights and limits), an owner’s, or an admin’s. Works with any token.
     */
    get: operations['getMe'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/profiles': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Import, change and erase profiles
     * @description JSON Lines as for `profilectl profiles import`. Without `partial`: up to 1 000 lines and 4 MiB, all or nothing. With `partial`: up to 50 000 lines and 64 MiB, in batches, without the bad lines. Every lookup after the response sees the changes. Sending the same lines again is harmless. One request is processed at a time. Needs a backend's token with the right `profiles`.
     */
    post: operations['putProfiles'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/sign-ins': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Sign a user in
     * @description Creates a URL (`address`) to which the backend redirects the browser of a user whom it has signed in. It works once, within a minute; merely loading the page doesn’t use it up. Needs a backend's token with the right `sign-ins`.
     */
    post: operations['handOver'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/keys': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List keys: pending requests first, oldest first, with their age
     * @description Pending requests first, oldest first, 50 per page by default. Owners see only their own keys. `Link` has the next page, which skips no key even if one is decided in between. Needs a personal token.
     */
    get: operations['listKeys'];
    put?: never;
    /**
     * Request an API key for a profile; an admin decides
     * @description For owners, up to 5 times a day (UTC). `profile` may be omitted. The key is pending until an admin decides. Needs a personal token.
     */
    post: operations['requestKey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/keys/{identifier}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Show a key and its history
     * @description Owners see only their own keys, admins all. The history starts with the oldest entry. Needs a personal token.
     */
    get: operations['showKey'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * Rename a key; "keys change" changes permissions, rate limits and expiry
     * @description For owners, up to 5 times a day (UTC). Nothing else can be edited. Needs a personal token.
     */
    patch: operations['renameKey'];
    trace?: never;
  };
  '/manage/v1/keys/{identifier}/usage': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Show how many requests a key made each day, by outcome
     * @description Requests by outcome, for each of the last days (UTC), today last. Needs a personal token.
     */
    get: operations['getUsage'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/keys/{identifier}/withdraw': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Withdraw a pending request
     * @description For owners. Needs a personal token.
     */
    post: operations['withdrawKey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/keys/{identifier}/approve': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Find the page to approve a request
     * @description For admins. Always responds 403 `decision_needed` and changes nothing, whatever the body: an admin’s token is read-only. `address` is the page where an admin can approve a request with a passkey. Get the key to see what was decided. Needs a personal token.
     */
    post: operations['approveKey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/keys/{identifier}/reject': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Find the page to reject a request
     * @description For admins. Always responds 403 `decision_needed` and changes nothing, whatever the body: an admin’s token is read-only. `address` is the page where an admin can reject a request with a passkey. Get the key to see what was decided. Needs a personal token.
     */
    post: operations['rejectKey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/keys/{identifier}/change': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Find the page to change what an Active or suspended key may do
     * @description For admins. Always responds 403 `decision_needed` and changes nothing, whatever the body: an admin’s token is read-only. `address` is the page where an admin can change what an Active or suspended key may do with a passkey. Get the key to see what was decided. Needs a personal token.
     */
    post: operations['changeKey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/keys/{identifier}/suspend': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Find the page to suspend a key
     * @description For admins. Always responds 403 `decision_needed` and changes nothing, whatever the body: an admin’s token is read-only. `address` is the page where an admin can suspend a key with a passkey. Get the key to see what was decided. Needs a personal token.
     */
    post: operations['suspendKey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/keys/{identifier}/resume': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Find the page to resume a suspended key
     * @description For admins. Always responds 403 `decision_needed` and changes nothing, whatever the body: an admin’s token is read-only. `address` is the page where an admin can resume a suspended key with a passkey. Get the key to see what was decided. Needs a personal token.
     */
    post: operations['resumeKey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/keys/{identifier}/revoke': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Revoke an Active or suspended key at once; the owner is mailed the reason
     * @description For its owner, with or without a reason. Every request with its secret is refused from then on. An admin gets 403 `decision_needed`; `address` is the page where admins revoke the key with a passkey. Needs a personal token.
     */
    post: operations['revokeKey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/token': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Get a personal token for a code
     * @description RFC 6749, section 4.1.3, with RFC 7636. The code comes from `/developers/cli` and works once, within 5 minutes; without a `redirect_uri`, if a person types it, within 10 minutes and five tries. An owner’s token works for 90 days, or until it has not been used for 30; an admin’s for 12 hours. Using a code a second time revokes its token. Needs no bearer token.
     */
    post: operations['exchangeCode'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/manage/v1/revoke': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Revoke a personal token
     * @description RFC 7009. The response is the same if the token is unknown or no longer valid. A backend’s token can’t be revoked here. Needs no bearer token.
     */
    post: operations['revokeToken'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    Error: {
      /** @description One sentence for people. */
      error: string;
    };
    Key: {
      identifier: string;
      /** @description The current username of its profile; null once the profile is erased. */
      profile: string | null;
      name: string;
      description: string;
      projectUrl: string | null;
      expectedUsage: string | null;
      /** @enum {string} */
      state: 'pending' | 'Active' | 'suspended' | 'rejected' | 'withdrawn' | 'revoked' | 'expired';
      requestedPermissions: ('api.lookup' | 'api.leaderboard')[];
      /** @description The granted permissions; empty until the key is approved, like `rateLimits`. */
      permissions: ('api.lookup' | 'api.leaderboard')[];
      rateLimits: {
        quota: number;
        windowSeconds: number;
      }[];
      /** Format: date-time */
      requestedAt: string;
      decidedAt: string | null;
      expiresAt: string | null;
      /** @description `ban` for an Active or suspended key while its profile is banned: all its requests are refused, whatever its state. */
      refusedFor: 'ban' | null;
      /** @description The key that this one was requested to replace. */
      successorOf: string | null;
      /** @description For a pending key, when the e-mail address of its profile was last changed since the request. */
      addressChangedAt: string | null;
      /** @description The latest attempt to approve it. While `result` is `open`, the mail with the secret is being sent. */
      attempt: {
        number: number;
        by: string;
        /** Format: date-time */
        startedAt: string;
        /** @enum {string} */
        result: 'open' | 'accepted' | 'refused' | 'not confirmed' | 'voided';
      } | null;
    };
    KeyWithHistory: {
      identifier: string;
      /** @description The current username of its profile; null once the profile is erased. */
      profile: string | null;
      name: string;
      description: string;
      projectUrl: string | null;
      expectedUsage: string | null;
      /** @enum {string} */
      state: 'pending' | 'Active' | 'suspended' | 'rejected' | 'withdrawn' | 'revoked' | 'expired';
      requestedPermissions: ('api.lookup' | 'api.leaderboard')[];
      /** @description The granted permissions; empty until the key is approved, like `rateLimits`. */
      permissions: ('api.lookup' | 'api.leaderboard')[];
      rateLimits: {
        quota: number;
        windowSeconds: number;
      }[];
      /** Format: date-time */
      requestedAt: string;
      decidedAt: string | null;
      expiresAt: string | null;
      /** @description `ban` for an Active or suspended key while its profile is banned: all its requests are refused, whatever its state. */
      refusedFor: 'ban' | null;
      /** @description The key that this one was requested to replace. */
      successorOf: string | null;
      /** @description For a pending key, when the e-mail address of its profile was last changed since the request. */
      addressChangedAt: string | null;
      /** @description The latest attempt to approve it. While `result` is `open`, the mail with the secret is being sent. */
      attempt: {
        number: number;
        by: string;
        /** Format: date-time */
        startedAt: string;
        /** @enum {string} */
        result: 'open' | 'accepted' | 'refused' | 'not confirmed' | 'voided';
      } | null;
      history: {
        /** Format: date-time */
        at: string;
        by: string;
        /** @enum {string} */
        event:
          | 'requested'
          | 'approval started'
          | 'approval refused'
          | 'approval not confirmed'
          | 'approved'
          | 'rejected'
          | 'withdrawn'
          | 'suspended'
          | 'resumed'
          | 'revoked'
          | 'expired'
          | 'edited'
          | 'changed'
          | 'address changed'
          | 'profile banned'
          | 'profile unbanned'
          | 'erased'
          | 'mail not delivered';
        from: ('pending' | 'Active' | 'suspended' | 'rejected' | 'withdrawn' | 'revoked' | 'expired') | null;
        /** @enum {string} */
        to: 'pending' | 'Active' | 'suspended' | 'rejected' | 'withdrawn' | 'revoked' | 'expired';
        detail: {
          reason?: string;
          nameBefore?: string;
          nameAfter?: string;
          attempt?: number;
          /** @constant */
          isTemporary?: true;
          changes?: {
            permissions?: {
              from: ('api.lookup' | 'api.leaderboard')[];
              to: ('api.lookup' | 'api.leaderboard')[];
            };
            rateLimits?: {
              from: {
                quota: number;
                windowSeconds: number;
              }[];
              to: {
                quota: number;
                windowSeconds: number;
              }[];
            };
            expiresAt?: {
              from: string | null;
              to: string | null;
            };
          };
          successorOf?: string;
          /** Format: date-time */
          retiresOldAt?: string;
          successor?: string;
          /** @enum {string} */
          mail?:
            | 'request'
            | 'rejection'
            | 'suspension'
            | 'resumption'
            | 'revocation'
            | 'change'
            | 'reminder'
            | 'submission'
            | 'renaming'
            | 'exposure'
            | 'new-sign-in'
            | 'address'
            | 'ban'
            | 'enrolment';
          to?: string;
        } | null;
      }[];
    };
    OAuthError: {
      /** @enum {string} */
      error:
        | 'invalid_request'
        | 'invalid_client'
        | 'invalid_grant'
        | 'unsupported_grant_type'
        | 'unsupported_token_type';
      error_description: string;
    };
  };
  responses: {
    /** @description The request names no host; or a parameter is malformed, out of range, unknown or repeated; the sentence names it. */
    'bad_request-or-bad_parameter': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'bad_request' | 'bad_parameter';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no key or token, or Authorization is malformed or has another scheme; or the key or token is unknown, mistyped or not valid now; the sentence is the same for every reason. */
    'no_credentials-or-invalid_token': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'no_credentials' | 'invalid_token';
        /** @description What is wrong with the key or token (RFC 6750). */
        'WWW-Authenticate': string;
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The request used plain HTTP, which is not allowed here. */
    plain_http: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'plain_http';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description More than 30 requests without a valid key or token came from one IP address within a minute. */
    too_many_failures: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'too_many_failures';
        /**
         * @description Seconds to wait before sending the same request again.
         * @example 42
         */
        'Retry-After': number;
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The server failed; its log has the cause under the request id. */
    internal: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'internal';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The database is locked for a moment, or this key has too many unread response bytes; or the database is not open or not migrated, or the server accepts no profiles; or too many requests are in progress. */
    'busy-or-not_ready-or-too_many_pages': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'busy' | 'not_ready' | 'too_many_pages';
        /**
         * @description Seconds to wait before sending the same request again.
         * @example 1
         */
        'Retry-After': number;
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The request used plain HTTP, which is not allowed here; or the holder of this token may not do this; the sentence says why; or the key lacks the permission, or the token the right; the sentence names it. */
    'plain_http-or-forbidden-or-insufficient_scope': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'plain_http' | 'forbidden' | 'insufficient_scope';
        /** @description What is wrong with the key or token (RFC 6750). */
        'WWW-Authenticate'?: string;
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description Less than 1 KiB/s of the body arrived over 20 s; with `partial=1` complete batches were imported, otherwise nothing. */
    lines_cut_off: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'lines_cut_off';
        /** @description `close`: the rest of the body is not read. */
        Connection: 'close';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The body has more lines or bytes than a request may have; the sentence names the limit. */
    too_many_lines: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'too_many_lines';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The body is not application/jsonl, or it is compressed. */
    not_lines: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_lines';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description Lines were refused; without `partial=1` nothing was imported. */
    lines_refused: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'lines_refused';
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          error: string;
          /** @description The number of lines that added or changed a profile. */
          imported?: number;
          /** @description The number of profiles that were erased. */
          deleted?: number;
          /** @description The number of lines to erase a profile that did not exist. */
          notThere?: number;
          /** @description The number of profiles that lost their e-mail address, because their line replaced them and has no `email`. */
          unaddressed?: number;
          /** @description With `as-of`: the number of lines that were skipped, because their profile was written or erased here since then. */
          newer?: number;
          /** @description The UIDs of the first ten skipped lines. */
          newerIds?: number[];
          refused?: {
            line: number;
            id: number | null;
            field: string | null;
            reason: string;
          }[];
          /** @description How many times each unknown field was dropped; `links` counts links with an unsafe scheme. */
          dropped?: {
            [key: string]: number;
          };
        };
      };
    };
    /** @description More than 30 requests without a valid key or token came from one IP address within a minute; or another import is already running. */
    'too_many_failures-or-feed_running': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'too_many_failures' | 'feed_running';
        /**
         * @description Seconds to wait before sending the same request again.
         * @example 42
         */
        'Retry-After': number;
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The request names no host; or a parameter is malformed, out of range, unknown or repeated; the sentence names it; or the body is not the JSON object that this path accepts. */
    'bad_request-or-bad_parameter-or-bad_body': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'bad_request' | 'bad_parameter' | 'bad_body';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The request used plain HTTP, which is not allowed here; or the holder of this token may not do this; the sentence says why; or the key lacks the permission, or the token the right; the sentence names it. */
    'plain_http-or-forbidden-or-insufficient_scope.handOver': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'plain_http' | 'forbidden' | 'insufficient_scope';
        /** @description What is wrong with the key or token (RFC 6750). */
        'WWW-Authenticate'?: string;
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    not_found: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The body is longer than 64 KiB. */
    body_too_long: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'body_too_long';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The body is not application/json. */
    not_json: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_json';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The request used plain HTTP, which is not allowed here; or the holder of this token may not do this; the sentence says why. */
    'plain_http-or-forbidden': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'plain_http' | 'forbidden';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.requestKey': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description A rule does not currently allow it; the sentence says which. */
    not_possible: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_possible';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description More than 30 requests without a valid key or token came from one IP address within a minute; or the owner has reached a daily limit. */
    'too_many_failures-or-too_many_requests': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'too_many_failures' | 'too_many_requests';
        /**
         * @description Seconds to wait before sending the same request again.
         * @example 42
         */
        'Retry-After': number;
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.listKeys': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.showKey': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.renameKey': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description A rule does not currently allow it; the sentence says which; or the key has changed since the version in If-Match; the sentence says what. */
    'not_possible-or-changed_since': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_possible' | 'changed_since';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.getUsage': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.withdrawKey': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The request used plain HTTP, which is not allowed here; or an admin’s token is read-only; admins decide on the page of the key, at the `address` in the body; or the holder of this token may not do this; the sentence says why. */
    'plain_http-or-decision_needed-or-forbidden': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'plain_http' | 'decision_needed' | 'forbidden';
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          error: string;
          /**
           * Format: uri
           * @description The URL of the page on which admins decide on the key; only with the code `decision_needed`.
           */
          address?: string;
        };
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.approveKey': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.rejectKey': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.changeKey': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.suspendKey': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.resumeKey': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such profile, or no such key that you may see. */
    'not_found.revokeKey': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'not_found';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The request names no host; or a parameter is missing, malformed or repeated, or the body is not a form; or the code is unknown, used or expired, or the verifier, the redirect_uri or the person does not match; or grant_type is not authorization_code. */
    'bad_request-or-invalid_request-or-invalid_grant-or-unsupported_grant_type': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'bad_request' | 'invalid_request' | 'invalid_grant' | 'unsupported_grant_type';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'] | components['schemas']['OAuthError'];
      };
    };
    /** @description The client_id is missing or wrong, or the client sent a secret. */
    invalid_client: {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'invalid_client';
        /** @description What is wrong with the key or token (RFC 6750). */
        'WWW-Authenticate': string;
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['OAuthError'];
      };
    };
    /** @description The request names no host; or a parameter is missing, malformed or repeated, or the body is not a form; or the token belongs to a backend. */
    'bad_request-or-invalid_request-or-unsupported_token_type': {
      headers: {
        'X-Request-Id': components['headers']['X-Request-Id'];
        Date: components['headers']['Date'];
        'Content-Length': components['headers']['Content-Length'];
        'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
        'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
        'Cache-Control': components['headers']['No-Cache-Control'];
        /** @description The code of the refusal, for programs; the sentence in the body is for people, and may change. */
        'X-Error-Code': 'bad_request' | 'invalid_request' | 'unsupported_token_type';
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'] | components['schemas']['OAuthError'];
      };
    };
  };
  parameters: never;
  requestBodies: never;
  headers: {
    /**
     * @description The id of the request in the server’s log; quote it when you report a problem.
     * @example x7Rk2mQ9bTzA-1f
     */
    'X-Request-Id': string;
    /**
     * @description When the response was sent.
     * @example Thu, 01 Jan 2026 00:00:00 GMT
     */
    Date: string;
    /** @description The length of the body in bytes. */
    'Content-Length': number;
    /** @description Browsers must not guess a type other than Content-Type. */
    'X-Content-Type-Options': 'nosniff';
    /** @description Only if the server itself speaks TLS. */
    'Strict-Transport-Security': 'max-age=63072000';
    /** @description The response must not be stored. */
    'No-Cache-Control': 'no-store';
  };
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  getMe: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          [name: string]: unknown;
        };
        content: {
          'application/json':
            | {
                /** @constant */
                kind: 'platform';
                name: string;
                token: string;
                rights: ('profiles' | 'sign-ins')[];
                withoutAddress: boolean;
                eraseLimit: number;
              }
            | {
                /** @constant */
                kind: 'owner';
                /** @description The current username of the profile. */
                name: string;
                token: string;
                /**
                 * Format: date-time
                 * @description When the token expires at the latest, even if it is used.
                 */
                endsAt: string;
                profile: string;
              }
            | {
                /** @constant */
                kind: 'admin';
                name: string;
                token: string;
                /**
                 * Format: date-time
                 * @description When the token expires at the latest, even if it is used.
                 */
                endsAt: string;
              };
        };
      };
      400: components['responses']['bad_request-or-bad_parameter'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  putProfiles: {
    parameters: {
      query?: {
        /** @description Whether a line replaces the profile, or changes only the fields in the line. */
        mode?: 'replace' | 'merge';
        /** @description Skip bad lines and import the rest. */
        partial?: '1';
        /** @description When the backend read the lines: lines of profiles that were written or erased here since then are skipped, and counted as `newer`. Not in the future, and at most 40 days ago. */
        'as-of'?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/jsonl': string;
      };
    };
    responses: {
      /** @description Success. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @description The number of lines that added or changed a profile. */
            imported: number;
            /** @description The number of profiles that were erased. */
            deleted: number;
            /** @description The number of lines to erase a profile that did not exist. */
            notThere: number;
            /** @description The number of profiles that lost their e-mail address, because their line replaced them and has no `email`. */
            unaddressed: number;
            /** @description With `as-of`: the number of lines that were skipped, because their profile was written or erased here since then. */
            newer: number;
            /** @description The UIDs of the first ten skipped lines. */
            newerIds: number[];
            refused: {
              line: number;
              id: number | null;
              field: string | null;
              reason: string;
            }[];
            /** @description How many times each unknown field was dropped; `links` counts links with an unsafe scheme. */
            dropped: {
              [key: string]: number;
            };
          };
        };
      };
      400: components['responses']['bad_request-or-bad_parameter'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-forbidden-or-insufficient_scope'];
      408: components['responses']['lines_cut_off'];
      413: components['responses']['too_many_lines'];
      415: components['responses']['not_lines'];
      422: components['responses']['lines_refused'];
      429: components['responses']['too_many_failures-or-feed_running'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  handOver: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json':
          | {
              uid: number;
            }
          | {
              authId: string;
            };
      };
    };
    responses: {
      /** @description Success. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** Format: uri */
            address: string;
            /** Format: date-time */
            expiresAt: string;
          };
        };
      };
      400: components['responses']['bad_request-or-bad_parameter-or-bad_body'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-forbidden-or-insufficient_scope.handOver'];
      404: components['responses']['not_found'];
      413: components['responses']['body_too_long'];
      415: components['responses']['not_json'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  listKeys: {
    parameters: {
      query?: {
        /** @description Only keys in these states: pending, Active, suspended, rejected, withdrawn, revoked, expired. */
        state?: ('pending' | 'Active' | 'suspended' | 'rejected' | 'withdrawn' | 'revoked' | 'expired')[];
        /** @description Only keys of the profile with this username or alias. */
        profile?: string;
        /** @description At most this many keys; default: 50. */
        limit?: number;
        /** @description The identifier of a key: only keys after it in the current list. `Link` has a cursor instead, which skips no key even if one is decided in between. */
        after?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          /** @description The next page, with `rel="next"` (RFC 8288); absent on the last page. */
          Link?: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            keys: components['schemas']['Key'][];
            /** @description When each of these keys was last used, by identifier; keys that were never used are absent. */
            lastUses: {
              [key: string]: string;
            };
            /** @description The value of `after` for the next page; null on the last page. */
            next: string | null;
          };
        };
      };
      400: components['responses']['bad_request-or-bad_parameter'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-forbidden'];
      404: components['responses']['not_found.listKeys'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  requestKey: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          profile?: string;
          name: string;
          description: string;
          permissions: ('api.lookup' | 'api.leaderboard')[];
          projectUrl?: string | null;
          expectedUsage?: string | null;
          successorOf?: string | null;
        };
      };
    };
    responses: {
      /** @description Created. */
      201: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          /** @description The URL of the key. */
          Location: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Key'];
        };
      };
      400: components['responses']['bad_request-or-bad_parameter-or-bad_body'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-forbidden'];
      404: components['responses']['not_found.requestKey'];
      409: components['responses']['not_possible'];
      413: components['responses']['body_too_long'];
      415: components['responses']['not_json'];
      429: components['responses']['too_many_failures-or-too_many_requests'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  showKey: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The 8 characters that name the key. */
        identifier: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          /** @description The version of the key, for `If-Match`. It changes with everything that a person’s decision depends on. */
          ETag: string;
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['KeyWithHistory'];
        };
      };
      400: components['responses']['bad_request-or-bad_parameter'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-forbidden'];
      404: components['responses']['not_found.showKey'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  renameKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The `ETag` of the key that the person was shown. If the key has changed since, nothing is done, and the response is a 409 `changed_since` that says what has changed. */
        'If-Match'?: string;
      };
      path: {
        /** @description The 8 characters that name the key. */
        identifier: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          name: string;
        };
      };
    };
    responses: {
      /** @description Success. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Key'];
        };
      };
      400: components['responses']['bad_request-or-bad_parameter-or-bad_body'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-forbidden'];
      404: components['responses']['not_found.renameKey'];
      409: components['responses']['not_possible-or-changed_since'];
      413: components['responses']['body_too_long'];
      415: components['responses']['not_json'];
      429: components['responses']['too_many_failures-or-too_many_requests'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  getUsage: {
    parameters: {
      query?: {
        /** @description The number of days (UTC) up to today, 1 to 400; default: 30. */
        days?: number;
      };
      header?: never;
      path: {
        /** @description The 8 characters that name the key. */
        identifier: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            identifier: string;
            days: {
              /** Format: date */
              day: string;
              ok: number;
              notFound: number;
              forbidden: number;
              malformed: number;
              limited: number;
              failed: number;
            }[];
            lastUsedAt: string | null;
          };
        };
      };
      400: components['responses']['bad_request-or-bad_parameter'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-forbidden'];
      404: components['responses']['not_found.getUsage'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  withdrawKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The `ETag` of the key that the person was shown. If the key has changed since, nothing is done, and the response is a 409 `changed_since` that says what has changed. */
        'If-Match'?: string;
      };
      path: {
        /** @description The 8 characters that name the key. */
        identifier: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Success. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Key'];
        };
      };
      400: components['responses']['bad_request-or-bad_parameter'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-forbidden'];
      404: components['responses']['not_found.withdrawKey'];
      409: components['responses']['not_possible-or-changed_since'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  approveKey: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The 8 characters that name the key. */
        identifier: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['bad_request-or-bad_parameter'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-decision_needed-or-forbidden'];
      404: components['responses']['not_found.approveKey'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  rejectKey: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The 8 characters that name the key. */
        identifier: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['bad_request-or-bad_parameter'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-decision_needed-or-forbidden'];
      404: components['responses']['not_found.rejectKey'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  changeKey: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The 8 characters that name the key. */
        identifier: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['bad_request-or-bad_parameter'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-decision_needed-or-forbidden'];
      404: components['responses']['not_found.changeKey'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  suspendKey: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The 8 characters that name the key. */
        identifier: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['bad_request-or-bad_parameter'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-decision_needed-or-forbidden'];
      404: components['responses']['not_found.suspendKey'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  resumeKey: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /** @description The 8 characters that name the key. */
        identifier: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['bad_request-or-bad_parameter'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-decision_needed-or-forbidden'];
      404: components['responses']['not_found.resumeKey'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  revokeKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description The `ETag` of the key that the person was shown. If the key has changed since, nothing is done, and the response is a 409 `changed_since` that says what has changed. */
        'If-Match'?: string;
      };
      path: {
        /** @description The 8 characters that name the key. */
        identifier: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          reason?: string | null;
        };
      };
    };
    responses: {
      /** @description Success. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Key'];
        };
      };
      400: components['responses']['bad_request-or-bad_parameter-or-bad_body'];
      401: components['responses']['no_credentials-or-invalid_token'];
      403: components['responses']['plain_http-or-decision_needed-or-forbidden'];
      404: components['responses']['not_found.revokeKey'];
      409: components['responses']['not_possible-or-changed_since'];
      413: components['responses']['body_too_long'];
      415: components['responses']['not_json'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  exchangeCode: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/x-www-form-urlencoded': {
          /** @constant */
          grant_type: 'authorization_code';
          /** @constant */
          client_id: 'profilectl';
          code: string;
          code_verifier: string;
          /** @description The one that was sent to `/developers/cli`, if any. */
          redirect_uri?: string;
        };
      };
    };
    responses: {
      /** @description Success. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          /** @description Forbids caching, for HTTP/1.0. */
          Pragma: 'no-cache';
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            access_token: string;
            /** @constant */
            token_type: 'Bearer';
            /** @description The number of seconds until the token expires at the latest. */
            expires_in: number;
          };
        };
      };
      400: components['responses']['bad_request-or-invalid_request-or-invalid_grant-or-unsupported_grant_type'];
      401: components['responses']['invalid_client'];
      403: components['responses']['plain_http'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
  revokeToken: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/x-www-form-urlencoded': {
          token: string;
          /** @constant */
          client_id: 'profilectl';
          token_type_hint?: string;
        };
      };
    };
    responses: {
      /** @description Success. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['X-Request-Id'];
          Date: components['headers']['Date'];
          'Content-Length': components['headers']['Content-Length'];
          'X-Content-Type-Options': components['headers']['X-Content-Type-Options'];
          'Strict-Transport-Security': components['headers']['Strict-Transport-Security'];
          'Cache-Control': components['headers']['No-Cache-Control'];
          [name: string]: unknown;
        };
        content: {
          'application/json': Record<string, never>;
        };
      };
      400: components['responses']['bad_request-or-invalid_request-or-unsupported_token_type'];
      401: components['responses']['invalid_client'];
      403: components['responses']['plain_http'];
      429: components['responses']['too_many_failures'];
      500: components['responses']['internal'];
      503: components['responses']['busy-or-not_ready-or-too_many_pages'];
    };
  };
}
