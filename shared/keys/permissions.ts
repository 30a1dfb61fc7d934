/** What a key may do, in the order in which they are listed everywhere (specification 5.4). */
export const PERMISSIONS = ['api.lookup', 'api.leaderboard'] as const;

/** `api.lookup` grants every lookup and links endpoint, `api.leaderboard` the leaderboard only. */
export type Permission = (typeof PERMISSIONS)[number];

/** Whether a text names a permission. */
export function isPermission(text: string): text is Permission {
  return (PERMISSIONS as readonly string[]).includes(text);
}

/** The permissions of a list once each, in their fixed order. */
export function normalisePermissions(list: readonly Permission[]): Permission[] {
  return PERMISSIONS.filter((permission) => list.includes(permission));
}
