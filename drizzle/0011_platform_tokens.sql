CREATE TABLE `platform_erasures` (
	`folded` text NOT NULL,
	`day` integer NOT NULL,
	`erased` integer NOT NULL,
	PRIMARY KEY(`folded`, `day`),
	CONSTRAINT "platform_erasures_erased" CHECK("platform_erasures"."erased" >= 0)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `platform_tokens` (
	`identifier` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`folded` text NOT NULL,
	`token_hash` blob NOT NULL,
	`rights` text NOT NULL,
	`is_without_address` integer NOT NULL,
	`erase_limit` integer NOT NULL,
	`added_at` integer NOT NULL,
	CONSTRAINT "platform_tokens_identifier" CHECK(length("platform_tokens"."identifier") = 8),
	CONSTRAINT "platform_tokens_name" CHECK(length("platform_tokens"."name") BETWEEN 1 AND 64),
	CONSTRAINT "platform_tokens_token_hash" CHECK(length("platform_tokens"."token_hash") = 32),
	CONSTRAINT "platform_tokens_rights" CHECK(json_array_length("platform_tokens"."rights") > 0),
	CONSTRAINT "platform_tokens_is_without_address" CHECK("platform_tokens"."is_without_address" IN (0, 1)),
	CONSTRAINT "platform_tokens_erase_limit" CHECK("platform_tokens"."erase_limit" >= 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `platform_tokens_folded` ON `platform_tokens` (`folded`);