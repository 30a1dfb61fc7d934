import type { Kind } from './field-kinds.ts';

// The tables of the fields of profiles and links. The code that reads, stores, exports, shows and documents fields is
// derived from these tables. A new field of an existing kind needs an entry here, a column in
// `shared/db/schema/profiles.ts` and a migration.

/** An entry of the table of fields of a profile. */
export type ProfileField = {
  kind: Kind;
  /** Its column in `profiles`; null if the values have their own table. */
  column: string | null;
  isPublic: boolean;
  /** The flag column that must be 1 for a public field to be shown; otherwise null is shown. */
  shownIf?: string;
  /** The value for a new profile whose line lacks the field, or a function that makes it from username and time. */
  absent?: string | number | null | ((line: { username: string; nowMs: number }) => string | number);
  /** Whether a line that lacks the field keeps the stored value, even when it replaces the rest of the profile. */
  isKept?: true;
  label: string;
  meaning: string;
};

/**
 * All fields of a profile, by their names in JSON, in the order of export lines and responses. `links` has to be the
 * last.
 */
export const PROFILE_FIELDS = {
  id: {
    kind: 'uid',
    column: 'id',
    isPublic: true,
    label: 'Id',
    meaning: 'The UID of the profile.',
  },
  username: {
    kind: 'name',
    column: 'username',
    isPublic: true,
    label: 'Username',
    meaning: 'The primary username, in its owner’s spelling.',
  },
  aliases: {
    kind: 'names',
    column: null,
    isPublic: false,
    isKept: true,
    label: 'Aliases',
    meaning: 'Other names that lead to the profile.',
  },
  authId: {
    kind: 'authId',
    column: 'auth_id',
    isPublic: false,
    absent: null,
    label: 'Auth ID',
    meaning: 'The user’s id in the platform’s sign-in.',
  },
  email: {
    kind: 'email',
    column: 'email',
    isPublic: false,
    absent: null,
    label: 'E-mail',
    meaning: 'The owner’s e-mail address.',
  },
  displayName: {
    kind: 'text',
    column: 'display_name',
    isPublic: true,
    absent: ({ username }) => username,
    label: 'Display name',
    meaning: 'The name shown on the page.',
  },
  badges: {
    kind: 'badges',
    column: 'badges',
    isPublic: true,
    absent: '[]',
    label: 'Badges',
    meaning: 'The badges of the profile, and which of them are enabled.',
  },
  assets: {
    kind: 'assets',
    column: 'assets',
    isPublic: true,
    absent: '{}',
    label: 'Assets',
    meaning: 'Names of assets with their URLs, or null.',
  },
  customize: {
    kind: 'openObject',
    column: 'customize',
    isPublic: true,
    absent: '{}',
    label: 'Customize',
    meaning: 'The owner’s settings of the page; any fields.',
  },
  discordID: {
    kind: 'textOrNull',
    column: 'discord_id',
    isPublic: true,
    absent: null,
    label: 'Discord ID',
    meaning: 'The ID of the Discord account, or null.',
  },
  discordClean: {
    kind: 'openObject',
    column: 'discord_clean',
    isPublic: true,
    absent: '{}',
    label: 'Discord',
    meaning: 'The public part of the Discord account; any fields.',
  },
  banned: {
    kind: 'flag',
    column: 'banned',
    isPublic: true,
    absent: 0,
    isKept: true,
    label: 'Banned',
    meaning: 'Whether the profile is banned. Banned profiles are not on the leaderboard, and their keys are refused.',
  },
  viewsCount: {
    kind: 'count',
    column: 'views_count',
    isPublic: true,
    absent: 0,
    label: 'Views',
    meaning: 'The number of views of the profile.',
  },
  followersCount: {
    kind: 'count',
    column: 'followers_count',
    isPublic: true,
    shownIf: 'show_followers_count',
    absent: 0,
    label: 'Followers',
    meaning: 'The number of followers. Null exactly if the profile hides it.',
  },
  showFollowersCount: {
    kind: 'flag',
    column: 'show_followers_count',
    isPublic: false,
    absent: 1,
    label: 'Followers shown',
    meaning: 'Whether clients see followersCount.',
  },
  showOnLeaderboard: {
    kind: 'flag',
    column: 'show_on_leaderboard',
    isPublic: false,
    absent: 1,
    label: 'On the leaderboard',
    meaning: 'Whether the leaderboard may list the profile. Clients can’t see it.',
  },
  createdAt: {
    kind: 'time',
    column: 'created_at',
    isPublic: true,
    absent: ({ nowMs }) => nowMs,
    isKept: true,
    label: 'Created',
    meaning: 'ISO 8601, UTC, with milliseconds.',
  },
  links: {
    kind: 'links',
    column: null,
    isPublic: false,
    label: 'Links',
    meaning: 'The links of the page, in the owner’s order.',
  },
} as const satisfies Record<string, ProfileField>;

/** All fields of a link, by their names in JSON, in the order of responses. A field that is null is absent in JSON. */
export const LINK_FIELDS = {
  id: { kind: 'text', column: 'id', meaning: 'The platform’s own id of the link, which need not be unique.' },
  name: { kind: 'text', column: 'name', meaning: 'The name of the link.' },
  link: { kind: 'text', column: 'link', meaning: 'The URL of the link.' },
  title: { kind: 'textOrNull', column: 'title', meaning: 'The title of the link.' },
  image: { kind: 'textOrNull', column: 'image', meaning: 'The image of the link.' },
  clicksCount: { kind: 'countOrNull', column: 'clicks_count', meaning: 'The number of clicks on the link.' },
  linkMode: { kind: 'textOrNull', column: 'link_mode', meaning: 'The mode of the link.' },
} as const satisfies Record<string, { kind: Kind; column: string; meaning: string }>;
