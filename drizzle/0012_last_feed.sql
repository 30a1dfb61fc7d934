CREATE TABLE `last_feed` (
	`id` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`by` text NOT NULL,
	`by_kind` text NOT NULL,
	`lines` integer NOT NULL,
	`refused` integer NOT NULL,
	CONSTRAINT "last_feed_id" CHECK("last_feed"."id" = 1),
	CONSTRAINT "last_feed_by_kind" CHECK("last_feed"."by_kind" IN ('operator', 'admin', 'owner', 'platform', 'service')),
	CONSTRAINT "last_feed_lines" CHECK("last_feed"."refused" BETWEEN 0 AND "last_feed"."lines")
) STRICT;
