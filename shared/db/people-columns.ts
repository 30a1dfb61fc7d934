/** What a backend's token may do: send profiles, and sign its users in as owners. */
export const BACKEND_RIGHTS = ['profiles', 'sign-ins'] as const;

/** A right of a backend's token. */
export type BackendRight = (typeof BACKEND_RIGHTS)[number];
