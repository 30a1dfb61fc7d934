// Made by test/support/client-types.ts; not to be edited.

export interface paths {
    "/api/lookup/username/{username}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look up a profile by username or alias
         * @description The public profile that has this username or alias. Where it is an alias, `Content-Location` names the path of the primary username. Needs the permission `api.lookup`.
         */
        get: operations["getProfileByUsername"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/lookup/username/{username}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a profile’s links by username or alias
         * @description The public links of the profile that has this username or alias, in the owner’s order. Needs the permission `api.lookup`.
         */
        get: operations["getLinksByUsername"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/lookup/uid/{uid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look up a profile by UID
         * @description The public profile with this id. Needs the permission `api.lookup`.
         */
        get: operations["getProfileByUid"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/lookup/uid/{uid}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a profile’s links by UID
         * @description The public links of the profile with this id, in the owner’s order. Needs the permission `api.lookup`.
         */
        get: operations["getLinksByUid"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/lookup/authid/{authId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look up a profile by auth ID
         * @description The public profile that signs in with this auth ID. The ID is private: it is in no answer but as the echo of what was asked. Needs the permission `api.lookup`.
         */
        get: operations["getProfileByAuthId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/lookup/authid/{authId}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a profile’s links by auth ID
         * @description The public links of the profile that signs in with this auth ID, in the owner’s order. Needs the permission `api.lookup`.
         */
        get: operations["getLinksByAuthId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/lookup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look up many profiles at once
         * @description Up to 100 profiles in one request, by any mix of usernames, aliases, UIDs and auth IDs. What is found is in `profiles`, what is not in `missing`, both in the order asked and with the query that led there; the same query is answered once. It costs as many requests as it has distinct queries. The first is spent like that of any request, the others all or none: where the key’s limits have no room for them now, waiting as `Retry-After` says is enough; where a limit could never admit so many at once, the request is malformed. Needs the permission `api.lookup`.
         */
        get: operations["getProfiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/leaderboard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a page of the leaderboard
         * @description The top 10 000 profiles by views, then by UID, without banned ones. `Link` leads to the neighbouring pages; beyond its end the board is empty. Needs the permission `api.leaderboard`.
         */
        get: operations["getLeaderboard"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ask what the key may do
         * @description The permissions of the key that asks, and what is left of its rate limits. Spends nothing. Needs a key, whatever its permissions.
         */
        get: operations["getKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ask whether the process is up
         * @description Answers as long as the process does. Needs no key.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ask whether the server can answer
         * @description Answers well while the database is open and migrated. Needs no key.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how the server does
         * @description Figures in Prometheus’ text form, for the operator: requests, refusals, latencies, keys, mails and sizes. While METRICS_TOKEN is unset there is nothing here. Needs a token of its own, which no API key is.
         */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/security.txt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read whom to tell of a vulnerability
         * @description Where the operator has named a contact (RFC 9116). Needs no key.
         */
        get: operations["getSecurityContact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read this document
         * @description OpenAPI 3.1: everything that this server answers, for programs. Needs no key.
         */
        get: operations["getOpenApi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read this document as a page
         * @description The same for people: one page that loads nothing from anywhere else. Needs no key.
         */
        get: operations["getDocs"];
        put?: never;
        post?: never;
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
        SimplifiedProfile: {
            /** @description The UID of the profile. */
            id: number;
            /** @description The primary username, in its owner’s spelling. */
            username: string;
            displayName: string;
            badges: components["schemas"]["Badge"][];
            /** @description Names of assets and their addresses, or null. */
            assets: {
                [key: string]: string | null;
            };
            /** @description How the owner has set up the page; any fields. */
            customize: {
                [key: string]: unknown;
            };
            discordID: string | null;
            /** @description What is public of the Discord account; any fields. */
            discordClean: {
                [key: string]: unknown;
            };
            /** @description Whether the profile is banned. Banned profiles are not on the leaderboard. */
            banned: boolean;
            viewsCount: number;
            /** @description Null exactly where the profile hides the number. */
            followersCount: number | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, with milliseconds.
             */
            createdAt: string;
        };
        Badge: {
            name: string;
            enabled: boolean;
        };
        Links: {
            /** @description In the owner’s order; empty where there are none. */
            links: components["schemas"]["Link"][];
        };
        Link: {
            /** @description Unique among the links of the profile. */
            id: string;
            name: string;
            /** @description Where it leads. */
            link: string;
            title?: string;
            image?: string;
            clicksCount?: number;
            linkMode?: string;
        };
        FoundProfiles: {
            /** @description What was found, in the order asked. */
            profiles: components["schemas"]["FoundProfile"][];
            /** @description What was asked for and is not there, in the order asked. */
            missing: components["schemas"]["Query"][];
        };
        FoundProfile: {
            query: components["schemas"]["Query"];
            profile: components["schemas"]["SimplifiedProfile"];
        };
        Query: {
            username: string;
        } | {
            uid: number;
        } | {
            authid: string;
        };
        LeaderboardPage: {
            /** @description By views, then by UID. */
            leaderboard: components["schemas"]["LeaderboardEntry"][];
            /** @description As asked. */
            limit: number;
            /** @description As asked. */
            offset: number;
            /** @description How many profiles the board has: at most 10000. */
            total: number;
        };
        LeaderboardEntry: {
            /** @description Competition rank over the whole board: equal counts of views share one (1, 2, 2, 4). */
            rank: number;
            /** @description The UID of the profile. */
            id: number;
            /** @description The primary username, in its owner’s spelling. */
            username: string;
            displayName: string;
            badges: components["schemas"]["Badge"][];
            /** @description Names of assets and their addresses, or null. */
            assets: {
                [key: string]: string | null;
            };
            /** @description How the owner has set up the page; any fields. */
            customize: {
                [key: string]: unknown;
            };
            discordID: string | null;
            /** @description What is public of the Discord account; any fields. */
            discordClean: {
                [key: string]: unknown;
            };
            /** @description Whether the profile is banned. Banned profiles are not on the leaderboard. */
            banned: boolean;
            viewsCount: number;
            /** @description Null exactly where the profile hides the number. */
            followersCount: number | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC, with milliseconds.
             */
            createdAt: string;
        };
        OwnKey: {
            /** @description Refers to the key; it is not the secret. */
            identifier: string;
            name: string;
            permissions: ("api.lookup" | "api.leaderboard")[];
            rateLimits: components["schemas"]["RateLimitLevel"][];
            /** @description When the key stops working; null where it never does. */
            expiresAt: string | null;
        };
        RateLimitLevel: {
            /** @description Requests in any window. */
            quota: number;
            windowSeconds: number;
            /** @description Requests that would be admitted now. */
            remaining: number;
            /** @description Seconds within which no more than what remains can be used. */
            resetSeconds: number;
        };
        Health: {
            /** @constant */
            status: "ok";
        };
        Error: {
            /** @description One sentence for a person. */
            error: string;
        };
    };
    responses: {
        /** @description A parameter is malformed, out of range, unknown or repeated; the sentence names it; or the request names no host. */
        "bad_parameter-or-bad_request": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description There is no key, or Authorization is malformed or of another scheme; or the key is unknown, mistyped, not approved, withdrawn, revoked or expired: one sentence for all of these. */
        "no_credentials-or-invalid_token": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                /** @description What is wrong with the key (RFC 6750). */
                "WWW-Authenticate": "Bearer realm=\"profile-lookup\"" | "Bearer realm=\"profile-lookup\", error=\"invalid_token\"";
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The request came by plain HTTP where that is not allowed; or the key lacks the permission; the sentence names it. */
        "plain_http-or-insufficient_scope": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                /** @description What is wrong with the key (RFC 6750). */
                "WWW-Authenticate"?: "Bearer realm=\"profile-lookup\", error=\"insufficient_scope\", scope=\"api.lookup\"";
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description There is no such profile. */
        not_found: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The path has more than 8 KiB. */
        uri_too_long: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The 31st request without a valid key from one address within a minute; or a rate limit of the key has no room; waiting for Retry-After is enough. */
        "too_many_failures-or-rate_limited": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                /**
                 * @description Seconds after which the same request has room, or is worth trying again.
                 * @example 42
                 */
                "Retry-After": number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A fault of the server; its log has the cause under the request id. */
        internal: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The database is locked for a moment. */
        busy: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                /**
                 * @description Seconds after which the same request has room, or is worth trying again.
                 * @example 1
                 */
                "Retry-After": number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A parameter is malformed, out of range, unknown or repeated; the sentence names it; or the request names no host. */
        "bad_parameter-or-bad_request.getProfileByUid": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A parameter is malformed, out of range, unknown or repeated; the sentence names it; or the request names no host. */
        "bad_parameter-or-bad_request.getLinksByUid": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A parameter is malformed, out of range, unknown or repeated; the sentence names it; or the request names no host. */
        "bad_parameter-or-bad_request.getProfileByAuthId": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A parameter is malformed, out of range, unknown or repeated; the sentence names it; or the request names no host. */
        "bad_parameter-or-bad_request.getLinksByAuthId": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A parameter is malformed, out of range, unknown or repeated; the sentence names it; or the request names no host. */
        "bad_parameter-or-bad_request.getProfiles": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A parameter is malformed, out of range, unknown or repeated; the sentence names it; or the request names no host. */
        "bad_parameter-or-bad_request.getLeaderboard": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The request came by plain HTTP where that is not allowed; or the key lacks the permission; the sentence names it. */
        "plain_http-or-insufficient_scope.getLeaderboard": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                /** @description What is wrong with the key (RFC 6750). */
                "WWW-Authenticate"?: "Bearer realm=\"profile-lookup\", error=\"insufficient_scope\", scope=\"api.leaderboard\"";
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A parameter is malformed, out of range, unknown or repeated; the sentence names it; or the request names no host. */
        "bad_parameter-or-bad_request.getKey": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                "RateLimit-Policy": components["headers"]["Optional-RateLimit-Policy"];
                RateLimit: components["headers"]["Optional-RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The request came by plain HTTP where that is not allowed. */
        plain_http: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The 31st request without a valid key from one address within a minute. */
        too_many_failures: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                /**
                 * @description Seconds after which the same request has room, or is worth trying again.
                 * @example 42
                 */
                "Retry-After": number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The request names no host. */
        bad_request: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The database is not open or not migrated. */
        not_ready: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                /**
                 * @description Seconds after which the same request has room, or is worth trying again.
                 * @example 1
                 */
                "Retry-After": number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description There is no key, or Authorization is malformed or of another scheme; or the key is unknown, mistyped, not approved, withdrawn, revoked or expired: one sentence for all of these. */
        "no_credentials-or-invalid_token.getMetrics": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                /** @description What is wrong with the key (RFC 6750). */
                "WWW-Authenticate": "Bearer realm=\"profile-lookup\"" | "Bearer realm=\"profile-lookup\", error=\"invalid_token\"";
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description There is nothing at this path. */
        unknown_path: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A fault of the server; its log has the cause under the request id. */
        "internal.getMetrics": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The database is locked for a moment. */
        "busy.getMetrics": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                Date: components["headers"]["Date"];
                "Content-Length": components["headers"]["Content-Length"];
                "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                "Cache-Control": components["headers"]["No-Cache-Control"];
                /**
                 * @description Seconds after which the same request has room, or is worth trying again.
                 * @example 1
                 */
                "Retry-After": number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /**
         * @description The name of this request in the server’s log; quote it when something went wrong.
         * @example x7Rk2mQ9bTzA-1f
         */
        "X-Request-Id": string;
        /**
         * @description When the answer was made.
         * @example Thu, 01 Jan 2026 00:00:00 GMT
         */
        Date: string;
        /** @description The length of the body in bytes. */
        "Content-Length": number;
        /** @description The type of the body is what Content-Type says. */
        "X-Content-Type-Options": "nosniff";
        /** @description Only where the server itself speaks TLS. */
        "Strict-Transport-Security": "max-age=63072000";
        /**
         * @description A strong validator: a function of the body alone, whichever key asks. Send it back as If-None-Match.
         * @example "vC0Jy2Lcu7yH4Y1PVrx0hG"
         */
        ETag: string;
        /** @description Keep it for yourself, and ask each time whether it has changed. */
        "Private-Cache-Control": "private, no-cache";
        /** @description Anybody may keep it for five minutes. */
        "Public-Cache-Control": "public, max-age=300";
        /** @description Keep nothing. */
        "No-Cache-Control": "no-store";
        /** @description The answer depends on the key that asks. */
        Vary: "Authorization";
        /**
         * @description The rate limits of the key: `q` requests in any `w` seconds.
         * @example "1m";q=60;w=60, "1d";q=5000;w=86400
         */
        "RateLimit-Policy": string;
        /**
         * @description Where the key stands after this request: `r` requests are left, and `t` is the number of seconds within which no more than these can be used. Of a refused request only the limits that have no room for it.
         * @example "1m";r=59;t=60, "1d";r=4999;t=86400
         */
        RateLimit: string;
        /**
         * @description The rate limits of the key: `q` requests in any `w` seconds.
         * @example "1m";q=60;w=60, "1d";q=5000;w=86400
         */
        "Optional-RateLimit-Policy": string;
        /**
         * @description Where the key stands after this request: `r` requests are left, and `t` is the number of seconds within which no more than these can be used. Of a refused request only the limits that have no room for it.
         * @example "1m";r=59;t=60, "1d";r=4999;t=86400
         */
        "Optional-RateLimit": string;
        /**
         * @description Where the name that was asked for is an alias: the path of the primary username.
         * @example /api/lookup/username/Ada
         */
        "Content-Location": string;
        /** @description The page runs only its own style and script, and loads nothing. */
        "Content-Security-Policy": string;
        /** @description The page tells nobody that it was visited. */
        "Referrer-Policy": "no-referrer";
        /**
         * @description The pages before and after this one, where there are such (RFC 8288).
         * @example <http://127.0.0.1:3000/api/leaderboard?limit=10&offset=20>; rel="next", <http://127.0.0.1:3000/api/leaderboard?limit=10&offset=0>; rel="prev"
         */
        Link: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getProfileByUsername: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The username or an alias, percent-encoded. Compared in folded form: Unicode NFKC and lower case. A name that could not exist is nobody’s.
                 * @example Ada
                 */
                username: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Content-Location": components["headers"]["Content-Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SimplifiedProfile"];
                };
            };
            /** @description The client has this answer already. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Content-Location": components["headers"]["Content-Location"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["bad_parameter-or-bad_request"];
            401: components["responses"]["no_credentials-or-invalid_token"];
            403: components["responses"]["plain_http-or-insufficient_scope"];
            404: components["responses"]["not_found"];
            414: components["responses"]["uri_too_long"];
            429: components["responses"]["too_many_failures-or-rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["busy"];
        };
    };
    getLinksByUsername: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The username or an alias, percent-encoded. Compared in folded form: Unicode NFKC and lower case. A name that could not exist is nobody’s.
                 * @example Ada
                 */
                username: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Content-Location": components["headers"]["Content-Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Links"];
                };
            };
            /** @description The client has this answer already. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Content-Location": components["headers"]["Content-Location"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["bad_parameter-or-bad_request"];
            401: components["responses"]["no_credentials-or-invalid_token"];
            403: components["responses"]["plain_http-or-insufficient_scope"];
            404: components["responses"]["not_found"];
            414: components["responses"]["uri_too_long"];
            429: components["responses"]["too_many_failures-or-rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["busy"];
        };
    };
    getProfileByUid: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The id of the profile, in decimal without leading zeros.
                 * @example 7
                 */
                uid: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SimplifiedProfile"];
                };
            };
            /** @description The client has this answer already. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["bad_parameter-or-bad_request.getProfileByUid"];
            401: components["responses"]["no_credentials-or-invalid_token"];
            403: components["responses"]["plain_http-or-insufficient_scope"];
            404: components["responses"]["not_found"];
            414: components["responses"]["uri_too_long"];
            429: components["responses"]["too_many_failures-or-rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["busy"];
        };
    };
    getLinksByUid: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The id of the profile, in decimal without leading zeros.
                 * @example 7
                 */
                uid: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Links"];
                };
            };
            /** @description The client has this answer already. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["bad_parameter-or-bad_request.getLinksByUid"];
            401: components["responses"]["no_credentials-or-invalid_token"];
            403: components["responses"]["plain_http-or-insufficient_scope"];
            404: components["responses"]["not_found"];
            414: components["responses"]["uri_too_long"];
            429: components["responses"]["too_many_failures-or-rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["busy"];
        };
    };
    getProfileByAuthId: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The auth ID, 1 to 255 bytes, percent-encoded (`/` as `%2F`) and matched exactly. One that could not exist is nobody’s.
                 * @example auth0|ada
                 */
                authId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SimplifiedProfile"];
                };
            };
            /** @description The client has this answer already. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["bad_parameter-or-bad_request.getProfileByAuthId"];
            401: components["responses"]["no_credentials-or-invalid_token"];
            403: components["responses"]["plain_http-or-insufficient_scope"];
            404: components["responses"]["not_found"];
            414: components["responses"]["uri_too_long"];
            429: components["responses"]["too_many_failures-or-rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["busy"];
        };
    };
    getLinksByAuthId: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The auth ID, 1 to 255 bytes, percent-encoded (`/` as `%2F`) and matched exactly. One that could not exist is nobody’s.
                 * @example auth0|ada
                 */
                authId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Links"];
                };
            };
            /** @description The client has this answer already. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["bad_parameter-or-bad_request.getLinksByAuthId"];
            401: components["responses"]["no_credentials-or-invalid_token"];
            403: components["responses"]["plain_http-or-insufficient_scope"];
            404: components["responses"]["not_found"];
            414: components["responses"]["uri_too_long"];
            429: components["responses"]["too_many_failures-or-rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["busy"];
        };
    };
    getProfiles: {
        parameters: {
            query?: {
                /**
                 * @description A username or an alias. May be repeated; all three together 1 to 100 times.
                 * @example [
                 *       "Ada",
                 *       "ghost"
                 *     ]
                 */
                username?: string[];
                /**
                 * @description A UID; a malformed one refuses the whole request. May be repeated; all three together 1 to 100 times.
                 * @example [
                 *       12
                 *     ]
                 */
                uid?: number[];
                /**
                 * @description An auth ID. May be repeated; all three together 1 to 100 times.
                 * @example [
                 *       "auth0|3c6ef362"
                 *     ]
                 */
                authid?: string[];
            };
            header?: {
                /** @description The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundProfiles"];
                };
            };
            /** @description The client has this answer already. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["bad_parameter-or-bad_request.getProfiles"];
            401: components["responses"]["no_credentials-or-invalid_token"];
            403: components["responses"]["plain_http-or-insufficient_scope"];
            429: components["responses"]["too_many_failures-or-rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["busy"];
        };
    };
    getLeaderboard: {
        parameters: {
            query?: {
                /**
                 * @description How many entries the page has at most.
                 * @example 3
                 */
                limit?: number;
                /**
                 * @description How many entries of the board come before the page.
                 * @example 0
                 */
                offset?: number;
            };
            header?: {
                /** @description The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeaderboardPage"];
                };
            };
            /** @description The client has this answer already. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["bad_parameter-or-bad_request.getLeaderboard"];
            401: components["responses"]["no_credentials-or-invalid_token"];
            403: components["responses"]["plain_http-or-insufficient_scope.getLeaderboard"];
            429: components["responses"]["too_many_failures-or-rate_limited"];
            500: components["responses"]["internal"];
            503: components["responses"]["busy"];
        };
    };
    getKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnKey"];
                };
            };
            /** @description The client has this answer already. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Private-Cache-Control"];
                    Vary: components["headers"]["Vary"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["bad_parameter-or-bad_request.getKey"];
            401: components["responses"]["no_credentials-or-invalid_token"];
            403: components["responses"]["plain_http"];
            429: components["responses"]["too_many_failures"];
            500: components["responses"]["internal"];
            503: components["responses"]["busy"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    "Cache-Control": components["headers"]["No-Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            400: components["responses"]["bad_request"];
            403: components["responses"]["plain_http"];
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    "Cache-Control": components["headers"]["No-Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            400: components["responses"]["bad_request"];
            403: components["responses"]["plain_http"];
            503: components["responses"]["not_ready"];
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    "Cache-Control": components["headers"]["No-Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain; version=0.0.4; charset=utf-8": string;
                };
            };
            400: components["responses"]["bad_request"];
            401: components["responses"]["no_credentials-or-invalid_token.getMetrics"];
            403: components["responses"]["plain_http"];
            404: components["responses"]["unknown_path"];
            429: components["responses"]["too_many_failures"];
            500: components["responses"]["internal.getMetrics"];
            503: components["responses"]["busy.getMetrics"];
        };
    };
    getSecurityContact: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    "Cache-Control": components["headers"]["No-Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain; charset=utf-8": string;
                };
            };
            400: components["responses"]["bad_request"];
            403: components["responses"]["plain_http"];
            404: components["responses"]["unknown_path"];
        };
    };
    getOpenApi: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Public-Cache-Control"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description The client has this answer already. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Public-Cache-Control"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["bad_request"];
            403: components["responses"]["plain_http"];
        };
    };
    getDocs: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "Content-Length": components["headers"]["Content-Length"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Public-Cache-Control"];
                    "Content-Security-Policy": components["headers"]["Content-Security-Policy"];
                    "Referrer-Policy": components["headers"]["Referrer-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html; charset=utf-8": string;
                };
            };
            /** @description The client has this answer already. */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Date: components["headers"]["Date"];
                    "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
                    "Strict-Transport-Security": components["headers"]["Strict-Transport-Security"];
                    ETag: components["headers"]["ETag"];
                    "Cache-Control": components["headers"]["Public-Cache-Control"];
                    "Content-Security-Policy": components["headers"]["Content-Security-Policy"];
                    "Referrer-Policy": components["headers"]["Referrer-Policy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["bad_request"];
            403: components["responses"]["plain_http"];
        };
    };
}
