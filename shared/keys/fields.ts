import type { Permission } from '../db/key-columns.ts';
import { AppError } from '../errors.ts';
import { CONTROL, CONTROL_BUT_LINE_FEED, codePoints } from '../text.ts';
import { isPermission, normalisePermissions } from './permissions.ts';

/** What an owner says when asking for a key, as typed. */
export type KeyRequestFields = {
  name: string;
  description: string;
  permissions: readonly string[];
  projectUrl?: string | null;
  expectedUsage?: string | null;
};

/** The same, trimmed and checked, as it is stored. */
export type CheckedKeyRequest = {
  name: string;
  description: string;
  permissions: Permission[];
  projectUrl: string | null;
  expectedUsage: string | null;
};

/** A kind of text and its bounds in code points after trimming (specification 8); `lines` allows line feeds. */
export type TextRule = { label: string; least: number; most: number; lines: boolean };

/** The texts that people write about a key. */
export const TEXT_RULES = {
  name: { label: 'name', least: 1, most: 255, lines: false },
  description: { label: 'description', least: 80, most: 2000, lines: true },
  expectedUsage: { label: 'expected usage', least: 0, most: 1000, lines: true },
  reason: { label: 'reason', least: 1, most: 2000, lines: true },
} as const satisfies Record<string, TextRule>;

/** The longest project URL, in code points. */
export const MAX_PROJECT_URL = 2048;

/** A text as it is stored: CRLF becomes LF, white space at the ends goes. */
export function normaliseText(text: string): string {
  return text.replaceAll('\r\n', '\n').trim();
}

/** A sentence that says what is wrong with a text, or null where it keeps its rule. */
export function textFault(rule: TextRule, text: string): string | null {
  const value = normaliseText(text);
  const length = codePoints(value);
  if (length < rule.least || length > rule.most) {
    return `The ${rule.label} must have ${rule.least === 0 ? 'at most' : `${rule.least} to`} ${rule.most} characters; it has ${length}.`;
  }
  if ((rule.lines ? CONTROL_BUT_LINE_FEED : CONTROL).test(value) || !value.isWellFormed()) {
    return `The ${rule.label} may not contain control characters${rule.lines ? ' other than line feeds' : ''}.`;
  }
  return null;
}

/** A sentence that says what is wrong with a project URL, or null; an empty one is none and fine. */
export function projectUrlFault(text: string): string | null {
  const value = text.trim();
  if (value === '') return null;
  const url = URL.parse(value);
  const web = url !== null && /^https?:\/\//i.test(value);
  if (!web || codePoints(value) > MAX_PROJECT_URL || /[\p{Cc}\s]/u.test(value) || !value.isWellFormed()) {
    return `The project URL must be an http or https address of at most ${MAX_PROJECT_URL} characters.`;
  }
  return null;
}

/** A sentence that says what is wrong with a choice of permissions, or null. */
export function permissionsFault(permissions: readonly string[]): string | null {
  if (permissions.length === 0) return 'At least one permission is needed: api.lookup, api.leaderboard, or both.';
  if (!permissions.every(isPermission)) return 'The permissions are api.lookup and api.leaderboard; there is no other.';
  return null;
}

/** A trimmed text that keeps its rule. Throws `usage` with the sentence. */
export function checkText(rule: TextRule, text: string): string {
  throwIfFault(textFault(rule, text));
  return normaliseText(text);
}

/** Permissions once each in their fixed order. Throws `usage`. */
export function checkPermissions(permissions: readonly string[]): Permission[] {
  throwIfFault(permissionsFault(permissions));
  return normalisePermissions(permissions as readonly Permission[]);
}

/** A whole request, trimmed; optional texts that are empty become null. Throws `usage` with the first fault. */
export function checkKeyRequest(fields: KeyRequestFields): CheckedKeyRequest {
  const projectUrl = fields.projectUrl ?? '';
  throwIfFault(projectUrlFault(projectUrl));
  return {
    name: checkText(TEXT_RULES.name, fields.name),
    description: checkText(TEXT_RULES.description, fields.description),
    permissions: checkPermissions(fields.permissions),
    projectUrl: projectUrl.trim() || null,
    expectedUsage: checkText(TEXT_RULES.expectedUsage, fields.expectedUsage ?? '') || null,
  };
}

function throwIfFault(fault: string | null): void {
  if (fault !== null) throw new AppError('usage', fault);
}

/** For how many days it is kept what a key was used for, today among them. */
export const USAGE_DAYS = 400;
