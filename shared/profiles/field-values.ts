import { type ColumnForm, KINDS, type Kind } from './field-kinds.ts';
import { LINK_FIELDS, PROFILE_FIELDS, type ProfileField } from './fields.ts';

// Types of rows and lines, and lists of fields, all derived from the tables of fields.

type Profile = typeof PROFILE_FIELDS;
type Link = typeof LINK_FIELDS;

/** A field of a profile. */
export type ProfileFieldName = keyof Profile;

/** A field of a profile that is a column of `profiles`. */
export type ColumnField = { [F in keyof Profile]: Profile[F]['column'] extends string ? F : never }[keyof Profile];

type ByForm = { number: number; text: string; json: string; flag: number; time: number; rows: never };

/** A value of each kind as a column of the database stores it. */
export type Stored<K extends Kind> = ByForm[(typeof KINDS)[K]['form']] | OrNull<K>;

type OrNull<K extends Kind> = (typeof KINDS)[K]['nullable'] extends true ? null : never;

/** A row of `profiles` with the fields' names: JSON as text, flags as 0 or 1, times as milliseconds since 1970. */
export type StoredProfile = { [F in ColumnField]: Stored<Profile[F]['kind']> };

/** The part of a row that a line of an import may set: everything except the id and the username. */
export type ProfileColumns = Omit<StoredProfile, 'id' | 'username'>;

/** A row of `links` without its profile and position. A field that is null is absent in JSON. */
export type StoredLink = { [F in keyof Link]: Stored<Link[F]['kind']> };

/** A link in an export line. */
export type ExportedLink = { [F in keyof StoredLink as null extends StoredLink[F] ? never : F]: StoredLink[F] } & {
  [F in keyof StoredLink as null extends StoredLink[F] ? F : never]?: NonNullable<StoredLink[F]>;
};

/** A value of each kind in a line of JSON. */
export type InLine = {
  uid: number;
  name: string;
  names: string[];
  authId: string | null;
  email: string | null;
  text: string;
  textOrNull: string | null;
  badges: { name: string; enabled: boolean }[];
  assets: Record<string, string | null>;
  openObject: Record<string, unknown>;
  flag: boolean;
  count: number;
  countOrNull: number | null;
  time: string;
  links: ExportedLink[];
};

/** A parsed line of an export. */
export type ExportedProfile = { [F in keyof Profile]: InLine[Profile[F]['kind']] };

/** A parsed SimplifiedProfile, which clients see. */
export type ShownProfile = {
  [F in keyof Profile as Profile[F]['isPublic'] extends true ? F : never]:
    | ExportedProfile[F]
    | (Profile[F] extends { shownIf: string } ? null : never);
};

/** All fields of a profile with their names, in the order of lines. */
export const FIELD_LIST = Object.entries<ProfileField>(PROFILE_FIELDS).map(([name, field]) => ({
  ...field,
  name: name as ProfileFieldName,
}));

/** A field that is a column of `profiles`. */
export type Column = ProfileField & { name: ColumnField; column: string; form: ColumnForm; nullable: boolean };

/** The fields that are columns of `profiles`, in the order of lines. */
export const COLUMN_LIST: readonly Column[] = FIELD_LIST.flatMap((field) =>
  field.column === null ? [] : [{ ...field, ...KINDS[field.kind] } as Column],
);

/** The columns of `profiles` that clients see, in the order of a SimplifiedProfile. */
export const PUBLIC_LIST = COLUMN_LIST.filter(({ isPublic }) => isPublic);

/** The columns of `profiles` that a line of an import may set: all except the id and the username. */
export const SETTABLE_LIST = COLUMN_LIST.filter(({ kind }) => kind !== 'uid' && kind !== 'name') as readonly (Column & {
  name: keyof ProfileColumns;
  kind: Profile[keyof ProfileColumns]['kind'];
})[];

/** All fields of a link with their names, in the order of responses. */
export const LINK_LIST = Object.entries(LINK_FIELDS).map(([name, field]) => ({
  ...field,
  ...KINDS[field.kind],
  name: name as keyof StoredLink,
}));

/** The columns of `profiles` that keep the stored value if a line lacks them. */
export const KEPT_COLUMNS: readonly ColumnField[] = COLUMN_LIST.filter(({ isKept }) => isKept).map(({ name }) => name);
