import { PERMISSIONS, type Permission } from '../db/key-columns.ts';

/** Whether a string names a permission. */
export function isPermission(text: string): text is Permission {
  return (PERMISSIONS as readonly string[]).includes(text);
}

/** Returns the permissions without duplicates, in their fixed order. */
export function normalisePermissions(list: readonly Permission[]): Permission[] {
  return PERMISSIONS.filter((permission) => list.includes(permission));
}
