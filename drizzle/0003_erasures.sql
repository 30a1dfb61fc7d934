CREATE TABLE `erasures` (
	`seq` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`vacuumed_at` integer
) STRICT;
--> statement-breakpoint
-- Nobody knows what an older database has erased. A new one is empty here, and has erased nothing.
INSERT INTO `erasures` (`at`)
	SELECT unixepoch('now') * 1000
	WHERE EXISTS (SELECT 1 FROM `profiles`) OR EXISTS (SELECT 1 FROM `api_keys`)
		OR (SELECT `freelist_count` FROM pragma_freelist_count) > 0;
