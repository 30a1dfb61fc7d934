CREATE TABLE `last_import` (
	`id` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`by` text NOT NULL,
	`by_kind` text NOT NULL,
	`lines` integer NOT NULL,
	`refused` integer NOT NULL,
	CONSTRAINT "last_import_id" CHECK("last_import"."id" = 1),
	CONSTRAINT "last_import_by_kind" CHECK("last_import"."by_kind" IN ('operator', 'admin', 'owner', 'platform', 'service')),
	CONSTRAINT "last_import_lines" CHECK("last_import"."refused" BETWEEN 0 AND "last_import"."lines")
) STRICT;
