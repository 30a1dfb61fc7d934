CREATE TABLE `service_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`at` integer NOT NULL,
	`by` text NOT NULL,
	`by_kind` text NOT NULL,
	`event` text NOT NULL,
	`profile_id` integer,
	`count` integer DEFAULT 1 NOT NULL,
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "service_events_by_kind" CHECK(`by_kind` IN ('operator', 'admin', 'owner', 'platform', 'service')),
	CONSTRAINT "service_events_event" CHECK(`event` IN ('banned', 'unbanned', 'erased', 'restored')),
	CONSTRAINT "service_events_count" CHECK(`count` > 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `service_events_profile` ON `service_events` (`profile_id`) WHERE profile_id IS NOT NULL;--> statement-breakpoint
CREATE TRIGGER `service_events_never_deleted` BEFORE DELETE ON `service_events`
BEGIN
	SELECT RAISE(ABORT, 'the log is append-only');
END;--> statement-breakpoint
-- The erasure of a profile takes its id out.
CREATE TRIGGER `service_events_never_changed` BEFORE UPDATE ON `service_events`
WHEN NEW.`profile_id` IS NOT NULL OR NEW.`id` <> OLD.`id` OR NEW.`at` <> OLD.`at` OR NEW.`by` <> OLD.`by`
	OR NEW.`by_kind` <> OLD.`by_kind` OR NEW.`event` <> OLD.`event` OR NEW.`count` <> OLD.`count`
BEGIN
	SELECT RAISE(ABORT, 'the log is append-only');
END;
